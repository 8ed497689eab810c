"""A real server in this process, on a real port, and a plain client of its sockets."""

from __future__ import annotations

import asyncio
import json
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import uvicorn
from google.adk.runners import Runner
from tests.patience import PATIENCE
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from adk_prism.errors import Diagnostic
from adk_prism.log.memory import MemoryLog
from adk_prism.prism import Prism
from adk_prism.server.context import Context
from adk_prism.server.identity.methods import Authenticate
from adk_prism.server.settings import Settings
from adk_prism.server.uvicorn_server import PING_INTERVAL

Json = dict[str, Any]


class Served:
    """A server and what its operator was told."""

    def __init__(self, url: str, context: Context, reports: list[Diagnostic]) -> None:
        self.url = url
        self.context = context
        self.reports = reports

    @asynccontextmanager
    async def live(self, query: str = "session=s1", **options: Any) -> AsyncIterator[Client]:
        """Talk to the agent over a socket."""
        url = f"{self.url.replace('http', 'ws')}/api/live/app?{query}"
        async with connect(url, **options) as connection:
            yield Client(connection)


class Client:
    """One live client: sends, and keeps what it is sent."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.frames: list[Json] = []
        self.sound: list[bytes] = []
        self._said = Counter[str]()

    async def send(self, kind: str, **fields: Any) -> None:
        await self.connection.send(json.dumps({"type": kind, "version": "1.0", **fields}))

    async def say(self, text: str, chat: str = "s1") -> None:
        self._said[text] += 1
        name = f"m-{text}" if self._said[text] == 1 else f"m-{text}-{self._said[text]}"
        message = {"id": name, "role": "user", "parts": [{"type": "text", "text": text}]}
        await self.send("message", id=chat, messages=[message], trigger="submit-message")

    async def next(self) -> Json | bytes:
        async with asyncio.timeout(PATIENCE):
            received = await self.connection.recv()
        if isinstance(received, bytes):
            self.sound.append(received)
            return received
        frame: Json = json.loads(received)
        self.frames.append(frame)
        return frame

    async def until(self, wanted: Callable[[Json], bool]) -> Json:
        """Read until such a frame comes."""
        while True:
            frame = await self.next()
            if isinstance(frame, dict) and wanted(frame):
                return frame

    async def until_chunk(self, kind: str, count: int = 1) -> Json:
        """Read until that many chunks of a kind have come; return the last one's frame."""
        for _ in range(count):
            frame = await self.until(lambda f: f["type"] == "chunk" and f["chunk"]["type"] == kind)
        return frame

    async def until_text(self, text: str) -> None:
        """Read until the agent has said that, unless it has."""
        while not self.text.endswith(text):
            await self.until_chunk("text-delta")

    async def error(self) -> Json:
        return await self.until(lambda frame: frame["type"] == "error")

    async def closed(self) -> tuple[int | None, str | None]:
        """Read on until the server closes; return why."""
        with suppress(ConnectionClosed):
            while True:
                await self.next()
        return self.connection.close_code, self.connection.close_reason

    def chunks(self, *kinds: str) -> list[Json]:
        """Return the chunks that came, or those of some kinds."""
        found = [frame["chunk"] for frame in self.frames if frame["type"] == "chunk"]
        return [chunk for chunk in found if not kinds or chunk["type"] in kinds]

    @property
    def text(self) -> str:
        return "".join(chunk["delta"] for chunk in self.chunks("text-delta"))


@asynccontextmanager
async def served(
    runner: Runner,
    *,
    ping: float = PING_INTERVAL,
    authenticate: Authenticate | None = None,
    **changes: Any,
) -> AsyncIterator[Served]:
    """Serve a Runner as `app`, with a sign of life every so often; nothing is left of it afterwards."""
    reports: list[Diagnostic] = []
    settings = Settings(**{"log": "memory:", "grace": 1, **changes})
    log, report = MemoryLog(), reports.append
    prism = Prism({"app": runner}, settings, log=log, report=report, authenticate=authenticate)
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        prism.asgi(),
        log_config=None,
        ws="websockets-sansio",
        ws_max_size=settings.body_limit,
        ws_per_message_deflate=False,
        ws_ping_interval=ping,
        ws_ping_timeout=ping,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    before = asyncio.all_tasks()
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        yield Served(url, prism.context, reports)
    finally:
        await prism.context.lifecycle.drain(2.0)
        server.should_exit = True
        await serving
    async with asyncio.timeout(PATIENCE):
        while left := asyncio.all_tasks() - before - {asyncio.current_task()}:
            await asyncio.wait(left)
