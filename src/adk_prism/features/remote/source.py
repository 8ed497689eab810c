"""One run of a remote app as a source of records: one upstream connection, held by this server.

The run is in the log once the remote has accepted it, so what it refuses is the caller's error and not a
failed run. Its invocation is the remote's to choose, and read from its events. Closing the connection stops
the run: ADK's servers abort then.

A connection that ends before the run did is not a result. The remote's session is read, events that were not
seen are appended, and the run ends as *waiting* if it asks a person, as *finished* if the root agent had its
last word, else as `owner_lost`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import TypeVar

import httpx
from google.adk.events.event import Event
from google.genai import types

from adk_prism.adk.redaction import Serialiser, safe_code
from adk_prism.adk.request import Emit, RunRequest, run_started
from adk_prism.adk.stored_events import until_back
from adk_prism.errors import RemoteFailed, Report, SourceError
from adk_prism.facts.adk_event import CREDENTIAL
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.features.remote import events as wire
from adk_prism.features.remote.connection import Connection
from adk_prism.features.remote.sessions import RemoteSessions
from adk_prism.log import entry as logged

T = TypeVar("T")

OWNER_LOST = "owner_lost"

SPACING = 0.01
"""Seconds between two reads of the socket: what comes faster is read together, which takes half the CPU time
of a run of 2,000 deltas. A screen shows sixty pictures a second."""

AT_ONCE = 0.0002
"""Seconds in which httpx gives a piece that it has read already; one that takes longer was waited for."""


def _answers_sign_in(message: types.Content) -> bool:
    answers = (part.function_response for part in message.parts or ())
    return any(each is not None and each.name == CREDENTIAL for each in answers)


class _Lost(Exception):
    """The connection ended before the run did."""


class RemoteSource:
    """One run of a remote app."""

    def __init__(
        self,
        connection: Connection,
        sessions: RemoteSessions,
        request: RunRequest,
        *,
        agents: Sequence[logged.Agent],
        report: Report,
        is_last_word: Callable[[Event], bool],
    ) -> None:
        """Prepare a run; nothing happens yet. `is_last_word`: whether an event ends a run of the app."""
        self._is_last_word = is_last_word
        self._connection = connection
        self._sessions = sessions
        self._request = request
        self._agents = list(agents)
        self._serialiser = Serialiser(report, run=request.run, app=request.origin.app)
        self._stop: Callable[[], None] | None = None
        """Ends what is waited for."""
        self._is_cancelled = False
        self._ends = 0.0
        self._seen: set[str] = set()
        """Ids of the whole events that were received."""
        self._stored_before = 0
        """Events that the session had before the run."""
        self._last: wire.Received | None = None
        self._failure: logged.RunEnded | None = None

    @property
    def correlation(self) -> str:
        """Of the last exception text that was kept from the log; empty if there was none."""
        return self._serialiser.correlation

    def cancel(self) -> None:
        """Close the connection to the remote, which stops the run."""
        stop, self._stop, self._is_cancelled = self._stop, None, True
        if stop is not None:
            stop()

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[logged.Record, None]:
        """Run the remote agent; yield `RunStarted`, then one `AgentEvent` per event. Nothing is emitted.

        Before the first record, raise `NotFound`, `Unprocessable`, `NotSupported` or `RemoteFailed` for a
        request that cannot run; afterwards `RemoteFailed` for a remote that does not keep to the protocol.
        """
        del emit  # no node is seen
        messages = wire.messages_of(self._request)
        started = await self._started()
        if any(_answers_sign_in(message) for message in messages):
            stored = await self._sessions.requested_credentials(self._request.origin)
            messages = [wire.with_secrets(message, stored) for message in messages]
        self._ends = asyncio.get_running_loop().time() + self._connection.remote.total
        for number, message in enumerate(messages):
            events = self._run(message, is_first=number == 0)
            try:
                async with aclosing(events):
                    async for event in events:
                        if number == 0 and event is None:
                            yield started
                        elif event is not None:
                            yield event
            except _Lost:
                async for record in self._recover(started):
                    yield record
                return
            if self._failure is not None:
                yield self._failure
                return

    # ------------------------------------------------------------------ the request

    async def _started(self) -> logged.RunStarted:
        state, self._stored_before = await self._sessions.before_run(self._request.origin)
        return run_started(self._request, self._agents, state)

    # ------------------------------------------------------------------ the stream

    async def _run(
        self, message: types.Content, *, is_first: bool
    ) -> AsyncGenerator[logged.AgentEvent | None, None]:
        """Yield None when the remote has accepted the request, then its events. Raise `_Lost`."""
        remote = self._connection.remote
        opening = wire.open_run(self._connection, self._request, message, is_first=is_first)
        origin = self._request.origin
        self._sessions.changed(origin.user, origin.session)
        pieces = await self._within(
            remote.idle,
            opening.__aenter__(),
            f"it did not accept the run within {min(remote.idle, remote.total):g} seconds",
        )
        try:
            yield None
            async for frame in self._frames(pieces):
                event = self._take(frame)
                if event is not None:
                    yield event
        finally:
            self._sessions.changed(origin.user, origin.session)
            await opening.__aexit__(None, None, None)
        if self._failure is None and self._is_unfinished():
            raise _Lost

    async def _frames(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[wire.Frame]:
        client, remote = self._connection.client, self._connection.remote
        kind = wire.Lines if self._connection.dialect.is_engine else wire.Frames
        reader = kind(remote.event_bytes)
        time = asyncio.get_running_loop().time
        since = time()
        silent = f"it did not send an event within {remote.idle:g} seconds"
        while True:
            try:
                asked = time()
                left = since + remote.idle - asked
                chunk = await self._within(left, anext(pieces, b""), silent)
                came = time()
                frames = reader.feed(chunk) if chunk else reader.finish()
            except httpx.TransportError as error:
                client.broken(error)
                raise _Lost from error
            except SourceError as error:
                if isinstance(error, RemoteFailed) or self._is_cancelled:
                    raise
                raise client.failed("one of its events is too large") from error
            for frame in frames:
                yield frame
            if not chunk:
                self._check_whole(reader)
                return
            if frames:  # a comment keeps a connection open, and is no sign of the run
                since = time()
            if came - asked > AT_ONCE:
                await asyncio.sleep(SPACING)

    async def _within(self, seconds: float, awaited: Awaitable[T], why: str) -> T:
        """Return what comes within some seconds and the time of the run, unless the run is stopped."""
        remote, loop = self._connection.remote, asyncio.get_running_loop()
        until = min(loop.time() + seconds, self._ends)
        try:
            async with asyncio.timeout_at(0 if self._is_cancelled else until) as waiting:
                self._stop = partial(waiting.reschedule, 0)
                return await awaited
        except TimeoutError:
            if self._is_cancelled:
                raise SourceError("The run was stopped.") from None
            if loop.time() >= self._ends:
                why = f"its run took longer than {remote.total:g} seconds"
            raise self._connection.client.failed(why) from None
        finally:
            self._stop = None

    def _check_whole(self, reader: wire.Frames | wire.Lines) -> None:
        """Raise for a stream that ended in the middle of an event, or that held something else."""
        if not reader.has_other:
            return
        if self._last is None and self._failure is None:
            raise self._connection.client.failed("it sent something that is no stream of events")
        if self._failure is None:
            raise _Lost

    def _take(self, frame: wire.Frame) -> logged.AgentEvent | None:
        """Return the event of a frame; None for the end of a run that failed."""
        try:
            received = wire.read_frame(frame)
        except SourceError:
            raise self._connection.client.failed(
                "it sent something that is not an ADK event"
            ) from None
        event = received.event
        if received.is_failure:
            self._failure = self._failed(received)
            return None
        self._failure = None  # Go's server goes on after some errors.
        self._last = received
        if not event.partial and event.id:
            self._seen.add(event.id)
        return logged.AgentEvent(self._serialiser.received(received.data))

    def _is_unfinished(self) -> bool:
        """Return whether a stream that ended as it should did not show the end of its run."""
        if self._last is None:
            return self._connection.dialect.fails_silently
        event = self._last.event
        if event.partial:
            return True  # ADK sends the whole after its pieces.
        parts = (event.content.parts if event.content else None) or []
        is_answer = any(part.function_response is not None for part in parts)
        is_meant = event.actions is not None and event.actions.skip_summarization
        return self._connection.dialect.fails_silently and is_answer and not is_meant

    def _failed(self, received: wire.Received) -> logged.RunEnded:
        """Return the end that a frame means which is no agent's event: the Runner raised."""
        event = received.event
        code = self._last_error()  # The event before has it, and was reported.
        if not code:
            code = self._serialiser.withheld(event.error_code or "", event.error_message or "")
        return logged.RunEnded(outcome="failed", code=code, correlation=self.correlation)

    def _last_error(self) -> str:
        """Return the code of the last event, if it is a failure."""
        last = self._last.event if self._last is not None else None
        return safe_code(last.error_code) if last and last.error_code and not last.partial else ""

    # ------------------------------------------------------------------ after a break

    async def _recover(self, started: logged.RunStarted) -> AsyncIterator[logged.Record]:
        """Yield what the remote stored and was not seen, and how the run ended."""
        stored = await self._stored()
        for event in stored:
            if event.id not in self._seen and event.author != "user":
                yield logged.AgentEvent(self._serialiser.event(event))
        yield self._ended(started, stored)

    async def _stored(self) -> list[Event]:
        """Return what the remote's session has of this run; nothing if its server does not come back."""
        origin = self._request.origin
        try:
            session = await until_back(
                lambda: self._sessions.get_session(
                    app_name=origin.app, user_id=origin.user, session_id=origin.session
                ),
                is_wanted=lambda: not self._is_cancelled,
            )
        except SourceError:
            return []
        return session.events[self._stored_before :] if session is not None else []

    def _ended(self, started: logged.RunStarted, stored: Sequence[Event]) -> logged.RunEnded:
        if self._is_cancelled:
            return logged.RunEnded(outcome="cancelled")
        code = self._last_error()
        if code and self._connection.dialect.is_engine:  # It breaks the connection then.
            return logged.RunEnded(outcome="failed", code=code, correlation=self.correlation)
        ending = CaptureEnding()
        ending.feed(logged.Entry(1, 0.0, started))
        for cursor, event in enumerate(stored, 2):
            if event.author != "user":
                ending.feed(
                    logged.Entry(cursor, 0.0, logged.AgentEvent(self._serialiser.event(event)))
                )
        ended = ending.ended()
        is_over = bool(stored) and self._is_last_word(stored[-1])
        if ended.outcome == "waiting" or (ended.outcome == "finished" and is_over):
            return ended
        return logged.RunEnded(outcome="failed", code=OWNER_LOST)
