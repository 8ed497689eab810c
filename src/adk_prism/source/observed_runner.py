"""A Runner's events as records, with or without observation of what happens between them.

Events are serialised on receipt, because ADK continues to change the objects that it has yielded.

Each step of an observed Runner runs with `run_observer.SCOPE` set. It is set for one step, not for the
whole run: an older agent runs in the task that asks for its events, and that task may drive other runs
too. The next step continues with the scope that the last one left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing

from google.adk.events.event import Event

from adk_prism.errors import FailedAsRecorded
from adk_prism.runlog.entry import AgentEvent
from adk_prism.source.appended_events import APPENDED
from adk_prism.source.redaction import Serialiser
from adk_prism.source.run_observer import SCOPE, RunObserver, Scope


async def serialised(
    events: AsyncGenerator[Event, None], serialiser: Serialiser
) -> AsyncGenerator[AgentEvent, None]:
    """Yield a Runner's events. Raise what it raises."""
    async with aclosing(events):
        async for event in events:
            yield serialiser.record(event)


async def observed(
    events: AsyncGenerator[Event, None], observer: RunObserver, serialiser: Serialiser
) -> AsyncGenerator[AgentEvent, None]:
    """Yield a Runner's events. Raise what it raises, or what kept the observer from writing."""
    driven = _Driven(events, observer)
    try:
        while (event := await driven.step()) is not None:
            record = serialiser.record(event)
            if event.partial:  # by far the most
                if observer.has_pending:
                    await observer.flush()
                    _check(observer)
                yield record
                continue
            if isinstance(observer.unanswered, FailedAsRecorded) and event.get_function_responses():
                raise observer.unanswered  # In the recording the run ended here, without an answer.
            observer.expect(event)
            await observer.flush()
            _check(observer)
            observer.fold(record.event)
            yield record
            observer.settle(event)
            if observer.unanswered is not None and event.get_function_responses():
                raise observer.unanswered
    except Exception as error:
        if observer.error is not None and observer.error is not error:
            raise observer.error from error
        raise
    finally:
        await driven.close()
        await observer.finish()
    _check(observer)


def _check(observer: RunObserver) -> None:
    if observer.error is not None:
        raise observer.error
    if observer.is_closed and observer.unanswered is not None:
        raise observer.unanswered


class _Driven:
    """A Runner whose events are requested one by one, with those that its agents store themselves."""

    def __init__(self, events: AsyncGenerator[Event, None], observer: RunObserver) -> None:
        self._events = events
        self._scope = Scope(observer)
        self._appended = observer.appended
        self._waiting: deque[Event] = deque()
        self._failure: Exception | None = None
        """What the Runner raised, once all that was stored before has been given."""

    async def step(self) -> Event | None:
        """Return the next event, or None after the last. Raise what the Runner raises."""
        while not self._waiting:
            if self._failure is not None:
                raise self._failure
            event = None
            token, noting = SCOPE.set(self._scope), APPENDED.set(self._appended)
            try:
                event = await anext(self._events, None)
            except Exception as error:
                self._failure = error
            finally:
                APPENDED.reset(noting)
                self._scope = SCOPE.get() or self._scope
                SCOPE.reset(token)
            if event is not None and event.partial:
                return event
            self._waiting.extend(self._appended.take(event))
            if event is not None and not self._appended.is_recorded(event):
                self._waiting.append(event)
            elif event is None and not self._waiting and self._failure is None:
                return None
        return self._waiting.popleft()

    async def close(self) -> None:
        """Stop the Runner, if it still runs."""
        token = SCOPE.set(self._scope)
        try:
            await self._events.aclose()
        finally:
            SCOPE.reset(token)
