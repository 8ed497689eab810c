"""`adk-prism rerun`: runs messages again with another model, instruction or code, and compares.

Tools are answered from the recording unless `--tools live` is given. With `--url` the server that recorded
the runs runs them again; otherwise a server of this command does (`rerun_place`).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from adk_prism.cli import FAILURE, USAGE, fail, note, words
from adk_prism.cli.log_access import add_arguments
from adk_prism.cli.prices import add_prices, cost_text, given_prices
from adk_prism.cli.rerun_place import Gathered, gather, own_place
from adk_prism.cli.run_arguments import is_file
from adk_prism.cli.terminal import printable, progress, write_json, write_text
from adk_prism.console.client import Client, connect
from adk_prism.console.token import find_token
from adk_prism.errors import PrismError, UsageError
from adk_prism.facts.pricing import Prices
from adk_prism.runlog.entry import Entry, RunId
from adk_prism.view.compare import ASPECTS, Comparison, compare
from adk_prism.view.outline import outline

LARGEST_FILE = 4 * 1024**2
"""Bytes of a file with an instruction: the largest one in any encoding of its characters."""
SHOWN: tuple[str, ...] = ("answer", "tools", "state")
"""What has a column of its own."""


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("runs", metavar="RUN|FILE", nargs="+", help=words.RUN_OR_FILE)
    parser.add_argument("--model", metavar="M", default="", help=words.RERUN_MODEL)
    parser.add_argument(
        "--instruction",
        metavar="AGENT=FILE",
        action="append",
        default=[],
        help=words.RERUN_INSTRUCTION,
    )
    parser.add_argument(
        "--tools",
        choices=("recorded", "live"),
        default="recorded",
        help=words.RERUN_TOOLS,
    )
    parser.add_argument("--dir", metavar="AGENTS_DIR", help=words.AGENTS_DIR)
    parser.add_argument("--out", metavar="DIR", help=words.RERUN_OUT)
    parser.add_argument(
        "--fail-on",
        action="append",
        default=[],
        choices=ASPECTS,
        help=words.RERUN_FAIL_ON,
    )
    parser.add_argument("--json", action="store_true", help=words.RERUN_JSON)
    add_arguments(parser)
    add_prices(parser)
    parser.epilog = words.RERUN_EPILOG


class Result(Struct, kw_only=True, omit_defaults=True):
    """A recorded run and the new one; of a message that spans several runs, one of them."""

    recorded: str
    run: str = ""
    """Empty: the new answer needed fewer runs."""
    session: str = ""
    comparison: Comparison | None = None
    warnings: list[str] = []
    error: str = ""
    """Why it could not be run again."""

    @property
    def differs(self) -> Sequence[str]:
        """What differs; all that can be compared, if one of the runs is missing."""
        return self.comparison.differs if self.comparison is not None else (*SHOWN, "outcome")

    @property
    def has_failed(self) -> bool:
        """Whether the new run failed, and the recorded one did not."""
        both = self.comparison
        return both is not None and both.b["outcome"] == "failed" != both.a["outcome"]


def execute(args: argparse.Namespace) -> int:
    """Run messages again and print what differs."""
    try:
        _check_place(args)
        body = {
            "model": args.model,
            "instructions": _instructions(args.instruction),
            "tools": args.tools,
        }
        prices = given_prices(args)
        with progress(words.RERUNNING):
            results = _results(args, body, prices)
    except PrismError as error:  # Not 1: that is for runs that differ.
        return fail(error.detail, USAGE)
    _print(results, as_json=args.json)
    return _code(results, args.fail_on)


def _results(args: argparse.Namespace, body: dict[str, Any], prices: Prices) -> list[Result]:
    if args.url:
        wanted = list(map(RunId, args.runs))
        return asyncio.run(_Work(args.url, body, {}, prices).results(wanted, args))
    gathered = asyncio.run(gather(args.runs, args))
    _note_files(gathered)
    with own_place(args, gathered, fail) as url:
        work = _Work(url, body, gathered.entries, prices)
        return asyncio.run(work.results(gathered.wanted))


def _check_place(args: argparse.Namespace) -> None:
    files = [word for word in args.runs if is_file(word)]
    if args.url and files:
        raise UsageError(words.URL_IS_FOR_RUNS.format(file=files[0][:200]))
    if args.url and (args.out or args.dir):
        raise UsageError(words.URL_OR_OUT)


def _note_files(gathered: Gathered) -> None:
    if gathered.files:
        note(words.ONE_RUN_IN_A_RECORDING)


def _instructions(given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in given:
        agent, sign, file = word.partition("=")
        if not (agent and sign and file):
            raise UsageError(words.BAD_INSTRUCTION.format(given=word[:100]))
        if agent in found:
            raise UsageError(words.INSTRUCTION_TWICE.format(agent=agent[:100]))
        found[agent] = _text(Path(file))
    return found


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise UsageError(words.FILE_TOO_LARGE.format(file=file, limit=LARGEST_FILE))
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(words.CANNOT_READ.format(file=file, why=error.strerror)) from None
    except UnicodeDecodeError:
        raise UsageError(words.NOT_UTF8.format(file=file)) from None
    if "\0" in text:
        raise UsageError(words.HAS_NUL.format(file=file))
    return text


# ---------------------------------------------------------------------- the work


class _Work:
    """Runs messages again on a server, one after the other."""

    def __init__(
        self, url: str, body: dict[str, Any], known: dict[RunId, list[Entry]], prices: Prices
    ) -> None:
        self._url = url
        self._body = body
        self._known = known
        """Recorded runs that were read already."""
        self._prices = prices

    async def results(
        self, wanted: Sequence[RunId], args: argparse.Namespace | None = None
    ) -> list[Result]:
        """Run each message once, also if several of its runs are wanted."""
        token = find_token(args.token, args.token_file, os.environ) if args is not None else None
        done: list[Result] = []
        async with connect(self._url, token) as http:
            client = Client(http)
            for run in wanted:
                if all(run != each.recorded for each in done):
                    done += await self._rerun(client, run)
        return done

    async def _rerun(self, client: Client, run: RunId) -> list[Result]:
        try:
            found = await client.rerun(run, self._body, secrets.token_hex(16))
        except PrismError as error:
            return [Result(recorded=run, error=error.detail)]
        recorded, new = found.get("recorded", [run]), found.get("runs", [])
        results = [
            Result(
                recorded=recorded[index] if index < len(recorded) else "",
                run=new[index] if index < len(new) else "",
                session=found.get("session", ""),
                warnings=found.get("warnings", []) if index == len(new) - 1 else [],
            )
            for index in range(max(len(recorded), len(new)))
        ]
        for result in results:
            if result.recorded and result.run:
                result.comparison = await self._compare(client, result)
        return results

    async def _compare(self, client: Client, result: Result) -> Comparison:
        known = self._known.get(RunId(result.recorded))
        a = known or await client.recording(result.recorded, model_calls=True)
        b = await client.recording(result.run, model_calls=True)
        return compare(outline(a, prices=self._prices), outline(b, prices=self._prices))


# ---------------------------------------------------------------------- what is printed


def _code(results: Sequence[Result], gates: Sequence[str]) -> int:
    if any(result.error for result in results):
        return USAGE
    broken = sorted({aspect for result in results for aspect in result.differs if aspect in gates})
    if broken:
        return fail(words.DIFFER.format(aspects=", ".join(broken)), FAILURE)
    failed = [result.run for result in results if result.has_failed]
    return fail(words.FAILED_NOW.format(runs=", ".join(failed)), FAILURE) if failed else 0


def _print(results: Sequence[Result], *, as_json: bool) -> None:
    if as_json:
        write_json(results)
        return
    rows = [_HEAD, *map(_row, results)]
    if not any(row[-1] for row in rows[1:]):
        rows = [row[:-1] for row in rows]  # There are no prices.
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        write_text(f"{printable('  '.join(cells).rstrip())}\n")
    write_text("".join(f"{line}\n" for line in _notes(results)))


_HEAD = words.RERUN_HEAD


def _row(result: Result) -> tuple[str, ...]:
    names = (result.recorded or "–", result.run or "–")
    both = result.comparison
    if both is None:
        outcome = words.NOT_RUN if result.error else words.ONE_SIDE_ONLY
        return (*names, *("–" for _ in SHOWN), outcome, "", "", "", "")
    same = ("changed" if aspect in both.differs else "same" for aspect in SHOWN)
    a, b = both.a, both.b
    cost = (
        f"{cost_text(a.get('cost'))} → {cost_text(b.get('cost'))}"
        if "cost" in a or "cost" in b
        else ""
    )
    return (
        *names,
        *same,
        _change(a["outcome"], b["outcome"]),
        _change(a["tokens"].get("total", "–"), b["tokens"].get("total", "–")),
        f"{a['seconds']:.2f} → {b['seconds']:.2f}",
        _change(a["modelCalls"] or "–", b["modelCalls"] or "–"),
        cost,
    )


def _change(a: object, b: object) -> str:
    return str(a) if a == b else f"{a} → {b}"


def _notes(results: Sequence[Result]) -> Iterator[str]:
    for result in results:
        for text in (*([result.error] if result.error else []), *result.warnings):
            yield f"{result.run or result.recorded}: {printable(text)}"
        both = result.comparison
        if both is not None and both.b["outcome"] == "waiting" != both.a["outcome"]:
            yield words.RERUN_WAITS.format(run=result.run)
