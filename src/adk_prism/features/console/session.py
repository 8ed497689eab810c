"""A console session: typed lines become runs, and their entries become the history.

Shared by the screen and the pipe. It stores nothing: everything shown is computed from what the server
sends, so that a console opened later shows the same.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing
from datetime import datetime
from typing import Any

import httpx
import msgspec
from msgspec import Struct

from adk_prism.errors import NotFound, SourceError
from adk_prism.facts.adk_event import read_event
from adk_prism.features.captures import client as clients
from adk_prism.features.captures.streams import SseEvent
from adk_prism.features.console.history import SessionHistory
from adk_prism.features.console.intents import IntentReader
from adk_prism.features.page.film import fold
from adk_prism.log.entry import AgentEvent, Entry, Origin, RunEnded, parse_position

# ---------------------------------------------------------------------- run follower
#
# Follows one run from the request to its end, reconnecting as often as needed.
#
# A message is sent with an idempotency key, so that a retry does not start a second run. A known run is
# resumed after the last position seen. While the run is active, its events become entries after the real
# first one; when it has ended they are replaced by the recording, which also has what ADK's events lack, such
# as when nodes started and ended.


FIRST = 0.25
"""Seconds. A server that is being restarted is back within one."""
LONGEST = 5.0
"""Most seconds between two attempts, so that a waiting user sees progress."""
PATIENCE = 120.0
"""Total seconds of waiting: enough for a deployment or a laptop that wakes up."""


class Backoff:
    """The waits of one outage."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._next = FIRST
        self._waited = 0.0

    def wait(self) -> float | None:
        """Return the seconds before the next attempt, or None to give up."""
        if self._waited >= self._patience:
            return None
        seconds = self._next
        self._waited += seconds
        self._next = min(seconds * 2, LONGEST)
        return seconds

    def reset(self) -> None:
        """Start over: the server answered."""
        self._next, self._waited = FIRST, 0.0


READ_BACK = 3
"""Attempts to read a recording, which cannot be resumed in the middle."""
FORGOTTEN = "forgotten"
"""Error code of a run that the server no longer has."""


class RunAccepted(Struct, frozen=True):
    """The server accepted the message."""

    run: str


class EntryReceived(Struct, frozen=True):
    """The run has a new entry."""

    entry: Entry


class ConnectionLost(Struct, frozen=True):
    """The connection broke; the next attempt follows after `wait` seconds."""

    why: str
    wait: float


class Reconnected(Struct, frozen=True):
    """The server is reachable again."""


class RunFinished(Struct, frozen=True):
    """The run ended: its last entry, and all entries if the recording could be read."""

    end: Entry
    entries: list[Entry]


RunUpdate = RunAccepted | EntryReceived | ConnectionLost | Reconnected | RunFinished


class RunFollower:
    """One request to an app and the run that it starts."""

    def __init__(
        self,
        client: clients.Client,
        address: clients.SessionAddress,
        body: dict[str, Any] | None = None,
        *,
        run: str = "",
        patience: Backoff | None = None,
    ) -> None:
        """Pass the `body` of a request that starts a run, or the id of an active `run`."""
        self._client = client
        self._address = address
        self._body = body or {}
        self._key = f"console-{secrets.token_hex(16)}"
        self.run = run
        """The run's id, as soon as it is known."""
        self._backoff = patience or Backoff()
        self._position = ""
        self._cursor = 0
        self._time = 0.0
        self._read_back = 0

    async def updates(self) -> AsyncGenerator[RunUpdate, None]:
        """Yield updates until the run ends.

        Raise `Refused` if the server rejects the request, `Unreachable` if it cannot be reached for too long.
        """
        lost = False
        while True:
            try:
                async with aclosing(self._attempt()) as attempt:
                    async for item in attempt:
                        if lost:
                            lost = False
                            yield Reconnected()
                        yield item
                return
            except clients.Refused as refused:
                # The run exists, but this user may no longer read it.
                if not self.run or refused.code == httpx.codes.UNAUTHORIZED:
                    raise
                yield self._forgotten()
                return
            except clients.Unreachable as error:
                wait = self._backoff.wait()
                if wait is None:
                    raise
                lost = True
                yield ConnectionLost(error.detail, wait)
                await asyncio.sleep(wait)

    async def _attempt(self) -> AsyncGenerator[RunUpdate, None]:
        async with self._open() as stream:
            if not self.run:
                if not stream.run:
                    raise SourceError("The server sent no run id. Is it an adk-prism server?")
                self.run = stream.run
                yield RunAccepted(stream.run)
            if not self._cursor:
                yield EntryReceived(await self._head())
            async for event in stream.events():
                self._backoff.reset()
                entry = self._entry(event)
                if entry is not None:
                    yield EntryReceived(entry)
        yield await self._settle()

    def _open(self) -> AbstractAsyncContextManager[clients.Stream]:
        if not self.run:
            return self._client.begin(self._address, self._body, self._key)
        return self._client.follow(self.run, self._position)

    async def _head(self) -> Entry:
        head = await self._client.head(self.run)
        self._cursor, self._time = 1, head.time
        return head

    def _entry(self, event: SseEvent) -> Entry | None:
        """Advance to an event's position; return its entry, None for the error event of a failed run."""
        data = event.data.encode()
        try:
            read = read_event(data)
        except msgspec.MsgspecError:
            raise SourceError(
                "The server sent data that is not an ADK event. Is it an adk-prism server?"
            ) from None
        cursor = parse_position(event.id).cursor if event.id else 0
        self._position = event.id or self._position
        if read.id == f"error-{cursor}":
            return None
        self._cursor += 1
        self._time = read.timestamp or self._time
        return Entry(self._cursor, self._time, AgentEvent(data))

    async def _settle(self) -> RunFinished:
        try:
            summary = await self._client.summary(self.run)
            entries = await self._recording() if summary.bytes <= clients.LARGEST_RECORDING else []
            if entries and isinstance(entries[-1].record, RunEnded):
                return RunFinished(entries[-1], entries)
        except clients.Refused as refused:
            if refused.code == httpx.codes.UNAUTHORIZED:
                raise
            return self._forgotten()
        except SourceError:
            return self._forgotten()
        return self._ended(RunEnded(outcome=summary.outcome or "failed"))

    async def _recording(self) -> list[Entry]:
        """Read the recording; return nothing after several failed attempts: the live entries suffice."""
        try:
            return await self._client.recording(self.run)
        except clients.Unreachable:
            self._read_back += 1
            if self._read_back < READ_BACK:
                raise
            return []

    def _forgotten(self) -> RunFinished:
        return self._ended(RunEnded(outcome="failed", code=FORGOTTEN))

    def _ended(self, end: RunEnded) -> RunFinished:
        return RunFinished(Entry(self._cursor + 1, self._time, end), [])


async def finished_runs(
    client: clients.Client, address: clients.SessionAddress, most: int
) -> AsyncIterator[list[Entry]]:
    """Yield the last runs of a session that are over, oldest first; leave out what was trimmed."""
    over = [run for run in await client.runs(address) if run.outcome is not None]
    for summary in over[-most:]:
        if summary.bytes > clients.LARGEST_RECORDING:
            continue
        try:
            yield await client.recording(summary.run)
        except clients.Refused:
            continue


# ---------------------------------------------------------------------- session


SHOWN_RUNS = 30
"""Most earlier runs of a session that are loaded."""


class Session:
    """One session of one app."""

    def __init__(self, client: clients.Client, address: clients.SessionAddress) -> None:
        self.client = client
        self.address = address
        self.history = SessionHistory()
        self.intents = IntentReader(self.history, lambda: self.busy, _now)
        self._exchange: RunFollower | None = None

    @property
    def busy(self) -> bool:
        """Whether a run is being started or is active."""
        return self._exchange is not None

    async def open(self) -> str:
        """Load or create the session; return the id of its active run, if any.

        Raise `NotFound` for an unknown app, `Refused` or `Unreachable` for server errors.
        """
        if not await self.client.has_app(self.address.app):
            names = ", ".join(await self.client.apps()) or "none"
            raise NotFound(f"There is no app {self.address.app[:60]!r}. Available apps: {names}.")
        state = await self.client.open_session(self.address)
        # All or nothing: if the server is lost here, the session is opened again.
        before = [entries async for entries in finished_runs(self.client, self.address, SHOWN_RUNS)]
        live = [r.run for r in await self.client.runs(self.address) if r.outcome is None]
        for entries in before:
            self.history.replay(entries)
        origin = Origin(app=self.address.app, user=self.address.user, session=self.address.session)
        self.history.remember(origin, state)
        return live[-1] if live else ""

    async def send(self, body: dict[str, Any]) -> AsyncGenerator[RunUpdate, None]:
        """Start a run; yield its updates, which the history already contains.

        If the server has lost the session, a new one is created. Raise `Refused`, `Unreachable`.
        """
        for is_last in (False, True):
            started = self._follow(RunFollower(self.client, self.address, body))
            try:
                async with aclosing(started) as updates:
                    async for item in updates:
                        yield item
                return
            except clients.Refused as refused:
                is_lost = refused.code == httpx.codes.NOT_FOUND and "Session" in refused.detail
                if is_last or not is_lost:
                    raise
            await self.client.open_session(self.address)
            self.history.transcript.note(
                "error", "The server no longer has this session. A new one was started."
            )

    def attach(self, run: str, patience: Backoff | None = None) -> AsyncGenerator[RunUpdate, None]:
        """Follow a run that is already active."""
        return self._follow(RunFollower(self.client, self.address, run=run, patience=patience))

    async def _follow(self, exchange: RunFollower) -> AsyncGenerator[RunUpdate, None]:
        self._exchange = exchange
        try:
            async with aclosing(exchange.updates()) as updates:
                async for item in updates:
                    await self._take(item)
                    yield item
        finally:
            self._exchange = None

    async def _take(self, item: RunUpdate) -> None:
        match item:
            case EntryReceived():
                self.history.feed(item.entry)
            case RunFinished():
                # In a thread: a long run takes a while, and the keys must keep working.
                film = await asyncio.to_thread(fold, item.entries) if item.entries else None
                self.history.settle(item.end, film)
            case RunAccepted() | ConnectionLost() | Reconnected():
                pass  # about the connection only

    async def stop(self) -> None:
        """Stop the active run."""
        if self._exchange is not None and self._exchange.run:
            await self.client.cancel(self._exchange.run)


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
