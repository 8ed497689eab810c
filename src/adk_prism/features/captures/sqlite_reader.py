"""Reads a run log's SQLite file beside the server that writes it: no lock, no migration, nothing written.

For commands that look at runs. A file of an older schema is refused: the server migrates it when it starts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import quote

from adk_prism.errors import LogError
from adk_prism.log.contract import Owner, RunSummary, SideValue, unpack_text
from adk_prism.log.entry import Entry, Origin, RunId
from adk_prism.log.run_state import not_open
from adk_prism.log.sqlite import queries
from adk_prism.log.sqlite.file import (
    MIGRATIONS,
    STORE_ERRORS,
    Answer,
    Query,
    check_version,
    reason_of,
)


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
            version = check_version(self._connection, len(MIGRATIONS))
        if version < len(MIGRATIONS):
            self._connection.close()
            raise LogError(
                f"The run log {self._path} was written by an older adk-prism (schema {version}; this one"
                f" reads {len(MIGRATIONS)}). Start adk-prism serve with it once, which migrates it, or look"
                " at it with the adk-prism that wrote it."
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

    async def ask(self, question: Query[Answer]) -> Answer:
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
    except STORE_ERRORS as error:
        raise LogError(f"The run log cannot be read: {reason_of(error)}.") from error
