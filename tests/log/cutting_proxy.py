"""A TCP proxy to a Redis that is not as it should be: cuts an answer off, is slow, or of another version."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType


class CuttingProxy:
    """Passes bytes on, until it is told to cut."""

    def __init__(
        self, port: int, *, delay: float = 0.0, instead: tuple[bytes, bytes] = (b"", b"")
    ) -> None:
        """Answers come after a `delay`, with one text `instead` of another that is as long."""
        self._target = port
        self._delay = delay
        self._instead = instead
        self._armed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self.cuts = 0
        self.port = 0

    def cut_next_answer(self) -> None:
        """Cut the next connection that a script's answer comes on."""
        self._armed = True

    async def __aenter__(self) -> CuttingProxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        asked: list[bytes] = []
        up = asyncio.create_task(self._up(reader, far_writer, asked))
        try:
            while data := await far_reader.read(65536):
                if self._armed and asked and b"EVALSHA" in asked[-1]:
                    self._armed = False
                    self.cuts += 1
                    break
                await asyncio.sleep(self._delay)
                writer.write(data.replace(*self._instead) if self._instead[0] else data)
                await writer.drain()
        finally:
            up.cancel()
            for stream in (writer, far_writer):
                stream.close()
                with suppress(OSError):
                    await stream.wait_closed()
            self._tasks.discard(task)

    async def _up(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: list[bytes]
    ) -> None:
        while data := await reader.read(65536):
            asked.append(data)
            writer.write(data)
            await writer.drain()
        writer.close()
