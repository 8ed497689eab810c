"""A proxy between a client and a server, as people misconfigure them: real TCP, one request a connection."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

END = b"\r\n\r\n"


@dataclass(frozen=True)
class Faults:
    """What a proxy does, besides passing everything on."""

    prefix: str = ""
    """Taken off the path."""
    changes_host: bool = False
    holds: bool = False
    """Answers are passed on when they are complete."""
    compresses: bool = False
    cuts: str = ""
    """Connections whose path has this are closed after the first event."""
    no_upgrade: bool = False
    head: bytes = b""
    """A line that is added to each answer's head."""
    date: bytes = b""
    """In place of the server's own."""


@asynccontextmanager
async def proxying(target: int, faults: Faults) -> AsyncIterator[str]:
    """Stand before the server at a port; yield the address. In the end nothing of it is left open."""
    open_now: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_now.add(task)
        task.add_done_callback(open_now.discard)
        try:
            # Cancelled at the end: asyncio's own callback would log it.
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await _pass_on(target, faults, reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{faults.prefix}"
    finally:
        server.close()
        for task in open_now:
            task.cancel()
        await asyncio.gather(*open_now, return_exceptions=True)


async def _pass_on(
    target: int, faults: Faults, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    first, *lines = (await reader.readuntil(END)).decode().strip().split("\r\n")
    method, path, _ = first.split(" ")
    dropped = {"connection"}
    if faults.changes_host:
        dropped.add("host")
    upgrades = bool(_value(lines, "upgrade")) and not faults.no_upgrade
    if not upgrades:
        dropped.add("upgrade")
    kept = [line for line in lines if line.partition(":")[0].lower() not in dropped]
    kept.append("connection: Upgrade" if upgrades else "connection: close")
    if faults.changes_host:
        kept.append(f"host: 127.0.0.1:{target}")
    head = "\r\n".join([f"{method} {path.removeprefix(faults.prefix)} HTTP/1.1", *kept])
    behind, to_server = await asyncio.open_connection("127.0.0.1", target)
    try:
        to_server.write(head.encode() + END)
        to_server.write(await reader.readexactly(int(_value(lines, "content-length") or 0)))
        await _answer(faults, path, behind, writer)
    finally:
        to_server.close()


def _value(lines: list[str], name: str) -> str:
    pairs = (line.partition(":") for line in lines)
    return next((value.strip() for key, _, value in pairs if key.lower() == name), "")


async def _answer(
    faults: Faults, path: str, behind: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    head = (await behind.readuntil(END)).removesuffix(END)
    squeeze = None
    if faults.compresses and b"event-stream" in head:
        squeeze = zlib.compressobj(wbits=31)
        head = head.replace(b"transfer-encoding: chunked", b"content-encoding: gzip")
    if faults.date:
        lines = [each for each in head.split(b"\r\n") if not each.lower().startswith(b"date:")]
        head = b"\r\n".join([*lines, b"date: " + faults.date])
    holds, body = faults.holds and b" 101 " not in head, bytearray()
    if faults.cuts and faults.cuts in path:
        writer.write(head + END + await behind.read(65536))
        return await writer.drain()
    if not holds:
        writer.write(head + faults.head + END)
    async for piece in _pieces(behind, is_chunked=squeeze is not None):
        if squeeze is not None:
            piece = squeeze.compress(piece) + squeeze.flush(zlib.Z_SYNC_FLUSH)
        if holds:
            body += piece
        else:
            writer.write(piece)
            await writer.drain()
    if squeeze is not None:
        writer.write(squeeze.flush())
    if holds:
        writer.write(head + faults.head + END + body)
    return await writer.drain()


async def _pieces(behind: asyncio.StreamReader, *, is_chunked: bool) -> AsyncIterator[bytes]:
    """Yield the body as it comes; of a chunked one what is in the chunks."""
    if not is_chunked:
        while piece := await behind.read(65536):
            yield piece
        return
    while size := int(await behind.readline(), 16):
        yield await behind.readexactly(size)
        await behind.readexactly(2)
