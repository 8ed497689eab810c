"""A source that a test drives: it yields a start, then waits to be told how the run goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from adk_prism.adk.request import Emit
from adk_prism.log.entry import AgentEvent, Entry, Origin, Record, RunId, RunStarted

HERE = Origin(app="app", user="user", session="session")


def event(text: str) -> AgentEvent:
    """Return a whole event in which an agent says something."""
    return AgentEvent(
        event=(
            b'{"author":"app","id":"%b","invocationId":"i1","timestamp":1.0,'
            b'"content":{"role":"model","parts":[{"text":"%b"}]}}' % (text.encode(), text.encode())
        )
    )


class Script:
    """A run of one app: `say`, then `end` or `fail`. A cancellation ends it, unless it is stubborn."""

    correlation = ""

    def __init__(self, origin: Origin = HERE, *, stubborn: bool = False) -> None:
        self._origin = origin
        self._stubborn = stubborn
        self._next: asyncio.Queue[Record | BaseException | None] = asyncio.Queue()
        self.cancels = 0
        self.run = RunId("")

    def make(self, run: RunId) -> Script:
        """Become the source of a run."""
        self.run = run
        return self

    def say(self, *records: Record) -> None:
        for record in records:
            self._next.put_nowait(record)

    def end(self) -> None:
        self._next.put_nowait(None)

    def fail(self, error: BaseException) -> None:
        self._next.put_nowait(error)

    def cancel(self) -> None:
        self.cancels += 1
        if not self._stubborn:
            self.fail(asyncio.CancelledError())

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record | Entry, None]:
        del emit  # it yields all that it has to say
        yield RunStarted(run=self.run, origin=self._origin, invocation="i1")
        while (coming := await self._next.get()) is not None:
            if isinstance(coming, BaseException):
                raise coming
            yield coming


class NeverBegins:
    """A source that fails before its first record."""

    correlation = ""

    def __init__(self, fail: Callable[[], None]) -> None:
        self._fail = fail

    def cancel(self) -> None:
        pass

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record | Entry, None]:
        del emit
        self._fail()
        return
        yield
