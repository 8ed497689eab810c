"""`adk-prism eval-set`: writes recorded runs as an eval set, which ADK and `adk-prism eval` run."""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path
from typing import Any

from adk_prism.cli import RUN_OR_FILE
from adk_prism.cli.terminal import write_text
from adk_prism.errors import PrismError, SourceError
from adk_prism.features.captures.client import Client
from adk_prism.features.captures.stored_runs import add_arguments, is_file, opened, read_stored
from adk_prism.features.evaluation.eval_cases import EvalCases, cases_of_recordings, last_of_each
from adk_prism.log.entry import RunId
from adk_prism.runs.chats import Chats


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("runs", metavar="RUN|FILE", nargs="+", help=RUN_OR_FILE)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="the eval set, e.g. agents/my_agent/weather.evalset.json; cases are added to one that exists",
    )
    parser.add_argument(
        "--name", metavar="NAME", default="", help="id of a new set (default: the file's name)"
    )
    add_arguments(parser)
    parser.epilog = (
        "A run becomes a case with the whole conversation up to it; of several runs of one"
        " conversation, the last one counts. Recordings of one session are one conversation."
    )


def execute(args: argparse.Namespace) -> int:
    """Write the set. Raise `PrismError` for a run that cannot be a case; then nothing is written."""
    given = list(dict.fromkeys(args.runs))
    files = [word for word in given if is_file(word)]
    cases = cases_of_recordings([read_stored(word, args) for word in files])
    cases += asyncio.run(_of_runs([word for word in given if not is_file(word)], args))
    # Importing ADK takes seconds, so the runs are read first.
    from adk_prism.features.evaluation.criteria import add_cases, case_as_written

    written = [case_as_written(case) for case in last_of_each(cases)]
    added = add_cases(Path(args.output), written, args.name, now=time.time())
    known = [case["eval_id"] for case in written if case["eval_id"] not in added]
    print(f"{args.output}: {len(added)} added")
    for each in known:
        write_text(f"already in the set, left unchanged: {each}\n")
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
