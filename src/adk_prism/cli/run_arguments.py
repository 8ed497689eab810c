"""The runs that a command is about: recordings in files, or runs of a log or a server (`log_access`).

A word is a file if there is one of that name, else a run's id.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from pathlib import Path

from adk_prism.cli import words
from adk_prism.cli.log_access import opened
from adk_prism.console.client import Client
from adk_prism.errors import SourceError, UsageError
from adk_prism.facts.capture_ending import CaptureEnding
from adk_prism.pipeline.model_calls import ModelCalls
from adk_prism.runlog.entry import Entry, RunId
from adk_prism.source.recording_file import read_run

_RUN = re.compile(r"[A-Za-z0-9_-]{1,640}")


def read_stored(word: str, args: argparse.Namespace) -> list[Entry]:
    """Return the entries of a run or a recording. Raise `PrismError` for one that cannot be read."""
    if is_file(word):
        return _of_file(word)
    return asyncio.run(_of_place(RunId(word), args))


def is_file(word: str) -> bool:
    """Return whether a word names a file. Raise `UsageError` if it can be neither that nor a run."""
    if word == "-" or Path(word).exists():
        return True
    if _RUN.fullmatch(word) is None:
        raise UsageError(words.NO_FILE.format(file=word[:200]))
    return False


def _of_file(word: str) -> list[Entry]:
    try:
        return list(read_run(sys.stdin.buffer if word == "-" else word, end=CaptureEnding()))
    except SourceError as error:
        raise SourceError(f"{word}: {error.detail}") from None


async def _of_place(run: RunId, args: argparse.Namespace) -> list[Entry]:
    async with opened(args) as place:
        if isinstance(place, Client):
            return await place.recording(run, model_calls=True)
        entries = [entry async for batch in place.read(run) for entry in batch]
        return await ModelCalls(place).filled(run, entries)
