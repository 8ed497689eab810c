"""Trials: the same message or case many times, with variants side by side, and how often each passes.

A variant is a column: the app as it is, or with one change (`--vary`). Trials go round: one of each column,
then the next, so that a bad minute of a model's server is shared. What is clear is not tried any more:

- with `--at-least RATE`, a column is over when its interval lies above or below the rate, or when the trials
  that are left cannot change on which side of the rate it ends;
- without, columns are over when their interval does not overlap with that of the first column.

Intervals are Wilson's. The reported one has 95 %; one that ends trials has 99 %, because it is looked at
after each trial, and whoever looks often sees something unlikely sooner.
"""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from msgspec import Struct

from adk_prism.cli import FAILURE, USAGE, fail
from adk_prism.cli.terminal import printable, write_json, write_suite, write_text
from adk_prism.errors import UsageError
from adk_prism.features.captures.stored_runs import cost_text

MOST_TRIALS = 100
MOST_COLUMNS = 10
MOST_RUNS = 2000
"""Trials of all columns together: hours of a model, which nobody asks for by mistake."""

SHOWN_Z, STOP_Z = 1.96, 2.576
"""Of intervals of 95 and of 99 %."""
ROUNDING = 1e-9
"""Rates are no closer than this: what floating-point numbers lose."""
FIRST_STOP = 5
"""Trials of a column before it can be over by its interval."""
MOST_REASONS = 5
"""Reasons of failures that are kept for a column."""

AS_IT_IS = "as it is"


class Column(Struct, frozen=True, kw_only=True):
    """A variant of the app."""

    name: str = AS_IT_IS
    model: str = ""
    instruction: tuple[str, str] | None = None
    """An agent, and the file with its new instruction."""
    folder: str = ""
    """Of the apps, with other code."""


class Trial(Struct, frozen=True, kw_only=True):
    """One run of a message or case."""

    subject: str
    passed: bool
    why: str = ""
    """It did not pass."""
    run: str = ""
    seconds: float = 0.0
    cost: float | None = None


class Tally:
    """The trials of one subject in one column."""

    def __init__(self, subject: str, column: str) -> None:
        self.subject = subject
        self.column = column
        self.trials: list[Trial] = []
        self.stopped = ""
        """By which rule it is over."""

    @property
    def passed(self) -> int:
        """How many trials passed."""
        return sum(trial.passed for trial in self.trials)

    def interval(self, z: float = SHOWN_Z) -> tuple[float, float]:
        """Return between which rates the true one is, likely."""
        return wilson(self.passed, len(self.trials), z)

    def misses(self, rate: float) -> bool:
        """Return whether fewer passed than a rate demands."""
        return self.passed < rate * len(self.trials)

    def shown(self) -> dict[str, Any]:
        """Return it as `--json` prints it."""
        count = len(self.trials)
        low, high = self.interval()
        costs = [trial.cost for trial in self.trials]
        known = [cost for cost in costs if cost is not None]
        reasons = Counter(trial.why for trial in self.trials if not trial.passed)
        return {
            "subject": self.subject,
            "column": self.column,
            "trials": count,
            "passed": self.passed,
            "rate": round(self.passed / count, 4) if count else None,
            "interval": [round(low, 4), round(high, 4)],
            "cost": sum(known) / count if count and len(known) == count else None,
            "seconds": round(sum(t.seconds for t in self.trials) / count, 3) if count else None,
            "stopped": self.stopped,
            "reasons": dict(reasons.most_common(MOST_REASONS)),
            "runs": [trial.run for trial in self.trials],
        }


def wilson(passed: int, count: int, z: float = SHOWN_Z) -> tuple[float, float]:
    """Return Wilson's interval of a rate: from 0 to 1 without trials."""
    if not count:
        return 0.0, 1.0
    rate, square = passed / count, z * z
    middle = (rate + square / (2 * count)) / (1 + square / count)
    half = z / (1 + square / count) * math.sqrt(rate * (1 - rate) / count + square / (4 * count**2))
    return max(0.0, middle - half), min(1.0, middle + half)


# ---------------------------------------------------------------------- when a column is over


def rule_for_rate(tally: Tally, rate: float, most: int) -> str:
    """Return why it is clear whether a column reaches a rate; empty while it is not."""
    done, needed = len(tally.trials), math.ceil(rate * most - ROUNDING)
    if tally.passed >= needed:
        return f"{rate:g} is reached whatever the trials left do"
    if tally.passed + most - done < needed:
        return f"{rate:g} cannot be reached any more"
    low, high = tally.interval(STOP_Z)
    if done >= FIRST_STOP and (low > rate + ROUNDING or high < rate - ROUNDING):
        return f"99 % interval {'above' if low > rate else 'below'} {rate:g}"
    return ""


def rule_for_difference(tally: Tally, first: Tally) -> str:
    """Return why it is clear that a column differs from the first one; empty while it is not."""
    if min(len(tally.trials), len(first.trials)) < FIRST_STOP:
        return ""
    (low, high), (low_first, high_first) = tally.interval(STOP_Z), first.interval(STOP_Z)
    if low > high_first or high < low_first:
        return f"99 % interval {'above' if low > high_first else 'below'} that of {first.column!r}"
    return ""


def close_clear(tallies: Sequence[Tally], plan: Plan) -> None:
    """Note for each column of a subject whether, and by which rule, it is over."""
    for tally in tallies:
        if tally.stopped:
            continue
        if plan.at_least is not None:
            tally.stopped = rule_for_rate(tally, plan.at_least, plan.trials)
        elif tally is not tallies[0]:
            tally.stopped = rule_for_difference(tally, tallies[0])
        if not tally.stopped and len(tally.trials) >= plan.trials:
            tally.stopped = f"all {plan.trials} trials"
    others = tallies[1:]
    if plan.at_least is None and others and all(each.stopped for each in others):
        tallies[0].stopped = tallies[0].stopped or "every other column is over"


# ---------------------------------------------------------------------- the work


class Plan(Struct, frozen=True, kw_only=True):
    """What is tried, and how often."""

    trials: int
    columns: Sequence[Column]
    at_least: float | None


Round = Callable[[Column, Sequence[str]], Awaitable[Sequence[Trial]]]
"""Tries each of some subjects once in a column."""


async def run_trials(plan: Plan, subjects: Sequence[str], try_once: Round) -> list[Tally]:
    """Try subjects in all columns until each is clear."""
    if plan.trials * len(plan.columns) * len(subjects) > MOST_RUNS:
        raise UsageError(
            f"{plan.trials} trials of {len(subjects)} in {len(plan.columns)} columns are more than"
            f" {MOST_RUNS} runs. Take fewer."
        )
    table = {(s, c.name): Tally(s, c.name) for s in subjects for c in plan.columns}
    while open_ones := [key for key, tally in table.items() if not tally.stopped]:
        for column in plan.columns:
            wanted = [subject for subject, name in open_ones if name == column.name]
            for trial in await try_once(column, wanted) if wanted else ():
                table[trial.subject, column.name].trials.append(trial)
        for subject in subjects:
            close_clear([table[subject, column.name] for column in plan.columns], plan)
    return list(table.values())


# ---------------------------------------------------------------------- arguments


def add_trial_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say what is tried how often."""
    parser.add_argument(
        "--trials",
        metavar="N",
        type=int,
        default=0,
        help=f"run each N times (at most {MOST_TRIALS}) and print how often it passes, with 95 %% intervals,"
        " cost and time; ends early where the answer is clear",
    )
    parser.add_argument(
        "--vary",
        metavar="CHANGE",
        action="append",
        default=[],
        help="with --trials: a column beside the app as it is: model=M, instruction:AGENT=FILE, or"
        " dir=AGENTS_DIR, other code; repeatable",
    )
    parser.add_argument(
        "--at-least",
        metavar="RATE",
        type=float,
        default=None,
        help="with --trials: exit with 1 if a smaller share passes in any column, e.g. 0.9",
    )


def read_plan(args: argparse.Namespace) -> Plan:
    """Read the arguments. Raise `UsageError` for what cannot be tried."""
    if not args.trials and (args.vary or args.at_least is not None):
        raise UsageError("--vary and --at-least need --trials.")
    if not 0 <= args.trials <= MOST_TRIALS:
        raise UsageError(f"--trials must be from 1 to {MOST_TRIALS}, got {args.trials}.")
    if args.at_least is not None and not 0 < args.at_least <= 1:
        raise UsageError(f"--at-least must be above 0 and at most 1, got {args.at_least:g}.")
    columns = [Column(), *map(_read_column, args.vary)]
    if len(columns) > MOST_COLUMNS or len({column.name for column in columns}) < len(columns):
        raise UsageError(f"--vary takes up to {MOST_COLUMNS - 1} different columns.")
    return Plan(trials=args.trials, columns=columns, at_least=args.at_least)


def _read_column(word: str) -> Column:
    kind, sign, value = word.partition("=")
    what, _, agent = kind.partition(":")
    if sign and value and what == "model" and not agent:
        return Column(name=word, model=value)
    if sign and value and what == "instruction" and agent:
        return Column(name=word, instruction=(agent, value))
    if sign and value and what == "dir" and not agent:
        if not Path(value).is_dir():
            raise UsageError(f"--vary {word[:200]}: there is no such folder.")
        return Column(name=word, folder=str(Path(value).absolute()))
    raise UsageError(
        f"--vary must be model=M, instruction:AGENT=FILE or dir=AGENTS_DIR, got {word[:200]!r}."
    )


# ---------------------------------------------------------------------- what is printed


def show_trials(tallies: Sequence[Tally], plan: Plan, args: argparse.Namespace, what: str) -> int:
    """Print trials as the arguments say, write the JUnit file; return the exit code."""
    if args.junit:
        _write_junit(Path(args.junit), tallies, plan)
    if args.json:
        write_json([tally.shown() for tally in tallies])
    else:
        _print_table(tallies, what)
    if plan.at_least is not None:
        missed = [each for each in tallies if each.misses(plan.at_least)]
        if missed:
            return fail(
                f"{len(missed)} of {len(tallies)} pass less often than {plan.at_least:g}", FAILURE
            )
    return 0 if any(tally.trials for tally in tallies) else fail("nothing was tried", USAGE)


def _print_table(tallies: Sequence[Tally], what: str) -> None:
    head = (what, "column", "passed", "95 % interval", "cost", "seconds", "ended by")
    rows = [head, *map(_row, tallies)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        write_text(f"{printable('  '.join(cells).rstrip())}\n")
    for tally in tallies:
        for why, count in tally.shown()["reasons"].items():
            write_text(f"{printable(f'{tally.subject}, {tally.column}: {count} × {why}')}\n")


def _row(tally: Tally) -> tuple[str, ...]:
    shown = tally.shown()
    low, high = shown["interval"]
    seconds = "–" if shown["seconds"] is None else f"{shown['seconds']:.2f}"
    return (
        tally.subject,
        tally.column,
        f"{tally.passed}/{len(tally.trials)}",
        f"{100 * low:.0f}–{100 * high:.0f} %",
        cost_text(shown["cost"]),
        seconds,
        tally.stopped,
    )


_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold."""


def xml_text(text: str) -> str:
    """Return a text as XML can hold it."""
    return _UNWRITABLE.sub("�", text)


def _write_junit(path: Path, tallies: Sequence[Tally], plan: Plan) -> None:
    """Write a test for each row, which fails if it passes less often than is demanded."""
    missed = [t for t in tallies if plan.at_least is not None and t.misses(plan.at_least)]
    counts = {"tests": str(len(tallies)), "failures": str(len(missed))}
    suite = ElementTree.Element("testsuite", {"name": "trials", **counts})
    for tally in tallies:
        names: Mapping[str, str] = {
            "classname": xml_text(tally.column),
            "name": xml_text(tally.subject),
            "time": f"{sum(trial.seconds for trial in tally.trials):.3f}",
        }
        test = ElementTree.SubElement(suite, "testcase", dict(names))
        said = "  ".join(_row(tally)[2:])
        if tally in missed:
            failure = ElementTree.SubElement(test, "failure", {"message": said})
            failure.text = xml_text("\n".join(tally.shown()["reasons"]))
        ElementTree.SubElement(test, "system-out").text = said
    write_suite(path, suite)
