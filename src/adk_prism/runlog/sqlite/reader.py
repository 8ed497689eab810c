"""The thread that reads a run log's SQLite file, for readers that are not served from memory.

One thread and one connection: most readers follow a run in memory, and one thread cannot starve the writer.
A question is a function on a connection (`queries`); its answer is awaited.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from adk_prism.errors import LogError
from adk_prism.runlog.sqlite.file import DatabaseFile
from adk_prism.runlog.sqlite.writer import STORE_ERRORS, reason_of

Answer = TypeVar("Answer")
Given = ParamSpec("Given")


class SqliteReader:
    """Owns the reading connection and its thread, until `close`."""

    def __init__(self, file: DatabaseFile, connection: sqlite3.Connection) -> None:
        self._file = file
        self._connection = connection
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="adk-prism run log reader")

    async def ask(
        self,
        question: Callable[Concatenate[sqlite3.Connection, Given], Answer],
        *args: Given.args,
        **kwargs: Given.kwargs,
    ) -> Answer:
        """Return the question's answer. Raise `LogError` if the store cannot give it."""

        def run() -> Answer:
            self._file.check()
            return question(self._connection, *args, **kwargs)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, run)
        except STORE_ERRORS as error:
            raise LogError(f"The run log cannot be read: {reason_of(error)}.") from error

    async def close(self) -> None:
        """Close after the questions that were asked."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._connection.close)
        self._thread.shutdown(wait=False)
