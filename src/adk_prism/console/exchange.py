"""One run, from what is sent to its end, through as many connections as it takes.

A message is sent under an idempotency key, so that sending it again after a broken connection starts
nothing twice; a run that is known is gone on with after the last position seen. While it goes on, its
events are entries that follow its real first one. When it is over the recording takes their place: it also
holds what ADK's events do not tell, such as when nodes began and ended.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any

import httpx
import msgspec
from msgspec import Struct

from adk_prism.console.backoff import Backoff
from adk_prism.console.client import LARGEST_RECORDING, Client, Stream
from adk_prism.console.place import Place
from adk_prism.console.problems import Refused, Unreachable
from adk_prism.errors import SourceError
from adk_prism.facts.adk_event import read_event
from adk_prism.runlog.entry import AgentEvent, Entry, RunEnded, parse_position
from adk_prism.transport.sse_decoder import SseEvent

READ_BACK = 3
"""Times that a recording is asked for, which cannot be gone on with in the middle."""
FORGOTTEN = "forgotten"
"""The code of a run whose server no longer knows it."""


class Accepted(Struct, frozen=True):
    """The server has taken the message: it is not lost any more."""

    run: str


class Told(Struct, frozen=True):
    """The run went on by an entry."""

    entry: Entry


class Lost(Struct, frozen=True):
    """The connection is gone; it is tried again after a wait."""

    why: str
    wait: float


class Back(Struct, frozen=True):
    """The server is there again."""


class Settled(Struct, frozen=True):
    """The run is over: its last entry, and all of them where they could be read."""

    end: Entry
    entries: list[Entry]


News = Accepted | Told | Lost | Back | Settled


class Exchange:
    """Something that is said to an app, and what comes of it."""

    def __init__(
        self,
        client: Client,
        place: Place,
        body: dict[str, Any] | None = None,
        *,
        run: str = "",
        patience: Backoff | None = None,
    ) -> None:
        """Give the `body` of a request to start a run, or a `run` that goes on."""
        self._client = client
        self._place = place
        self._body = body or {}
        self._key = f"console-{secrets.token_hex(16)}"
        self.run = run
        """The run's id, as soon as it is known."""
        self._backoff = patience or Backoff()
        self._position = ""
        self._cursor = 0
        self._time = 0.0
        self._read_back = 0

    async def news(self) -> AsyncGenerator[News, None]:
        """Yield what happens, until the run is over.

        Raise `Refused` if the server does not take it, `Unreachable` if it stays away.
        """
        lost = False
        while True:
            try:
                async with aclosing(self._attempt()) as attempt:
                    async for item in attempt:
                        if lost:
                            lost = False
                            yield Back()
                        yield item
                return
            except Refused as refused:
                # The run is there, but no longer for us.
                if not self.run or refused.code == httpx.codes.UNAUTHORIZED:
                    raise
                yield self._forgotten()
                return
            except Unreachable as error:
                wait = self._backoff.wait()
                if wait is None:
                    raise
                lost = True
                yield Lost(error.detail, wait)
                await asyncio.sleep(wait)

    async def _attempt(self) -> AsyncGenerator[News, None]:
        async with self._open() as stream:
            if not self.run:
                if not stream.run:
                    raise SourceError("The server names no run; is it an adk-prism server?")
                self.run = stream.run
                yield Accepted(stream.run)
            if not self._cursor:
                yield Told(await self._head())
            async for event in stream.events():
                self._backoff.reset()
                entry = self._entry(event)
                if entry is not None:
                    yield Told(entry)
        yield await self._settle()

    def _open(self) -> AbstractAsyncContextManager[Stream]:
        if not self.run:
            return self._client.begin(self._place, self._body, self._key)
        return self._client.follow(self.run, self._position)

    async def _head(self) -> Entry:
        head = await self._client.head(self.run)
        self._cursor, self._time = 1, head.time
        return head

    def _entry(self, event: SseEvent) -> Entry | None:
        """Move to an event's position; return its entry, None for ADK's form of a failed run's end."""
        data = event.data.encode()
        try:
            read = read_event(data)
        except msgspec.MsgspecError:
            raise SourceError("The server sent something that is no ADK event.") from None
        cursor = parse_position(event.id).cursor if event.id else 0
        self._position = event.id or self._position
        if read.id == f"error-{cursor}":
            return None
        self._cursor += 1
        self._time = read.timestamp or self._time
        return Entry(self._cursor, self._time, AgentEvent(data))

    async def _settle(self) -> Settled:
        try:
            summary = await self._client.summary(self.run)
            entries = await self._recording() if summary.bytes <= LARGEST_RECORDING else []
            if entries and isinstance(entries[-1].record, RunEnded):
                return Settled(entries[-1], entries)
        except Refused as refused:
            if refused.code == httpx.codes.UNAUTHORIZED:
                raise
            return self._forgotten()
        except SourceError:
            return self._forgotten()
        return self._ended(RunEnded(outcome=summary.outcome or "failed"))

    async def _recording(self) -> list[Entry]:
        """Read the run back; do without if that breaks off again and again: what was seen is true."""
        try:
            return await self._client.recording(self.run)
        except Unreachable:
            self._read_back += 1
            if self._read_back < READ_BACK:
                raise
            return []

    def _forgotten(self) -> Settled:
        return self._ended(RunEnded(outcome="failed", code=FORGOTTEN))

    def _ended(self, end: RunEnded) -> Settled:
        return Settled(Entry(self._cursor + 1, self._time, end), [])


async def history(client: Client, place: Place, most: int) -> AsyncIterator[list[Entry]]:
    """Yield the last runs of a session that are over, oldest first; leave out what was trimmed."""
    over = [run for run in await client.runs(place) if run.outcome is not None]
    for summary in over[-most:]:
        if summary.bytes > LARGEST_RECORDING:
            continue
        try:
            yield await client.recording(summary.run)
        except Refused:
            continue
