"""`adk-prism eval-set`: writes recorded runs as an eval set, which ADK and `adk-prism eval` run."""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path
from typing import Any

from adk_prism.cli import words
from adk_prism.cli.log_access import add_arguments, opened
from adk_prism.cli.run_arguments import is_file, read_stored
from adk_prism.cli.terminal import write_text
from adk_prism.console.client import Client
from adk_prism.errors import PrismError, SourceError
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.eval_cases import EvalCases, cases_of_recordings, last_of_each
from adk_prism.runlog.entry import RunId


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("runs", metavar="RUN|FILE", nargs="+", help=words.RUN_OR_FILE)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help=words.EVAL_SET_OUTPUT)
    parser.add_argument("--name", metavar="NAME", default="", help=words.EVAL_SET_NAME)
    add_arguments(parser)
    parser.epilog = words.EVAL_SET_EPILOG


def execute(args: argparse.Namespace) -> int:
    """Write the set. Raise `PrismError` for a run that cannot be a case; then nothing is written."""
    given = list(dict.fromkeys(args.runs))
    files = [word for word in given if is_file(word)]
    cases = cases_of_recordings([read_stored(word, args) for word in files])
    cases += asyncio.run(_of_runs([word for word in given if not is_file(word)], args))
    # Importing ADK takes seconds, so the runs are read first.
    from adk_prism.source.evaluation.eval_set_file import add_cases, case_as_written

    written = [case_as_written(case) for case in last_of_each(cases)]
    added = add_cases(Path(args.output), written, args.name, now=time.time())
    known = [case["eval_id"] for case in written if case["eval_id"] not in added]
    print(words.CASES_ADDED.format(file=args.output, count=len(added)))
    for each in known:
        write_text(words.CASE_KEPT.format(case=each) + "\n")
    return 0


async def _of_runs(runs: list[str], args: argparse.Namespace) -> list[dict[str, Any]]:
    if not runs:
        return []
    async with opened(args) as place:
        return [await _of_run(place, RunId(run)) for run in runs]


async def _of_run(place: Any, run: RunId) -> dict[str, Any]:
    try:
        if isinstance(place, Client):
            return await place.eval_case(run)
        return await EvalCases(place, Chats(place)).of(run)
    except PrismError as error:
        raise SourceError(f"{run[:60]}: {error.detail}") from None
