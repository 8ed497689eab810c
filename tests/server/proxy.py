"""A proxy as Next.js rewrites and nginx's `proxy_pass` are: it changes Host and keeps Origin.

It may take a prefix off the path. One request a connection; what comes after the head is passed on as it is,
both ways, so that sockets go through, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

HEAD_END = b"\r\n\r\n"


@dataclass(frozen=True)
class Proxy:
    """Where a proxy listens."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@dataclass(frozen=True)
class Rules:
    """What a proxy does to a request."""

    target: int
    """Port of the server behind it."""
    prefix: str = ""
    """What it takes off the path."""
    adds: Mapping[str, str] = field(default_factory=dict)
    """Headers that it sets, in lower case."""
    version: str = "1.1"
    """Of HTTP, to the server."""

    def head(self, head: bytes) -> bytes:
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        kept = [
            line for line in lines if line.partition(":")[0].lower() not in self._replaced(lines)
        ]
        added = {"host": f"127.0.0.1:{self.target}", **self.adds}
        if not _is_upgrade(lines):
            added["connection"] = "close"
        request = f"{method} {path.removeprefix(self.prefix)} HTTP/{self.version}"
        told = [request, *(f"{name}: {value}" for name, value in added.items()), *kept]
        return "\r\n".join(told).encode("latin-1") + HEAD_END

    def _replaced(self, lines: list[str]) -> set[str]:
        return {"host", *self.adds} | (set() if _is_upgrade(lines) else {"connection"})


def _is_upgrade(lines: list[str]) -> bool:
    return any(line.lower().startswith("upgrade:") for line in lines)


@asynccontextmanager
async def proxying(rules: Rules) -> AsyncIterator[Proxy]:
    """Stand before a server; in the end nothing of it is left open."""
    open_now: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_now.add(task)
        task.add_done_callback(open_now.discard)
        async with _closing(writer):
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await _pass_on(rules, reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield Proxy(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        for task in open_now:
            task.cancel()
        await asyncio.gather(*open_now, return_exceptions=True)


async def _pass_on(
    rules: Rules, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    head = (await reader.readuntil(HEAD_END)).removesuffix(HEAD_END)
    behind_reader, behind_writer = await asyncio.open_connection("127.0.0.1", rules.target)
    async with _closing(behind_writer):
        behind_writer.write(rules.head(head))
        up = asyncio.create_task(_pipe(reader, behind_writer))
        try:
            await _pipe(behind_reader, writer)
        finally:
            up.cancel()
            await asyncio.wait({up})


@asynccontextmanager
async def _closing(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    try:
        yield
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
