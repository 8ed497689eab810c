"""A small ADK server on a loopback socket, whose every answer a test decides, byte by byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

VERSION = {"version": "2.13.0", "language": "python", "language_version": "3.11.7"}
_REASONS = {
    200: "OK",
    302: "Found",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    500: "Error",
}


@dataclass
class Request:
    """What was asked."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Reply:
    """One answer in one piece."""

    body: bytes
    status: int = 200
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Return the bytes of the whole answer."""
        lines = [
            f"HTTP/1.1 {self.status} {_REASONS[self.status]}",
            f"content-type: {self.kind}",
            f"content-length: {len(self.body)}",
            "connection: close",
            *(f"{name}: {value}" for name, value in self.headers.items()),
        ]
        return "\r\n".join([*lines, "", ""]).encode() + self.body


Stream = Callable[["Wire"], Awaitable[None]]


@dataclass
class Wire:
    """The connection of a run, after its headers."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def closed(self) -> None:
        """Wait until the client closes the connection."""
        await self.reader.read()

    async def send(self, data: bytes) -> None:
        """Send bytes as one chunk."""
        self.writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await self.writer.drain()

    async def event(self, event: Json, name: str = "") -> None:
        """Send one frame."""
        named = f"event: {name}\n" if name else ""
        await self.send(f"{named}data: {json.dumps(event)}\n\n".encode())

    async def end(self) -> None:
        """End the stream as HTTP wants it."""
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    def cut(self) -> None:
        """Break the connection."""
        self.writer.transport.abort()


class Loopback:
    """An ADK server with one app, `far`."""

    def __init__(
        self, version: Json | None = VERSION, prefix: str = "", missing: int = 404
    ) -> None:
        """Without a `version` it has no such route; `missing`: its answer for a session that is not there."""
        self.port = 0
        self.version = version
        self.prefix = prefix
        self.missing = missing
        self.requests: list[Request] = []
        self.session: Json = {
            "id": "",
            "appName": "far",
            "userId": "user",
            "state": {},
            "events": [],
        }
        self.has_session = False
        self.replies: dict[str, Reply | Callable[[Request], Reply]] = {}
        """By path: other answers than usual."""
        self.run: Stream = say_hello
        self.answering: set[asyncio.Task[object]] = set()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        task = asyncio.current_task()
        assert task is not None
        self.answering.add(task)
        task.add_done_callback(self.answering.discard)
        try:
            request = await _read(reader)
            self.requests.append(request)
            given = self.replies.get(request.path)
            if given is not None:
                writer.write((given if isinstance(given, Reply) else given(request)).encode())
            elif self.is_run(request.path):
                await self._stream(reader, writer)
            else:
                writer.write(self._usual(request).encode())
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def _stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
        writer.write((head + "transfer-encoding: chunked\r\nconnection: close\r\n\r\n").encode())
        await self.run(Wire(reader, writer))

    def _usual(self, request: Request) -> Reply:
        path = request.path
        if path == "/version" and self.version is not None:
            return _json(self.version)
        if path == self.prefix + "/list-apps":
            return _json(["far"])
        if path.endswith("/app-info") and self.version is VERSION:
            agent = {
                "name": "root",
                "description": "",
                "instruction": "",
                "tools": [],
                "sub_agents": [],
            }
            about = {"rootAgentName": "root", "description": "Far away.", "agents": {"root": agent}}
            return _json({"name": "far", "language": "python", **about})
        if request.method == "POST" and "/sessions" in path:
            self.has_session = True
            named = path.rpartition("/sessions")[2].strip("/")
            self.session["id"] = named or (request.body or {}).get("sessionId") or "drawn"
            return _json(self.session)
        if path.endswith("/sessions"):
            return _json([self.session] if self.has_session else [])
        if self.has_session and f"/sessions/{self.session['id']}" in path:
            return _json(self.session)
        status = self.missing if "/sessions/" in path else 404
        return Reply(b'{"detail":"Not Found"}', status)

    def ran(self) -> list[Request]:
        """Return the requests that ran the agent."""
        return [each for each in self.requests if self.is_run(each.path)]

    def is_run(self, path: str) -> bool:
        """Whether a path runs the agent."""
        return path == self.prefix + "/run_sse"


def _json(value: Any) -> Reply:
    return Reply(json.dumps(value).encode())


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, path, _ = head[0].split(" ")
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    data = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, path, headers, json.loads(data) if data else None)


def event(text: str = "", *, partial: bool = False, id: str = "e1", **extras: Any) -> Json:
    """Return an event of the root agent."""
    said: Json = {"content": {"role": "model", "parts": [{"text": text}]}} if text else {}
    about = {"author": "root", "id": id, "invocationId": "i1", "timestamp": 1.0, "actions": {}}
    return {**said, **about, **({"partial": True} if partial else {}), **extras}


async def say_hello(wire: Wire) -> None:
    """Stream two pieces, and the whole."""
    await wire.event(event("Hello ", partial=True))
    await wire.event(event("world", partial=True))
    await wire.event(event("Hello world", finishReason="STOP"))
    await wire.end()


@asynccontextmanager
async def listening(server: Loopback, port: int = 0) -> AsyncIterator[Loopback]:
    """Let a server answer."""
    tcp = await asyncio.start_server(server.answer, "127.0.0.1", port)
    server.port = tcp.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        tcp.close()
        answering = list(server.answering)
        for task in answering:
            task.cancel()
        await asyncio.gather(*answering, return_exceptions=True)
