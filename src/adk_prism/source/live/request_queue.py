"""ADK's request queue of one live run, with a limit for audio.

ADK's own queue grows without limit while a model is slow, and one invalid message in it ends ADK's sender
silently (google-adk 2.13). So only checked requests are put here, and audio is dropped while the queue is
full: it would arrive too late anyway.

Every method of ADK's class is overridden, so that nothing depends on its private queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import lru_cache

from google.adk.agents.live_request_queue import LiveRequest, LiveRequestQueue
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.genai import types

from adk_prism.source.adk.live_eager_task import EagerTask, StartedWork
from adk_prism.source.live.audio_bypass import DIRECT_CONNECTION
from adk_prism.source.live.model_calls import LiveCalls

MAX_WAITING = 250
"""Requests: five seconds of audio in chunks of 20 ms."""

_MAX_MEDIA_TYPES = 16
"""Media types of which a Blob is cached: a client sends one or two."""

_Waiting = LiveRequest | types.Blob | StartedWork


class RequestQueue(LiveRequestQueue):
    """The queue of one live run."""

    def __init__(self, is_cancelled: Callable[[str], bool]) -> None:
        """`is_cancelled` returns whether the model has cancelled a call: its response is not sent."""
        super().__init__()
        self.calls: LiveCalls | None = None
        """Is told what is sent."""
        self._is_cancelled = is_cancelled
        self._waiting: asyncio.Queue[_Waiting] = asyncio.Queue()
        self._is_closed = False
        self._idle: tuple[EagerTask, BaseLlmConnection] | None = None
        """ADK's sender while it waits, and the connection that it sends to; only with the audio bypass."""

    @property
    def closed(self) -> bool:
        """Whether the run was asked to end."""
        return self._is_closed

    def close(self) -> None:
        """End the run when everything before has been sent; repeating it changes nothing."""
        if not self._is_closed:
            self.send(LiveRequest(close=True))

    def send(self, req: LiveRequest) -> None:
        """Put a request."""
        self._is_closed = self._is_closed or req.close
        self._waiting.put_nowait(req)

    def send_content(self, content: types.Content, partial: bool = False) -> None:
        """Put content. ADK puts tool responses here; those of cancelled calls are left out."""
        parts = [part for part in content.parts or () if not self._is_unwanted(part)]
        if parts:
            wanted = content.model_copy(update={"parts": parts})
            self.send(LiveRequest(content=wanted, partial=partial))

    def _is_unwanted(self, part: types.Part) -> bool:
        response = part.function_response
        return response is not None and self._is_cancelled(response.id or "")

    def send_realtime(self, blob: types.Blob) -> None:
        """Put audio or an image."""
        self.send(LiveRequest(blob=blob))

    def send_activity_start(self) -> None:
        """Signal that the person starts to speak."""
        self.send(LiveRequest(activity_start=types.ActivityStart()))

    def send_activity_end(self) -> None:
        """Signal that the person has spoken."""
        self.send(LiveRequest(activity_end=types.ActivityEnd()))

    def send_audio_stream_end(self) -> None:
        """Signal that no more audio comes for now."""
        self.send(LiveRequest(audio_stream_end=True))

    def send_audio(self, pcm: bytes, media_type: str) -> bool:
        """Put a chunk of audio, or an image; return whether there was room."""
        waiting = self._waiting.qsize()
        if waiting >= MAX_WAITING:
            return False
        if self.calls is not None:
            self.calls.hear(media_type)
        # Copying a validated Blob costs a third of making one.
        blob = _blob(media_type).model_copy(update={"data": pcm})
        if waiting or self._idle is None:
            self._waiting.put_nowait(blob)
            return True
        sender, connection = self._idle
        left = sender.start(_send(connection, blob))
        if left is not None:
            self._waiting.put_nowait(left)
        return True

    async def get(self) -> LiveRequest:
        """Give the next request to ADK's sender. With the audio bypass, audio is sent here instead."""
        request = await self._next()
        if self.calls is not None:
            self.calls.send(request)
        return request

    async def _next(self) -> LiveRequest:
        connection = DIRECT_CONNECTION.get()
        if connection is not None:
            return await self._send_audio_until_request(connection)
        request = await self._waiting.get()
        if isinstance(request, StartedWork):  # of a connection that has been closed since
            await request.finish()
            return await self._next()
        return LiveRequest(blob=request) if isinstance(request, types.Blob) else request

    async def _send_audio_until_request(self, connection: BaseLlmConnection) -> LiveRequest:
        sender = EagerTask()
        while True:
            self._idle = (sender, connection)
            try:
                request = await self._waiting.get()
            finally:
                self._idle = None
            if isinstance(request, LiveRequest):
                return request
            if isinstance(request, StartedWork):
                await request.finish()
            else:
                await connection.send_realtime(request)


async def _send(connection: BaseLlmConnection, blob: types.Blob) -> None:
    await connection.send_realtime(blob)


@lru_cache(_MAX_MEDIA_TYPES)
def _blob(media_type: str) -> types.Blob:
    return types.Blob(data=b"", mime_type=media_type)
