"""What goes up to the model of a live run: ADK's request queue, with a bound.

ADK's own queue grows without end while a model is slow, and one bad message in it kills its reader
silently (google-adk 2.13). So it is filled only here, with what has been checked, and sound for which
there is no room is dropped: it would be late anyway.
"""

from __future__ import annotations

from google.adk.agents.live_request_queue import LiveRequest, LiveRequestQueue
from google.genai import types

MOST_WAITING = 250
"""Requests: five seconds of sound in pieces of 20 ms."""

_START = LiveRequest(activity_start=types.ActivityStart())
_END = LiveRequest(activity_end=types.ActivityEnd())


class Inbox(LiveRequestQueue):
    """The queue of one live run."""

    def __init__(self) -> None:
        super().__init__()
        self._sent = 0
        self._taken = 0

    def send(self, req: LiveRequest) -> None:
        """Put a request."""
        self._sent += 1
        super().send(req)

    def send_content(self, content: types.Content, partial: bool = False) -> None:
        """Put content; ADK puts the answers of tools here."""
        self.send(LiveRequest(content=content, partial=partial))

    def close(self) -> None:
        """End the run when all before has been sent; repeating it changes nothing."""
        if not self.closed:
            self.send(LiveRequest(close=True))

    async def get(self) -> LiveRequest:
        """Give the next request to ADK."""
        request = await super().get()
        self._taken += 1
        return request

    def hear(self, pcm: bytes, media_type: str) -> bool:
        """Put a piece of sound; tell whether there was room."""
        if self._sent - self._taken >= MOST_WAITING:
            return False
        self.send(LiveRequest(blob=types.Blob(data=pcm, mime_type=media_type)))
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
