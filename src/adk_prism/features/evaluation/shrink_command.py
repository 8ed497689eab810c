"""`adk-prism shrink`: the smallest conversation that still fails.

A candidate is a conversation with fewer messages, agents, tools or keys of the state, or a shorter
instruction. It is run in memory, with the current code: models and tools are answered from the recording
where that has the same request or call; elsewhere the live model is asked, and tools only with
`--tools auto`.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adk_prism.cli import AGENTS_DIR, FAILURE, RUN_OR_FILE, USAGE, DiagnosticPrinter, fail, note
from adk_prism.cli.terminal import printable, progress, write_json, write_text
from adk_prism.errors import PrismError, UsageError, ignore
from adk_prism.features.captures.stored_runs import add_arguments
from adk_prism.features.evaluation.shrinking import ORDER, Candidate, Shrinker
from adk_prism.features.rerun.command import compiled, gather
from adk_prism.features.rerun.recorded_requests import add_rules

if TYPE_CHECKING:
    from adk_prism.adk.apps import Apps
    from adk_prism.features.evaluation.shrink_trial import Conversation

MOST_TRIALS = 20
MOST_RUNS = 5000
MOST_SECONDS = 24 * 3600
LONGEST_SHOWN = 200
"""Characters of a message in the table."""


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("run", metavar="RUN|FILE", help=f"last message: {RUN_OR_FILE}")
    parser.add_argument(
        "--fails",
        metavar="PATTERN",
        default="",
        help="it fails if this regular expression matches the last answer, or how the run ended, such as"
        " 'failed: TOOL_ERROR'",
    )
    parser.add_argument(
        "--eval",
        metavar="FILE[:CASE]",
        default="",
        help="it fails if this case of an eval set does",
    )
    parser.add_argument(
        "--trials", metavar="N", type=int, default=3, help="runs of each candidate (default: 3)"
    )
    parser.add_argument(
        "--budget", metavar="RUNS", type=int, default=300, help="runs in all (default: 300)"
    )
    parser.add_argument(
        "--seconds", metavar="S", type=float, default=600, help="time in all (default: 600)"
    )
    parser.add_argument(
        "--tools",
        choices=("recorded", "auto"),
        default="recorded",
        help="recorded: a call without a recorded answer ends the run (default); auto: the tool is called",
    )
    add_rules(parser)
    parser.add_argument("--dir", metavar="AGENTS_DIR", help=AGENTS_DIR)
    parser.add_argument(
        "--out", metavar="DIR", help="data folder for the smallest run (default: a temporary one)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="eval set to add the case to")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_arguments(parser)
    parser.epilog = "Exit codes: 0 found; 1 the conversation does not fail; 2 it cannot be run."


def execute(args: argparse.Namespace) -> int:
    """Shrink a conversation and print what is left."""
    try:
        _check(args)
        # Agent code may change the working directory.
        args.dir = Path(args.dir).absolute() if args.dir else None
        args.out = str(Path(args.out or tempfile.mkdtemp(prefix="adk-prism-shrink-")).absolute())
        with progress("Shrinking…"):
            return asyncio.run(_shrink(args))
    except PrismError as error:
        return fail(error.detail, USAGE)


def _check(args: argparse.Namespace) -> None:
    if args.url:
        raise UsageError("shrink runs the app here; download the recording with ?modelCalls=true.")
    if bool(args.fails) == bool(args.eval):
        raise UsageError("Say when it fails: either --fails PATTERN or --eval FILE[:CASE].")
    for name, most in (("trials", MOST_TRIALS), ("budget", MOST_RUNS), ("seconds", MOST_SECONDS)):
        if not 0 < getattr(args, name) <= most:
            raise UsageError(f"--{name} must be above 0 and at most {most}.")


async def _shrink(args: argparse.Namespace) -> int:
    from adk_prism.features.evaluation.shrink_trial import read_conversation

    pattern, case = compiled(args.fails), _eval_case(args.eval)
    gathered = await gather([args.run], args)
    apps = _open_apps(args.dir)
    try:
        conversation = await read_conversation(apps, gathered, pattern, case, args)
        shrinker = Shrinker(conversation.fails, args.trials, args.budget, args.seconds)
        best = await shrinker.shrink(conversation.pieces(), conversation.learned, conversation.used)
        rate = shrinker.rates.get(best)
        if rate is None or not rate.fails:
            return _refuse(conversation, shrinker)
        run = await _keep(args, conversation, best)
        shown = _shown(conversation, shrinker, best, run)
        if args.output:
            _write_case(args.output, conversation.eval_case(best))
    finally:
        await apps.close()
    if args.json:
        write_json(shown | {"evalCase": conversation.eval_case(best)})
    else:
        _print(shown)
    return 0


def _refuse(conversation: Conversation, shrinker: Shrinker) -> int:
    """Say why there is nothing to shrink."""
    rate = shrinker.rates.get(frozenset(conversation.pieces()))
    if rate is None:
        return fail("the budget ended before the whole conversation was tried", USAGE)
    why = f"; the last run ended: {conversation.last}" if conversation.last else ""
    return fail(
        f"it does not fail as it is: {rate.failed} of {rate.trials} trials failed{why}", FAILURE
    )


def _open_apps(folder: Path | None) -> Apps:
    from adk_prism.adk.apps import Apps
    from adk_prism.adk.services import ServiceUris, open_services

    uris = ServiceUris(sessions="memory://", artifacts="memory://")
    services = open_services(uris, data_dir=Path(), agents_dir=folder)
    return Apps.of_folder(folder, services, report=DiagnosticPrinter())


def _eval_case(word: str) -> tuple[Any, Any] | None:
    """Return a set with one case, and its criteria. Raise `UsageError`."""
    if not word:
        return None
    from adk_prism.features.evaluation.criteria import config_beside, read_criteria, read_eval_set

    found = re.fullmatch(r"(.+?\.json)(?::(.+))?", word)
    if found is None:
        raise UsageError(f"--eval must be FILE[:CASE] with a .json file, got {word[:200]!r}.")
    path, name = Path(found[1]), found[2]
    eval_set = read_eval_set(path)
    cases = [each for each in eval_set.eval_cases if name in (None, each.eval_id)]
    if len(cases) != 1:
        known = ", ".join(each.eval_id[:80] for each in eval_set.eval_cases[:20])
        raise UsageError(f"--eval must name one case of {path.name}: {known}.")
    one = eval_set.model_copy(update={"eval_cases": cases})
    return one, read_criteria(config_beside(path))


async def _keep(args: argparse.Namespace, conversation: Conversation, best: Candidate) -> str:
    """Write the runs of the smallest conversation to a log that can be opened; return the last one."""
    from adk_prism.features.model_calls.writer import ModelCallWriter
    from adk_prism.features.rerun.rehearsal import copy_run
    from adk_prism.log.from_url import open_log
    from adk_prism.server.lifecycle import open_data_folder
    from adk_prism.server.settings import Settings

    for _ in range(args.trials):
        if best in conversation.failing or await conversation.fails(best):
            break
    runs = conversation.failing.get(best, {})
    settings = Settings(data_dir=args.out)
    open_data_folder(settings, ignore)
    log = open_log(settings.log)
    await log.open()
    try:
        writer = ModelCallWriter(log, "full", ignore)
        for run, entries in runs.items():
            await copy_run(log, writer, run, entries)
    finally:
        await log.close()
    note(f"the run is in {args.out}; look at it with: adk-prism serve --data-dir {args.out}")
    return str(next(reversed(runs), ""))


def _write_case(path: str, case: Mapping[str, Any]) -> None:
    from adk_prism.features.evaluation.criteria import add_cases, case_as_written

    add_cases(Path(path), [case_as_written(case)], now=time.time())


# ---------------------------------------------------------------------- what is printed


def _shown(
    conversation: Conversation, shrinker: Shrinker, best: Candidate, run: str
) -> dict[str, Any]:
    every = frozenset(conversation.pieces())
    rate, whole = shrinker.rates[best], shrinker.rates[every]
    sizes = {
        kind: [sum(p.kind == kind for p in best), sum(p.kind == kind for p in every)]
        for kind in ORDER
    }
    sizes["message"] = [count + 1 for count in sizes["message"]]  # the last one always stays
    return {
        "run": run,
        "failed": rate.failed,
        "trials": rate.trials,
        "before": {"failed": whole.failed, "trials": whole.trials},
        "isMinimal": not shrinker.is_over_budget,
        "runs": shrinker.runs,
        "withoutAnswer": conversation.unanswered,
        "sizes": {kind: {"left": left, "of": of} for kind, (left, of) in sizes.items()},
        "kept": sorted(piece.shown() for piece in best),
        "dropped": sorted(piece.shown() for piece in every - best),
        "messages": conversation.texts(best),
        "instructions": conversation.instructions(best),
        "fixed": conversation.fixed,
    }


def _print(shown: Mapping[str, Any]) -> None:
    lines: list[str] = [f"{'':12}  left"]
    for kind, size in shown["sizes"].items():
        lines.append(f"{kind:12}  {size['left']} of {size['of']}")
    lines.append(f"fails         {shown['failed']} of {shown['trials']} trials")
    lines.append(f"runs          {shown['runs']}")
    lines += [f"  user: {text[:LONGEST_SHOWN]}" for text in shown["messages"]]
    for agent, text in shown["instructions"].items():
        lines += [f"  instruction of {agent}:", *(f"    {line}" for line in text.splitlines())]
    named = ("agent", "tool", "state")
    lines += [f"  needed: {name}" for name in shown["kept"] if name.startswith(named)]
    lines += list(_remarks(shown))
    write_text("".join(f"{printable(line)}\n" for line in lines))


def _remarks(shown: Mapping[str, Any]) -> Sequence[str]:
    found = []
    if not shown["isMinimal"]:
        found.append("The budget ended: it may be possible to leave out more.")
    if shown["withoutAnswer"]:
        found.append(
            f"{shown['withoutAnswer']} runs ended for want of an answer: no recorded one fits, and no live"
            " model or tool could be asked. They count as not failing."
        )
    found += [f"Not shrunk: {text}." for text in shown["fixed"]]
    return found
