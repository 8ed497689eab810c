"""A Runner's events as records; watched, if wanted, so that what happens between them is seen.

Events are serialised on receipt: ADK goes on to change the objects it has yielded.

Each step of a watched Runner runs with the tap in reach (`tap.SCOPE`). It is set for the length of a
step, not for the run: an older agent runs in the task of whoever asks for its events, which may drive
other runs as well. Where in the run a step left off, the next one goes on.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from google.adk.events.event import Event

from adk_prism.runlog.entry import AgentEvent
from adk_prism.source.redaction import Serialiser
from adk_prism.source.tap import SCOPE, Scope, Tap


async def serialised(
    events: AsyncGenerator[Event, None], serialiser: Serialiser
) -> AsyncGenerator[AgentEvent, None]:
    """Yield a Runner's events. Raise what it raises."""
    async with aclosing(events):
        async for event in events:
            yield AgentEvent(serialiser.event(event))


async def watched(
    events: AsyncGenerator[Event, None], tap: Tap, serialiser: Serialiser
) -> AsyncGenerator[AgentEvent, None]:
    """Yield a Runner's events. Raise what it raises, or what kept the tap from writing."""
    driven = _Driven(events, tap)
    try:
        while (event := await driven.step()) is not None:
            data = serialiser.event(event)
            if event.partial:  # by far the most
                if tap.has_news:
                    await tap.flush()
                    _check(tap)
                yield AgentEvent(data)
                continue
            tap.expect(event)
            await tap.flush()
            _check(tap)
            tap.fold(data)
            yield AgentEvent(data)
            tap.settle(event)
    except Exception as error:
        if tap.error is not None and tap.error is not error:
            raise tap.error from error
        raise
    finally:
        await driven.close()
        await tap.finish()
    _check(tap)


def _check(tap: Tap) -> None:
    if tap.error is not None:
        raise tap.error


class _Driven:
    """A Runner that is asked for one event after the other."""

    def __init__(self, events: AsyncGenerator[Event, None], tap: Tap) -> None:
        self._events = events
        self._scope = Scope(tap)

    async def step(self) -> Event | None:
        """Return the next event, or None after the last."""
        token = SCOPE.set(self._scope)
        try:
            return await anext(self._events, None)
        finally:
            self._scope = SCOPE.get() or self._scope
            SCOPE.reset(token)

    async def close(self) -> None:
        """Stop the Runner, if it still runs."""
        token = SCOPE.set(self._scope)
        try:
            await self._events.aclose()
        finally:
            SCOPE.reset(token)
