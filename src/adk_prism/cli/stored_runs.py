"""Runs that a command is about: recordings in files, or runs in a log or on a server.

A word is a file if there is one of that name, else a run's id. Without `--url` and `--log`, the log is the
one that `adk-prism serve` would use here. A log in SQLite is only read: the server may have it open.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from contextlib import closing
from pathlib import Path

from adk_prism.errors import SourceError, UsageError
from adk_prism.facts.capture_ending import CaptureEnding
from adk_prism.runlog.entry import Entry, RunId
from adk_prism.source.recording import read_run

_SQLITE = "sqlite:///"


def add_places(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where runs are."""
    parser.add_argument("--url", metavar="URL", help="the runs are on this adk-prism server")
    parser.add_argument("--token", help="access token for --url (default: ADK_PRISM_TOKEN)")
    parser.add_argument("--token-file", metavar="FILE", help="file with the access token")
    parser.add_argument(
        "--log", metavar="URL", help="the runs are in this log, such as sqlite:///runs.db"
    )


def read_stored(word: str, args: argparse.Namespace) -> list[Entry]:
    """Return the entries of a run or a recording. Raise `PrismError` for one that cannot be read."""
    if args.url and args.log:
        raise UsageError("--url and --log cannot be used together; pass one of them.")
    if word == "-" or Path(word).exists():
        return _of_file(word)
    if not word.replace("-", "").replace("_", "").isalnum():
        raise UsageError(f"There is no file {word[:200]!r}.")
    if args.url:
        return asyncio.run(_of_server(word, args))
    url = args.log or _usual_log()
    if url.startswith(_SQLITE):
        return _of_sqlite(Path(url.removeprefix(_SQLITE).partition("?")[0]), RunId(word))
    return asyncio.run(_of_log(url, RunId(word)))


def _of_file(word: str) -> list[Entry]:
    try:
        return list(read_run(sys.stdin.buffer if word == "-" else word, end=CaptureEnding()))
    except SourceError as error:
        raise SourceError(f"{word}: {error.detail}") from None


def _usual_log() -> str:
    from adk_prism.server.settings.sources import read_settings

    return read_settings({}, os.environ, Path.cwd()).log


def _of_sqlite(path: Path, run: RunId) -> list[Entry]:
    from adk_prism.runlog.sqlite.file import connect_read_only
    from adk_prism.runlog.sqlite.queries import find_run, read_entries

    if not path.is_file():
        raise UsageError(
            f"There is no file {str(run)!r} and no run log {str(path)!r}. Name a recording, or say where the"
            " runs are with --url or --log."
        )
    entries: list[Entry] = []
    with closing(connect_read_only(path)) as connection:
        stored = find_run(connection, run)
        while batch := read_entries(connection, stored.number, len(entries), stored.summary.cursor):
            entries += batch
    return entries


async def _of_log(url: str, run: RunId) -> list[Entry]:
    from adk_prism.runlog.from_url import open_log

    if url.startswith("memory:"):
        raise UsageError("A log in memory has no runs of other processes; use --url.")
    log = open_log(url)
    await log.open()
    try:
        return [entry async for batch in log.read(run) for entry in batch]
    finally:
        await log.close()


async def _of_server(run: str, args: argparse.Namespace) -> list[Entry]:
    from adk_prism.console.client import Client, connect
    from adk_prism.console.token import find_token

    token = find_token(args.token, args.token_file, os.environ)
    async with connect(args.url, token) as http:
        return await Client(http).recording(run)
