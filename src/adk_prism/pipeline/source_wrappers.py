"""Sources made of other sources: with something done first, after a past, or nothing done at all."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

from msgspec import structs

from adk_prism.runlog.entry import (
    Continues,
    Entry,
    ForkPoint,
    Origin,
    Record,
    RunEnded,
    RunStarted,
)
from adk_prism.source.contract import Emit, EventSource
from adk_prism.version import VERSION


async def no_preparation() -> None:
    """Do nothing."""


class PreparedSource:
    """A source whose run begins with a preparation under the session's hold, such as a rewind."""

    def __init__(
        self,
        inner: EventSource,
        *,
        before: Callable[[], Awaitable[None]] = no_preparation,
        digest: str = "",
        client_run: str = "",
        forked_from: ForkPoint | None = None,
    ) -> None:
        """`digest`, `client_run` and `forked_from` go into the run's first record."""
        self._inner = inner
        self._before = before
        self._digest = digest
        self._client_run = client_run
        self._forked_from = forked_from

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record | Entry, None]:
        """Prepare, then yield what the source yields."""
        await self._before()
        async with aclosing(self._inner.records(emit)) as records:
            async for record in records:
                if isinstance(record, RunStarted):
                    record = structs.replace(
                        record,
                        digest=self._digest,
                        client_run=self._client_run,
                        forked_from=self._forked_from,
                    )
                yield record

    def cancel(self) -> None:
        self._inner.cancel()

    @property
    def correlation(self) -> str:
        return self._inner.correlation


class ContinuedSource:
    """A source that continues a run of the past: its log begins with what happened there."""

    def __init__(self, inner: EventSource, past: Sequence[Record | Entry]) -> None:
        """`past` begins with the run's `RunStarted`, which takes the place of the source's own."""
        self._inner = inner
        self._past = past

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record | Entry, None]:
        """Yield the past, then what the source yields. Raise before that what keeps it from going on."""
        async with aclosing(self._inner.records(emit)) as records:
            await anext(records)
            for entry in self._past:
                yield entry
            async for record in records:
                yield record

    def cancel(self) -> None:
        self._inner.cancel()

    @property
    def correlation(self) -> str:
        return self._inner.correlation


class LeftQuestions:
    """A run that ends the questions of a message without an answer: the agent does not continue."""

    correlation = ""

    def __init__(self, run: str, origin: Origin, invocation: str, message: str) -> None:
        self._started = RunStarted(
            run=run,
            origin=origin,
            invocation=invocation,
            continues=Continues(message=message),
            version=VERSION,
        )

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record, None]:
        """Yield a run that is over at once."""
        del emit  # nothing runs
        yield self._started
        # Not cancelled: old AG-UI clients take that for an error, and keep the questions open.
        yield RunEnded(outcome="finished")

    def cancel(self) -> None:
        """Nothing runs."""


class HeldAnswers:
    """A run that only keeps answers, until the others of their batch are there."""

    correlation = ""

    def __init__(self, run: str, origin: Origin, invocation: str, continues: Continues) -> None:
        self._started = RunStarted(
            run=run,
            origin=origin,
            invocation=invocation,
            continues=structs.replace(continues, held=True),
            version=VERSION,
        )

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record, None]:
        """Yield the record that holds the answers; the run waits on."""
        del emit  # nothing runs
        yield self._started

    def cancel(self) -> None:
        """Nothing runs."""
