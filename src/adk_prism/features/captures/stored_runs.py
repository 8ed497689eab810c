"""Arguments that several commands have: where the runs are, which runs, and prices."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sqlite3
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import quote

from adk_prism.cli import ACCESS_TOKEN
from adk_prism.errors import LogError, SourceError, UsageError
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.features.captures.client import Client, Unreachable, connect, find_token, shown_url
from adk_prism.features.captures.recording_file import read_run
from adk_prism.features.model_calls.calls import ModelCalls
from adk_prism.features.usage import PRICES_FILE, UsageSettings
from adk_prism.features.usage.usage import Prices
from adk_prism.log.contract import LogReader, Owner, RunSummary, SideValue, unpack_text
from adk_prism.log.entry import Entry, Origin, RunId
from adk_prism.log.from_url import open_log
from adk_prism.log.memory import MemoryLog
from adk_prism.log.run_state import not_open
from adk_prism.log.sqlite import file, queries
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
    return read_settings(given, os.environ, Path.cwd()).of(UsageSettings).read()


def cost_text(cost: float | None) -> str:
    """Return a cost in four digits; – if it is not known."""
    return "–" if cost is None else f"{cost:.4g}"


# ---------------------------------------------------------------------------
#
# Reads a run log's SQLite file beside the server that writes it: no lock, no migration, nothing written.
#
# A file of an older schema is refused: the server migrates it when it starts.


class SqliteLogReader:
    """Is a `LogReader`."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path).absolute()
        self._connection: sqlite3.Connection | None = None
        self.side = _SideReader(self)

    async def open(self) -> None:
        if not self._path.is_file():
            raise LogError(f"There is no run log {self._path}; pass --log or --url.")
        with _readable():
            self._connection = self._connect()
            version = file.check_version(self._connection, len(file.MIGRATIONS))
        if version < len(file.MIGRATIONS):
            self._connection.close()
            raise LogError(
                f"The run log {self._path} was written by an older adk-prism (schema {version}; this one"
                f" reads {len(file.MIGRATIONS)}). Start adk-prism serve with it once, which migrates it,"
                " or look at it with the adk-prism that wrote it."
            )

    def _connect(self) -> sqlite3.Connection:
        # A journal that nobody has open could only be read by writing to its folder.
        alone = not Path(f"{self._path}-wal").exists()
        options = "mode=ro&immutable=1" if alone else "mode=ro"
        return sqlite3.connect(f"file:{quote(str(self._path.absolute()))}?{options}", uri=True)

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    async def summary(self, run: RunId) -> RunSummary:
        return (await self.ask(lambda it: queries.find_run(it, run))).summary

    async def read(
        self, run: RunId, after: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[Sequence[Entry], None]:
        del follow  # What comes later is for those who ask the server.
        found = await self.ask(lambda it: queries.find_run(it, run))
        last = found.summary.cursor
        while after < last:
            batch = await self.ask(
                partial(queries.read_entries, number=found.number, after=after, last=last)
            )
            if not batch:
                return
            yield batch
            after = batch[-1].cursor

    async def list(
        self, *, app: str = "", user: str = "", session: str = ""
    ) -> Sequence[RunSummary]:
        wanted = Origin(app=app, user=user, session=session)
        return [each.summary for each in await self.ask(lambda it: queries.runs_of(it, wanted))]

    async def ask(self, question: file.Query[file.Answer]) -> file.Answer:
        """Return the answer of a function on the connection. Raise `LogError`."""
        if self._connection is None:
            raise not_open()
        with _readable():
            return question(self._connection)


class _SideReader:
    """The side store of a file."""

    def __init__(self, reader: SqliteLogReader) -> None:
        self._reader = reader

    async def list(self, owners: Collection[Owner]) -> dict[Owner, Sequence[SideValue]]:
        return await self._reader.ask(lambda it: queries.list_values(it, owners))

    async def get(self, run: RunId, numbers: Collection[int]) -> dict[int, bytes]:
        origin = (await self._reader.summary(run)).origin
        stored = await self._reader.ask(lambda it: queries.get_texts(it, origin, list(numbers)))
        return {number: unpack_text(text) for number, text in stored.items()}


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except file.STORE_ERRORS as error:
        raise LogError(f"The run log cannot be read: {file.reason_of(error)}.") from error
