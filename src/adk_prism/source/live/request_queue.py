"""What goes up to the model of a live run: ADK's request queue, with a bound.

ADK's own queue grows without end while a model is slow, and one bad message in it kills its reader
silently (google-adk 2.13). So it is filled only here, with what has been checked, and sound for which
there is no room is dropped: it would be late anyway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import lru_cache
from typing import cast

from google.adk.agents.live_request_queue import LiveRequest, LiveRequestQueue
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.genai import types

from adk_prism.source.live.audio_bypass import DIRECT_CONNECTION
from adk_prism.source.live.eager_task import EagerTask, StartedWork

MAX_WAITING = 250
"""Requests: five seconds of sound in pieces of 20 ms."""

KINDS = 16
"""Media types of which a blob is kept to be copied: a client sends one or two."""

_Waiting = LiveRequest | types.Blob | StartedWork

_START = LiveRequest(activity_start=types.ActivityStart())
_END = LiveRequest(activity_end=types.ActivityEnd())


class RequestQueue(LiveRequestQueue):
    """The queue of one live run."""

    def __init__(self, is_cancelled: Callable[[str], bool]) -> None:
        """`is_cancelled` tells of a call whether its answer is no longer wanted."""
        super().__init__()
        self._is_cancelled = is_cancelled
        self._waiting = cast("asyncio.Queue[_Waiting]", self._queue)
        self._idle: tuple[EagerTask, BaseLlmConnection] | None = None
        """ADK's sender while it waits, and to which connection it sends."""

    def send_content(self, content: types.Content, partial: bool = False) -> None:
        """Put content; ADK puts the answers of tools here, of which a withdrawn call gets none."""
        parts = [part for part in content.parts or () if not self._is_unwanted(part)]
        if parts:
            wanted = content.model_copy(update={"parts": parts})
            self.send(LiveRequest(content=wanted, partial=partial))

    def _is_unwanted(self, part: types.Part) -> bool:
        answer = part.function_response
        return answer is not None and self._is_cancelled(answer.id or "")

    def close(self) -> None:
        """End the run when all before has been sent; repeating it changes nothing."""
        if not self.closed:
            self.send(LiveRequest(close=True))

    async def get(self) -> LiveRequest:
        """Give the next request to ADK's sender; sound may be sent here, in its place (`audio_bypass`)."""
        connection, me = DIRECT_CONNECTION.get(), EagerTask()
        while not isinstance(request := await self._next(connection, me), LiveRequest):
            if isinstance(request, StartedWork):
                await request.finish()
            elif connection is None:
                return LiveRequest(blob=request)
            else:
                await connection.send_realtime(request)
        return request

    async def _next(self, connection: BaseLlmConnection | None, me: EagerTask) -> _Waiting:
        self._idle = None if connection is None else (me, connection)
        try:
            return await self._waiting.get()
        finally:
            self._idle = None

    def hear(self, pcm: bytes, media_type: str) -> bool:
        """Put a piece of sound; tell whether there was room."""
        waiting = self._waiting.qsize()
        if waiting >= MAX_WAITING:
            return False
        # A copy of one that was checked costs a third of a new one.
        piece = _blob(media_type).model_copy(update={"data": pcm})
        if waiting or self._idle is None:
            self._waiting.put_nowait(piece)
            return True
        sender, connection = self._idle
        begun = sender.begin(_tell(connection, piece))
        if begun is not None:
            self._waiting.put_nowait(begun)
        return True

    def begin_activity(self) -> None:
        """Say that the person begins to speak."""
        self.send(_START)

    def end_activity(self) -> None:
        """Say that the person has spoken."""
        self.send(_END)

    def end_sound(self) -> None:
        """Say that no more sound comes for now."""
        self.send(LiveRequest(audio_stream_end=True))


async def _tell(connection: BaseLlmConnection, piece: types.Blob) -> None:
    await connection.send_realtime(piece)


@lru_cache(KINDS)
def _blob(media_type: str) -> types.Blob:
    return types.Blob(data=b"", mime_type=media_type)
