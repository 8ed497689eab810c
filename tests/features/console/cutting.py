"""A way to a server that breaks: every connection is cut after so many bytes of the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class Cutter:
    """Passes connections on to a port, and cuts them."""

    def __init__(self, port: int, after: int) -> None:
        self._port = port
        self._after = after
        self.cuts = 0
        """How many connections were cut."""
        self.open: set[asyncio.Task[None]] = set()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass one connection on, until the answer is long enough to be cut."""
        task = asyncio.current_task()
        assert task is not None
        self.open.add(task)
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        up = asyncio.create_task(_pour(reader, back))
        try:
            left = self._after
            while left > 0 and (piece := await there.read(min(left, 4096))):
                writer.write(piece)
                await writer.drain()
                left -= len(piece)
            self.cuts += left <= 0
        finally:
            self.open.discard(task)
            up.cancel()
            for each in (writer, back):
                each.transport.abort()


async def _pour(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while piece := await source.read(4096):
            target.write(piece)
            await target.drain()


@asynccontextmanager
async def cutting(port: int, after: int) -> AsyncIterator[tuple[str, Cutter]]:
    """Serve a breaking way to a port; yield its address."""
    cutter = Cutter(port, after)
    async with await asyncio.start_server(cutter.take, "127.0.0.1", 0) as server:
        found = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{found}", cutter
        for task in cutter.open:
            task.cancel()
        await asyncio.gather(*cutter.open, return_exceptions=True)
