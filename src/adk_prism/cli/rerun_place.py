"""Where runs are run again: on the server that recorded them, or on one of this command's own.

The command's own server has a data folder of its own, with copies of the conversations; the log and the files
that the runs come from are only read. `adk-prism serve --data-dir` opens the folder afterwards.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, structs

from adk_prism.cli import words
from adk_prism.cli.log_access import opened
from adk_prism.cli.run_arguments import is_file, read_stored
from adk_prism.console.client import Client
from adk_prism.diagnostics import ignore
from adk_prism.errors import NotFound, UsageError
from adk_prism.pipeline.model_calls import ModelCalls
from adk_prism.runlog.contract import LogReader
from adk_prism.runlog.entry import NOTHING, Entry, ModelCalled, Record, RunEnded, RunId, RunStarted
from adk_prism.runlog.from_url import open_log
from adk_prism.server.data_folder import open_data_folder
from adk_prism.server.settings import Settings

BATCH = 512
"""Entries that are copied at once."""

Say = Callable[[str], object]


class Gathered(Struct, frozen=True):
    """The runs that are run again, and what they need."""

    wanted: list[RunId]
    entries: dict[RunId, list[Entry]]
    """Every run of their conversations that is known here, in order."""
    files: list[str]
    """Those of the words that are files."""


@contextmanager
def own_place(args: argparse.Namespace, gathered: Gathered, say: Say) -> Iterator[str]:
    """Serve the app of runs, with copies of them; yield the URL. Raise `PrismError`."""
    from adk_prism.cli.own_server import serving

    folder = args.out or tempfile.mkdtemp(prefix="adk-prism-rerun-")
    settings = Settings(data_dir=str(Path(folder).absolute()))
    open_data_folder(settings, ignore)
    asyncio.run(_copy(settings.log, gathered))
    with serving(args.dir or "", settings, say) as url:
        yield url
    say(words.RERUN_IN.format(folder=folder))


async def gather(words: Sequence[str], args: argparse.Namespace) -> Gathered:
    """Read runs from files and from a log, each with its conversation. Raise `PrismError`."""
    found = Gathered([], {}, [word for word in words if is_file(word)])
    for word in found.files:
        entries = read_stored(word, args)
        head = _head(word, entries)
        found.wanted.append(RunId(head.run))
        found.entries[RunId(head.run)] = entries
    others = [word for word in words if word not in found.files]
    if others:
        async with opened(args) as log:
            assert not isinstance(log, Client), "runs of a server are not copied"
            for word in others:
                await _gather_conversation(log, RunId(word), found)
    return found


async def _gather_conversation(log: LogReader, run: RunId, found: Gathered) -> None:
    origin = (await log.summary(run)).origin
    calls = ModelCalls(log)
    found.wanted.append(run)
    for each in await log.list(app=origin.app, user=origin.user, session=origin.session):
        if each.run in found.entries or each.outcome is None:
            continue
        entries = [entry async for batch in log.read(each.run) for entry in batch]
        found.entries[each.run] = await calls.filled(each.run, entries)
    if run not in found.entries:
        raise UsageError(words.RUN_NOT_OVER.format(run=run))


def _head(word: str, entries: Sequence[Entry]) -> RunStarted:
    head = entries[0].record if entries else None
    if not isinstance(head, RunStarted):
        raise NotFound(words.NO_RUN_IN.format(file=word))
    if head.derived:
        raise UsageError(words.NO_RERUN_OF_CAPTURE.format(file=word))
    if not isinstance(entries[-1].record, RunEnded):
        raise UsageError(words.RUN_IN_FILE_NOT_OVER.format(file=word))
    return head


async def _copy(url: str, gathered: Gathered) -> None:
    """Write runs to a log; those that it has stay as they are."""
    log = open_log(url)
    await log.open()
    try:
        known = {each.run for each in await log.list()}
        for run, entries in gathered.entries.items():
            if run not in known:
                for start in range(0, len(entries), BATCH):
                    some = entries[start : start + BATCH]
                    records = [_copied(entry.record) for entry in some]
                    await log.append(run, records, times=[entry.time for entry in some])
                await log.commit(run)
    finally:
        await log.close()


def _copied(record: Record) -> Record:
    match record:
        case RunStarted():
            # The user trusts the file with a run of their own; a server trusts no upload.
            return structs.replace(record, uploaded=False, foreign=False, digest="")
        case ModelCalled():
            # What was sent is in the log that the run comes from.
            return structs.replace(record, pieces=None, request=NOTHING, response=NOTHING)
        case _:
            return record
