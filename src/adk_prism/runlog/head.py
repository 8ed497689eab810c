"""A run's growing end: what may be appended to it next, and who waits for that.

The rules of `append` are the same in every backend, so they stand here once: what comes first, what
comes last, which owner may write. Knows no storage. Two cursors: `taken` counts what the log has
accepted, `committed` what is safe and may be shown. They differ in backends that write later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from adk_prism.errors import Conflict, Fenced, Gone, LogError, NotFound, UsageError
from adk_prism.runlog.contract import RunSummary
from adk_prism.runlog.entry import (
    AgentEvent,
    Entry,
    Outcome,
    Record,
    RunEnded,
    RunId,
    RunStarted,
    pack,
)

Packed = tuple[str, bytes]


def pack_all(records: Sequence[Record]) -> list[Packed]:
    """Return the records' stored forms. Raise `UsageError` for text that UTF-8 cannot hold."""
    try:
        return [pack(record) for record in records]
    except UnicodeEncodeError as error:
        raise UsageError("A record has a lone surrogate in its text; expected Unicode.") from error


def first_of(run: RunId, records: Sequence[Record]) -> RunStarted:
    """Return the start that the first append of a run must begin with.

    Raise `NotFound` for any other record, `UsageError` for a start that names another run.
    """
    if not records or not isinstance(records[0], RunStarted):
        raise unknown(run)
    if records[0].run != run:
        raise UsageError(f"The start of run {records[0].run[:60]!r} was sent to {run[:60]!r}.")
    return records[0]


def unknown(run: RunId) -> NotFound:
    return NotFound(f"There is no run {run[:60]!r}.")


def trimmed(run: RunId) -> Gone:
    return Gone(f"Run {run[:60]!r} is no longer kept.")


def ended(run: RunId) -> Conflict:
    return Conflict(f"Run {run[:60]!r} has ended; nothing can be appended to it.")


def started_twice(run: RunId) -> Conflict:
    return Conflict(f"Run {run[:60]!r} has been started before; a new run needs an id of its own.")


class Bell:
    """Wakes all who wait. Each has a waiter of its own: one that is cancelled takes nobody along."""

    def __init__(self) -> None:
        self._waiters: set[asyncio.Future[None]] = set()

    def ring(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)


class Head:
    """The state of one run that is kept in memory."""

    __slots__ = ("bell", "bytes", "closed", "epoch", "failure", "removed", "summary", "taken")

    def __init__(self, summary: RunSummary) -> None:
        self.summary = summary
        """As committed: its cursor, size, end and outcome are what readers may know."""
        self.taken = summary.cursor
        self.epoch = summary.epoch
        self.closed = summary.outcome is not None
        """`RunEnded` was taken."""
        self.removed = False
        """Deleted with its session."""
        self.failure = ""
        """Why entries of this run could not be stored; they are not there. Empty: nothing failed."""
        self.bell = Bell()

    @property
    def run(self) -> RunId:
        return self.summary.run

    @property
    def committed(self) -> int:
        return self.summary.cursor

    def admit(self, records: Sequence[Record], epoch: int) -> None:
        """Raise what the contract of `append` says for records that may not come now."""
        if epoch < self.epoch:
            raise Fenced(
                f"Run {self.run!r} is owned by epoch {self.epoch}; epoch {epoch} may not write."
            )
        self.check()
        if self.closed:
            raise ended(self.run)
        if len(records) == 1 and type(records[0]) is AgentEvent:
            return
        for record in records[1:] if not self.taken else records:
            if isinstance(record, RunStarted):
                raise started_twice(self.run)
        if any(isinstance(record, RunEnded) for record in records[:-1]):
            raise ended(self.run)
