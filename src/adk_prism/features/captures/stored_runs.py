"""Arguments that several commands have: where the runs are, which runs, and prices."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from adk_prism.adk.recording_file import read_run
from adk_prism.cli import ACCESS_TOKEN, PRICES_FILE
from adk_prism.errors import SourceError, UsageError
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.facts.usage import Prices
from adk_prism.features.captures.client import Client, Unreachable, connect, find_token, shown_url
from adk_prism.features.captures.sqlite_reader import SqliteLogReader
from adk_prism.features.model_calls.calls import ModelCalls
from adk_prism.log.contract import LogReader
from adk_prism.log.entry import Entry, RunId
from adk_prism.log.from_url import open_log
from adk_prism.log.memory import MemoryLog
from adk_prism.log.sqlite.store import SqliteLog
from adk_prism.server.settings import read_settings

# ---------------------------------------------------------------------- where the runs are
#
# Where a command finds recorded runs: a server at `--url`, or a run log at `--log`.
#
# Without either it is the log that `adk-prism serve` uses in this folder, read beside a server that may be
# writing it.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say where the runs are."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--url", metavar="URL", help="URL of a running server")
    where.add_argument(
        "--log",
        metavar="URL",
        help="run log: sqlite:///FILE or redis://HOST (default: the one that adk-prism serve uses here)",
    )
    parser.add_argument(
        "--token-file", metavar="FILE", help="file with your access token for --url"
    )
    parser.add_argument("--token", metavar="TOKEN", help=ACCESS_TOKEN)


@asynccontextmanager
async def opened(args: argparse.Namespace) -> AsyncIterator[Client | LogReader]:
    """Connect to where the runs are. Raise `PrismError`."""
    if args.url:
        token = find_token(args.token, args.token_file, os.environ)
        async with connect(args.url, token) as http:
            try:
                yield Client(http)
            except Unreachable as error:
                raise Unreachable(
                    f"cannot connect to {shown_url(args.url)}: {error.detail}"
                ) from None
        return
    if args.token is not None or args.token_file is not None:
        raise UsageError("--token and --token-file need --url.")
    log = open_log_reader(args.log or _own_log())
    await log.open()
    try:
        yield log
    finally:
        await log.close()


def open_log_reader(url: str) -> LogReader:
    """Return what reads the log that a URL names, beside a server that writes it. Raise `UsageError`."""
    log = open_log(url)
    if isinstance(log, MemoryLog):
        raise UsageError("A run log in memory is in its server only; pass --url with its address.")
    return SqliteLogReader(log.path) if isinstance(log, SqliteLog) else log


def _own_log() -> str:
    # `insecure` only silences the rule about the server's address.
    return read_settings({"insecure": True}, os.environ, Path.cwd()).log


# ---------------------------------------------------------------------- runs and recordings
#
# The runs that a command is about: recordings in files, or runs of a log or a server (`log_access`).
#
# A word is a file if there is one of that name, else a run's id.

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
        raise UsageError(f"There is no file {word[:200]!r}.")
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


# ---------------------------------------------------------------------- prices
#
# `--prices FILE` of commands that show what runs cost.


def add_prices(parser: argparse.ArgumentParser) -> None:
    """Add the argument."""
    parser.add_argument("--prices", metavar="FILE", help=PRICES_FILE)


def given_prices(args: argparse.Namespace) -> Prices:
    """Return the prices of the file that is named, here or in the settings. Raise `UsageError`."""
    # `insecure` only silences the rule about the server's address.
    given = {"insecure": True} | ({"prices": args.prices} if args.prices else {})
    return read_settings(given, os.environ, Path.cwd()).model_prices


def cost_text(cost: float | None) -> str:
    """Return a cost in four digits; – if it is not known."""
    return "–" if cost is None else f"{cost:.4g}"
