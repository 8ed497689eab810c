"""Reads a run log's SQLite file beside the server that writes it: no lock, no migration, nothing written.

For commands that look at runs. It also reads a file of an older schema, which cannot be searched and has no
pieces.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from adk_prism.errors import LogError
from adk_prism.runlog.contract import RunSummary, SearchPage
from adk_prism.runlog.entry import Entry, Origin, RunId
from adk_prism.runlog.notes import Note, NoteOwner
from adk_prism.runlog.pieces import unpack_piece
from adk_prism.runlog.run_query import RunQuery
from adk_prism.runlog.sqlite import notes, pieces, queries, run_search
from adk_prism.runlog.sqlite.file import MIGRATIONS, check_version
from adk_prism.runlog.sqlite.writer import STORE_ERRORS, reason_of

_Answer = TypeVar("_Answer")


class SqliteLogReader:
    """Is a `LogReader`."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path).absolute()
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> None:
        if not self._path.is_file():
            raise LogError(f"There is no run log {self._path}; pass --log or --url.")
        with _readable():
            self._connection = self._connect()
            check_version(self._connection, len(MIGRATIONS))

    def _connect(self) -> sqlite3.Connection:
        # A journal that nobody has open could only be read by writing to its folder.
        alone = not Path(f"{self._path}-wal").exists()
        options = "mode=ro&immutable=1" if alone else "mode=ro"
        return sqlite3.connect(f"file:{quote(str(self._path.absolute()))}?{options}", uri=True)

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    async def summary(self, run: RunId) -> RunSummary:
        return self._ask(lambda it: queries.find_run(it, run)).summary

    async def read(
        self, run: RunId, after: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[Sequence[Entry], None]:
        del follow  # What comes later is for those who ask the server.
        found = self._ask(lambda it: queries.find_run(it, run))
        while after < found.summary.cursor:
            batch = self._batch(found.number, after, found.summary.cursor)
            if not batch:
                return
            yield batch
            after = batch[-1].cursor

    def _batch(self, number: int, after: int, last: int) -> list[Entry]:
        return self._ask(lambda it: queries.read_entries(it, number, after, last))

    async def notes(self, owners: Collection[NoteOwner]) -> dict[NoteOwner, Sequence[Note]]:
        if not self._has("notes"):
            return {}  # Of an older adk-prism, which kept none.
        return self._ask(lambda it: notes.get_notes(it, owners))

    async def get_pieces(self, run: RunId, numbers: Collection[int]) -> dict[int, bytes]:
        found = self._ask(lambda it: queries.find_run(it, run))
        if not self._has("pieces"):
            return {}
        origin = found.summary.origin
        stored = self._ask(lambda it: pieces.get_pieces(it, origin, list(numbers)))
        return {number: unpack_piece(text) for number, text in stored.items()}

    async def list(
        self, *, app: str = "", user: str = "", session: str = ""
    ) -> Sequence[RunSummary]:
        wanted = Origin(app=app, user=user, session=session)
        return [each.summary for each in self._ask(lambda it: queries.runs_of(it, wanted))]

    async def search(self, query: RunQuery, *, limit: int, before: int | None = None) -> SearchPage:
        if not self._has("digests"):
            raise LogError(
                "The run log was written by an older adk-prism and has no index yet. "
                "Start adk-prism serve with it once."
            )
        return self._ask(lambda it: run_search.search(it, query, limit, before))

    def _has(self, table: str) -> bool:
        asked = "SELECT 1 FROM sqlite_schema WHERE name = ?"
        return self._ask(lambda it: it.execute(asked, (table,)).fetchone()) is not None

    def _ask(self, question: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        if self._connection is None:
            raise LogError("The run log is not open.")
        with _readable():
            return question(self._connection)


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except STORE_ERRORS as error:
        raise LogError(f"The run log cannot be read: {reason_of(error)}.") from error
