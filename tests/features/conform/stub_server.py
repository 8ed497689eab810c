"""A small HTTP server whose every answer a test decides: one request a connection, on a free port."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    headers: Mapping[str, str]
    """By name in lower case."""
    body: bytes

    @property
    def json(self) -> Any:
        """The body, or None if it is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


@dataclass(frozen=True)
class Reply:
    """One answer."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    stays_open: bool = False
    """The body never ends."""
    is_cut: bool = False
    """The connection breaks before the body's end."""

    def having(self, **headers: str) -> Reply:
        """Return the answer with other headers; an empty one is left out."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **named})


Handler = Callable[[Asked], Reply]

STREAM = {"content-type": "text/event-stream", "cache-control": "no-cache"}
JSON = {"content-type": "application/json"}


def as_json(value: Any, status: int = 200) -> Reply:
    return Reply(status, json.dumps(value).encode(), JSON)


def as_stream(*frames: Json | str, **headers: str) -> Reply:
    """Return frames as a stream; a string is the data itself."""
    texts = (frame if isinstance(frame, str) else json.dumps(frame) for frame in frames)
    body = "".join(f"data: {text}\n\n" for text in texts)
    return Reply(200, body.encode(), STREAM).having(**headers)


def refused(asked: Asked, *keys: str) -> Reply | None:
    """Return the answer to a request that cannot be right: its method, its type or what it lacks."""
    if asked.method != "POST":
        return Reply(405)
    if not asked.headers.get("content-type", "").startswith("application/json"):
        return Reply(415)
    body = asked.json
    if not isinstance(body, dict) or not all(key in body for key in keys):
        return as_json({"detail": "bad request"}, 422)
    return None


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """Serve; yield the address. In the end nothing of it is left open."""
    open_now: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_now.add(task)
        task.add_done_callback(open_now.discard)
        try:
            # Cancelled at the end: asyncio's own callback would log it.
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await _answer(handler, reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in open_now:
            task.cancel()
        await asyncio.gather(*open_now, return_exceptions=True)


async def _answer(
    handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    reply = handler(Asked(method, path, headers, body))
    sent = {name: value for name, value in reply.headers.items() if value}
    told = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    more = "" if reply.status == 204 else "transfer-encoding: chunked\r\n"
    writer.write(f"HTTP/1.1 {reply.status} X\r\n{told}{more}connection: close\r\n\r\n".encode())
    if reply.status == 204:
        return
    if reply.body:
        writer.write(b"%x\r\n%b\r\n" % (len(reply.body), reply.body))
    await writer.drain()
    if reply.stays_open:
        await reader.read()  # until the client goes
    elif not reply.is_cut:
        writer.write(b"0\r\n\r\n")
    await writer.drain()
