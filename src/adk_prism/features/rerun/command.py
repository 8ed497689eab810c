"""`adk-prism rerun`: runs messages again with another model, instruction or code, and compares.

Tools are answered from the recording unless `--tools live` is given. With `--url` the server that recorded
the runs runs them again; otherwise a server of this command does (`rerun_place`).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct, convert

from adk_prism.cli import AGENTS_DIR, FAILURE, RUN_OR_FILE, USAGE, fail, note
from adk_prism.cli.terminal import printable, progress, write_json, write_text
from adk_prism.errors import LogError, NotFound, PrismError, UsageError, ignore
from adk_prism.features.captures import stored_runs
from adk_prism.features.captures.client import Client, Token, connect, find_token
from adk_prism.features.compare.comparison import ASPECTS, Comparison, compare
from adk_prism.features.model_calls.calls import ModelCalls
from adk_prism.features.model_calls.writer import ModelCallWriter
from adk_prism.features.page.outline import outline
from adk_prism.features.rerun import trials
from adk_prism.features.rerun.recorded_requests import add_rules
from adk_prism.features.rerun.reruns import ModelReport
from adk_prism.features.usage.usage import Prices
from adk_prism.log import entry as log_entry
from adk_prism.log.contract import LogReader
from adk_prism.log.from_url import open_log
from adk_prism.server.lifecycle import open_data_folder
from adk_prism.server.settings import Settings

# ---------------------------------------------------------------------- where runs are run again
#
# Where runs are run again: on the server that recorded them, or on one of this command's own.
#
# The command's own server has a data folder of its own, with copies of the conversations; the log and the
# files that the runs come from are only read. `adk-prism serve --data-dir` opens the folder afterwards.

Say = Callable[[str], object]


class Gathered(Struct, frozen=True):
    """The runs that are run again, and what they need."""

    wanted: list[log_entry.RunId]
    entries: dict[log_entry.RunId, list[log_entry.Entry]]
    """Every run of their conversations that is known here, in order."""
    files: list[str]
    """Those of the words that are files."""


@contextmanager
def own_place(args: argparse.Namespace, gathered: Gathered, say: Say) -> Iterator[str]:
    """Serve the app of runs, with copies of them; yield the URL. Raise `PrismError`."""
    from adk_prism.features.captures.client import serving

    folder = args.out or tempfile.mkdtemp(prefix="adk-prism-rerun-")
    settings = Settings(data_dir=str(Path(folder).absolute()))
    open_data_folder(settings, ignore)
    asyncio.run(_copy(settings.log, gathered, with_calls=args.models != "live"))
    with serving(args.dir or "", settings, say) as url:
        yield url
    say(f"The runs are in {folder}; look at them with: adk-prism serve --data-dir {folder}")


@contextmanager
def other_code(agents_dir: str, gathered: Gathered | None, *, with_calls: bool) -> Iterator[str]:
    """Serve apps of another folder in a process of their own, since modules of one name cannot be imported
    twice; yield the URL. Raise `LogError` if it does not start."""
    folder = tempfile.mkdtemp(prefix="adk-prism-rerun-")
    settings = Settings(data_dir=folder)
    open_data_folder(settings, ignore)
    if gathered is not None:
        asyncio.run(_copy(settings.log, gathered, with_calls=with_calls))
    child = f"from {__name__} import serve_until_closed; serve_until_closed()"
    with subprocess.Popen(
        [sys.executable, "-c", child, agents_dir, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None, "it is a pipe"
        assert process.stdout is not None, "it is a pipe"
        try:
            url = process.stdout.readline().strip()
            if not url:
                raise LogError(
                    f"The apps of {agents_dir} cannot be served; see the messages above."
                )
            yield url
        finally:
            process.stdin.close()  # which ends it, as does the end of this process


def serve_until_closed() -> None:
    """Serve the folder and with the data folder of the command line until standard input is closed."""
    from adk_prism.features.captures.client import serving

    agents_dir, folder = sys.argv[1:]
    with serving(agents_dir, Settings(data_dir=folder), fail) as url:
        print(url, flush=True)
        sys.stdin.read()


async def gather(words: Sequence[str], args: argparse.Namespace) -> Gathered:
    """Read runs from files and from a log, each with its conversation. Raise `PrismError`."""
    found = Gathered([], {}, [word for word in words if stored_runs.is_file(word)])
    for word in found.files:
        entries = stored_runs.read_stored(word, args)
        head = _head(word, entries)
        found.wanted.append(log_entry.RunId(head.run))
        found.entries[log_entry.RunId(head.run)] = entries
    others = [word for word in words if word not in found.files]
    if others:
        async with stored_runs.opened(args) as log:
            assert not isinstance(log, Client), "runs of a server are not copied"
            for word in others:
                await _gather_conversation(log, log_entry.RunId(word), found)
    return found


async def _gather_conversation(log: LogReader, run: log_entry.RunId, found: Gathered) -> None:
    origin = (await log.summary(run)).origin
    calls = ModelCalls(log)
    found.wanted.append(run)
    for each in await log.list(app=origin.app, user=origin.user, session=origin.session):
        if each.run in found.entries or each.outcome is None:
            continue
        entries = [entry async for batch in log.read(each.run) for entry in batch]
        found.entries[each.run] = await calls.filled(each.run, entries)
    if run not in found.entries:
        raise UsageError(f"Run {run!r} is not over yet. Wait until it is, or stop it.")


def _head(word: str, entries: Sequence[log_entry.Entry]) -> log_entry.RunStarted:
    head = entries[0].record if entries else None
    if not isinstance(head, log_entry.RunStarted):
        raise NotFound(f"{word}: there is no run in it.")
    if log_entry.DERIVED.read(head):
        raise UsageError(
            f"{word} is a capture of events, which does not say which app answered what: only"
            " recordings of adk-prism can be run again."
        )
    if not isinstance(entries[-1].record, log_entry.RunEnded):
        raise UsageError(f"{word}: the run in it is not over.")
    return head


async def _copy(url: str, gathered: Gathered, *, with_calls: bool) -> None:
    """Write runs to a log; those that it has stay as they are. `with_calls`: with what models were sent."""
    from adk_prism.features.rerun.rehearsal import copy_run

    log = open_log(url)
    await log.open()
    writer = ModelCallWriter(log, "full" if with_calls else "summary", ignore)
    try:
        known = {each.run for each in await log.list()}
        for run, entries in gathered.entries.items():
            if run not in known:
                await copy_run(log, writer, run, entries)
    finally:
        await log.close()


# ---------------------------------------------------------------------- the command

LARGEST_FILE = 4 * 1024**2
"""Bytes of a file with an instruction: the largest one in any encoding of its characters."""
SHOWN: tuple[str, ...] = ("answer", "tools", "state")
"""What has a column of its own."""


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("runs", metavar="RUN|FILE", nargs="+", help=RUN_OR_FILE)
    parser.add_argument("--model", metavar="M", default="", help="use this model for all agents")
    parser.add_argument(
        "--instruction",
        metavar="AGENT=FILE",
        action="append",
        default=[],
        help="give an agent this instruction, from a text file; repeatable",
    )
    parser.add_argument(
        "--tools",
        choices=("recorded", "live", "auto"),
        default="recorded",
        help="recorded: answer tools from the recording (default); live: call them; auto: call them where"
        " the recording has no answer",
    )
    parser.add_argument(
        "--models",
        choices=("live", "recorded", "auto"),
        default="live",
        help="live: ask them (default); recorded: answer them from the recording, and end where a request"
        " differs; auto: answer them until a request differs, ask them from there on",
    )
    parser.add_argument(
        "--until",
        metavar="CURSOR",
        type=int,
        default=0,
        help="answer models from the recording up to this cursor at most",
    )
    add_rules(parser)
    parser.add_argument("--dir", metavar="AGENTS_DIR", help=AGENTS_DIR)
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="data folder for the new runs (default: a temporary one); not with --url",
    )
    parser.add_argument(
        "--fail-on",
        action="append",
        default=[],
        choices=ASPECTS,
        help="exit with 1 if this differs; repeatable",
    )
    trials.add_trial_arguments(parser)
    parser.add_argument(
        "--fails",
        metavar="PATTERN",
        default="",
        help="with --trials: a trial fails if its answer matches this regular expression",
    )
    parser.add_argument(
        "--junit", metavar="FILE", default="", help="with --trials: also write them as JUnit XML"
    )
    parser.add_argument("--json", action="store_true", help="print the comparisons as JSON")
    stored_runs.add_arguments(parser)
    stored_runs.add_prices(parser)
    parser.epilog = (
        "Exit codes: 0 run and compared; 1 something of --fail-on differs, a run failed that had"
        " not, or trials pass less often than --at-least; 2 a run cannot be run again."
    )


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
    models: ModelReport | None = None
    """What became of model calls that were to be answered from the recording."""

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
        plan = trials.read_plan(args)
        if not plan.trials and (args.fails or args.junit):
            raise UsageError("--fails and --junit need --trials.")
        body = {
            "model": args.model,
            "instructions": _instructions(args.instruction),
            "tools": args.tools,
            "models": args.models,
            "until": args.until,
            "ignore": args.ignore,
        }
        prices = stored_runs.given_prices(args)
        if plan.trials:
            return _run_trials(args, body, prices, plan)
        with progress("Running again…"):
            results = _results(args, body, prices)
    except PrismError as error:  # Not 1: that is for runs that differ.
        return fail(error.detail, USAGE)
    _print(results, as_json=args.json)
    return _code(results, args.fail_on)


def _results(args: argparse.Namespace, body: dict[str, Any], prices: Prices) -> list[Result]:
    if args.url:
        wanted = list(map(log_entry.RunId, args.runs))
        return asyncio.run(_Work(args.url, body, {}, prices).results(wanted, args))
    gathered = asyncio.run(gather(args.runs, args))
    _note_files(gathered)
    with own_place(args, gathered, fail) as url:
        work = _Work(url, body, gathered.entries, prices)
        return asyncio.run(work.results(gathered.wanted))


def _run_trials(
    args: argparse.Namespace, body: dict[str, Any], prices: Prices, plan: trials.Plan
) -> int:
    """Run each message many times, in all columns. Return the exit code; raise `PrismError`."""
    fails = compiled(args.fails)
    with progress("Running trials…"), ExitStack() as stack:
        if args.url:
            if any(column.folder for column in plan.columns):
                raise UsageError(
                    "--vary dir=… cannot be combined with --url: the server has its own."
                )
            gathered = Gathered(list(map(log_entry.RunId, args.runs)), {}, [])
            url, token = args.url, find_token(args.token, args.token_file, os.environ)
        else:
            gathered = asyncio.run(gather(args.runs, args))
            _note_files(gathered)
            url, token = stack.enter_context(own_place(args, gathered, fail)), None
        works: dict[str, _Work] = {}
        for column in plan.columns:
            with_calls = args.models != "live"
            place = (
                stack.enter_context(other_code(column.folder, gathered, with_calls=with_calls))
                if column.folder
                else url
            )
            works[column.name] = _Work(place, _varied(body, column), gathered.entries, prices)

        async def try_once(column: trials.Column, subjects: Sequence[str]) -> list[trials.Trial]:
            wanted = list(map(log_entry.RunId, subjects))
            results = await works[column.name].each(wanted, token)
            return [_judged(run, found, args.fail_on, fails) for run, found in results]

        tallies = asyncio.run(trials.run_trials(plan, gathered.wanted, try_once))
    return trials.show_trials(tallies, plan, args, "recorded")


def compiled(pattern: str) -> re.Pattern[str] | None:
    """Return a regular expression of the command line; None for an empty one. Raise `UsageError`."""
    try:
        return re.compile(pattern) if pattern else None
    except re.error as error:
        raise UsageError(f"--fails is not a regular expression ({error}).") from None


def _varied(body: dict[str, Any], column: trials.Column) -> dict[str, Any]:
    if column.model:
        return body | {"model": column.model}
    if column.instruction is None:
        return body
    own = instructions_of([column.instruction])
    return body | {"instructions": body["instructions"] | own}


def _judged(
    run: str, found: Sequence[Result], gates: Sequence[str], fails: re.Pattern[str] | None
) -> trials.Trial:
    """Return a message that was run again as a trial: what did not pass, and what it took."""
    errors = [each.error for each in found if each.error]
    if errors:
        raise UsageError(f"{run}: {errors[0]}")  # It would not run the next time either.
    new = [each.comparison for each in found if each.comparison is not None]
    missed = sorted({aspect for each in found for aspect in each.differs if aspect in gates})
    matches = [m for each in new if fails and (m := fails.search(each.answer["b"]))]
    why = (
        f"the run {new[-1].b['outcome']} ({new[-1].b['code'] or 'no code'})"
        if any(each.has_failed for each in found)
        else f"the answer has {matches[0].group()[:80]!r}"
        if matches
        else f"differs in {', '.join(missed)}"
        if missed
        else ""
    )
    costs = [each.b.get("cost") for each in new]
    known = [cost for cost in costs if cost is not None]
    return trials.Trial(
        subject=run,
        passed=not why,
        why=why,
        run=found[-1].run,
        seconds=sum(each.b["seconds"] for each in new),
        cost=sum(known) if known and len(known) == len(costs) else None,
    )


def _check_place(args: argparse.Namespace) -> None:
    files = [word for word in args.runs if stored_runs.is_file(word)]
    if args.url and files:
        raise UsageError(f"--url is for runs of the server; {files[0][:200]!r} is a file.")
    if args.url and (args.out or args.dir):
        raise UsageError("--url cannot be combined with --out or --dir: the server has its own.")


def _note_files(gathered: Gathered) -> None:
    if gathered.files:
        note(
            "a recording has one run: it begins with the state that it recorded, without earlier messages"
        )


def _instructions(given: Sequence[str]) -> dict[str, str]:
    pairs: list[tuple[str, str]] = []
    for word in given:
        agent, sign, file = word.partition("=")
        if not (agent and sign and file):
            raise UsageError(f"--instruction must be AGENT=FILE, got {word[:100]!r}.")
        pairs.append((agent, file))
    return instructions_of(pairs)


def instructions_of(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Read the instructions of agents from files. Raise `UsageError`."""
    found: dict[str, str] = {}
    for agent, file in pairs:
        if agent in found:
            raise UsageError(f"--instruction names the agent {agent[:100]!r} twice.")
        found[agent] = _text(Path(file))
    return found


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise UsageError(f"{file} is larger than {LARGEST_FILE} bytes.")
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not a text file in UTF-8.") from None
    if "\0" in text:
        raise UsageError(f"{file} is not a text file: it has NUL characters.")
    return text


# ---------------------------------------------------------------------- the work


class _Work:
    """Runs messages again on a server, one after the other."""

    def __init__(
        self,
        url: str,
        body: dict[str, Any],
        known: dict[log_entry.RunId, list[log_entry.Entry]],
        prices: Prices,
    ) -> None:
        self._url = url
        self._body = body
        self._known = known
        """Recorded runs that were read already."""
        self._prices = prices

    async def results(
        self, wanted: Sequence[log_entry.RunId], args: argparse.Namespace | None = None
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

    async def each(
        self, wanted: Sequence[log_entry.RunId], token: Token | None
    ) -> list[tuple[str, list[Result]]]:
        """Run each of some messages once more, whatever was run before."""
        async with connect(self._url, token) as http:
            client = Client(http)
            return [(run, await self._rerun(client, run)) for run in wanted]

    async def _rerun(self, client: Client, run: log_entry.RunId) -> list[Result]:
        try:
            found = await client.rerun(run, self._body, secrets.token_hex(16))
        except PrismError as error:
            return [Result(recorded=run, error=error.detail)]
        recorded, new = found.get("recorded", [run]), found.get("runs", [])
        report = convert(found.get("models"), ModelReport | None)
        results = [
            Result(
                recorded=recorded[index] if index < len(recorded) else "",
                run=new[index] if index < len(new) else "",
                session=found.get("session", ""),
                warnings=found.get("warnings", []) if index == len(new) - 1 else [],
                models=report if index == len(new) - 1 else None,
            )
            for index in range(max(len(recorded), len(new)))
        ]
        for result in results:
            if result.recorded and result.run:
                result.comparison = await self._compare(client, result)
        return results

    async def _compare(self, client: Client, result: Result) -> Comparison:
        known = self._known.get(log_entry.RunId(result.recorded))
        a = known or await client.recording(result.recorded, model_calls=True)
        b = await client.recording(result.run, model_calls=True)
        return compare(outline(a, prices=self._prices), outline(b, prices=self._prices))


# ---------------------------------------------------------------------- what is printed


def _code(results: Sequence[Result], gates: Sequence[str]) -> int:
    if any(result.error for result in results):
        return USAGE
    broken = sorted({aspect for result in results for aspect in result.differs if aspect in gates})
    if broken:
        return fail(f"the runs differ in: {', '.join(broken)}", FAILURE)
    failed = [result.run for result in results if result.has_failed]
    return (
        fail(
            f"these runs failed now, but not when they were recorded: {', '.join(failed)}", FAILURE
        )
        if failed
        else 0
    )


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


_HEAD = (
    *("recorded", "run", "answer", "tools", "state", "outcome", "tokens", "seconds"),
    *("model calls", "cost"),
)


def _row(result: Result) -> tuple[str, ...]:
    names = (result.recorded or "–", result.run or "–")
    both = result.comparison
    if both is None:
        outcome = "not run" if result.error else "one side only"
        return (*names, *("–" for _ in SHOWN), outcome, "", "", "", "")
    same = ("changed" if aspect in both.differs else "same" for aspect in SHOWN)
    a, b = both.a, both.b
    cost = (
        f"{stored_runs.cost_text(a.get('cost'))} → {stored_runs.cost_text(b.get('cost'))}"
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
        name = result.run or result.recorded
        for text in (*([result.error] if result.error else []), *result.warnings):
            yield f"{name}: {printable(text)}"
        if (models := result.models) is not None:
            yield (
                f"{name}: {models.recorded} model calls were answered from the recording, {models.live} by a"
                " live model."
            )
            if models.difference is not None:
                yield from map(printable, models.difference.text().splitlines())
        both = result.comparison
        if both is not None and both.b["outcome"] == "waiting" != both.a["outcome"]:
            yield f"{result.run} is waiting: the recording has no answer to what it asks."
