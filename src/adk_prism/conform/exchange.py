"""HTTP with the server under test: bounded in time and size, whatever it answers."""

from __future__ import annotations

import asyncio
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from secrets import token_bytes
from typing import Any, Literal

import httpx
from msgspec import Struct

from adk_prism.console.client import shown_url
from adk_prism.errors import SourceError
from adk_prism.transport.sse_decoder import SseDecoder, SseEvent

MAX_BODY = 32 * 1024 * 1024
"""Bytes of one answer that are read."""
CLOSING = 10.0
"""Seconds in which a body has to end after its last frame."""

Ending = Literal["complete", "left", "cut", "slow", "too large", "still open"]
"""How an answer ended: `left` by us, the others by the server."""


class CannotTry(SourceError):
    """The server cannot be judged: it is not there, or does not let us in."""


class Answer(Struct, frozen=True):
    """One answer, as far as it was read."""

    status: int
    headers: httpx.Headers
    body: bytes
    frames: tuple[SseEvent, ...]
    ending: Ending
    times: tuple[float, ...] = ()
    """When each frame was complete, in seconds from the request."""

    @property
    def is_stream(self) -> bool:
        return self.media_type == "text/event-stream"

    @property
    def media_type(self) -> str:
        return str(self.headers.get("content-type", "")).partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        """The status, and the beginning of the body."""
        start = self.body[:400].decode(errors="replace").strip()
        return f"HTTP {self.status} {self.media_type or 'without content-type'}: {start}"


class Leave(Struct, frozen=True):
    """When to leave a stream: after so many frames, or when a frame says this (and the body stays open)."""

    frames: int = 0
    last: str = ""


NEVER = Leave()


class Exchange:
    """Sends requests to one server."""

    def __init__(self, http: httpx.AsyncClient, timeout: float) -> None:
        self._http = http
        self._timeout = timeout

    async def send(
        self,
        method: str,
        url: str,
        *,
        json: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        leave: Leave = NEVER,
    ) -> Answer:
        """Return the answer. Raise `CannotTry` if there is none."""
        request = self._http.build_request(
            method, url, json=json, content=content, headers=dict(headers or {})
        )
        response = await self._open(request)
        try:
            return await _Reading(response, leave).read(self._timeout)
        finally:
            await response.aclose()

    async def upgrade(self, url: str) -> int:
        """Ask for a WebSocket, and leave it at once; return the status. Raise `CannotTry`."""
        headers = {
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec-websocket-version": "13",
            "sec-websocket-key": b64encode(token_bytes(16)).decode(),
        }
        response = await self._open(self._http.build_request("GET", url, headers=headers))
        await response.aclose()
        return response.status_code

    async def _open(self, request: httpx.Request) -> httpx.Response:
        try:
            return await self._http.send(request, stream=True)
        except httpx.HTTPError as error:
            why = "timed out" if isinstance(error, httpx.TimeoutException) else "no answer"
            told = f"{shown_url(str(request.url.copy_with(query=None)))}: {why} ({type(error).__name__})."
            raise CannotTry(told) from None


class _Reading:
    """Reads one response."""

    def __init__(self, response: httpx.Response, leave: Leave) -> None:
        self._response = response
        self._leave = leave
        self._decoder = SseDecoder(MAX_BODY)
        self._body = bytearray()
        self._frames: list[SseEvent] = []
        self._times: list[float] = []
        self._began = time.monotonic()

    async def read(self, seconds: float) -> Answer:
        ending: Ending
        try:
            async with asyncio.timeout(seconds) as limit:
                ending = await self._read_all(limit)
        except TimeoutError:
            ending = "still open" if self._has_last else "slow"
        except httpx.HTTPError:
            ending = "cut"
        head = self._response
        frames, times = tuple(self._frames), tuple(self._times)
        return Answer(head.status_code, head.headers, bytes(self._body), frames, ending, times)

    async def _read_all(self, limit: asyncio.Timeout) -> Ending:
        async for piece in self._response.aiter_bytes():
            self._body += piece
            if len(self._body) > MAX_BODY:
                return "too large"
            if self._response.is_success:
                had_last = self._has_last
                self._take(piece)
                if self._leave.frames and len(self._frames) >= self._leave.frames:
                    return "left"
                if self._has_last and not had_last:
                    soon = asyncio.get_running_loop().time() + CLOSING
                    limit.reschedule(min(soon, limit.when() or soon))
        return "complete"

    def _take(self, piece: bytes) -> None:
        found = self._decoder.feed(piece)
        self._frames += found
        self._times += [time.monotonic() - self._began] * len(found)

    @property
    def _has_last(self) -> bool:
        last, frames = self._leave.last, self._frames
        return bool(last and frames) and (last in frames[-1].data or last == frames[-1].event)


@asynccontextmanager
async def connected(
    url: str, headers: Mapping[str, str], seconds: float, auth: httpx.Auth | None = None
) -> AsyncIterator[Exchange]:
    """Yield an exchange with a server: it sends `headers` with every request and follows no redirect."""
    is_secure = url.startswith("https:")  # Without TLS, reading all root certificates is only slow.
    limits = httpx.Timeout(seconds, connect=min(seconds, 10.0))
    async with httpx.AsyncClient(
        headers=dict(headers), timeout=limits, verify=is_secure, auth=auth
    ) as http:
        yield Exchange(http, seconds)
