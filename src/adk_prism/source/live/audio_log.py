"""The agent's audio on its way to the log: joined into larger events, and kept up to a limit.

A live model sends about fifty chunks of audio a second. The client gets each at once; the log gets them
joined, one event a second, which says how many chunks it holds. The first chunk of a turn is logged alone,
because the message starts with it. Beyond the limit only number and size are kept, which is what a
message's totals need.
"""

from __future__ import annotations

from collections.abc import Callable

from google.adk.events.event import Event
from google.adk.models.llm_response import LlmResponse
from msgspec import Struct, json

from adk_prism.runlog.entry import AgentEvent

EVENT_BYTES = 48_000
"""Bytes that are joined into one event: a second at 24 kHz."""

_encode = json.Encoder().encode

NOTE = "adkPrism"
"""Key of a part's metadata that says how much audio it represents (`facts.media`)."""


class PcmChunk(Struct, frozen=True, gc=False):
    """A chunk of raw audio: 16 bits, one channel."""

    pcm: bytes
    media_type: str


_OTHER_FIELDS = (
    "partial turn_complete interrupted error_code grounding_metadata usage_metadata"
    " input_transcription output_transcription voice_activity go_away live_session_resumption_update"
).split()


def audio_in(response: LlmResponse) -> list[PcmChunk] | None:
    """Return the audio of a response or an event that has nothing else; None for any other."""
    content = response.content
    if content is None or not content.parts or content.role == "user":
        return None
    # All in one pass: this runs about fifty times a second for each client.
    if any(map(response.__dict__.get, _OTHER_FIELDS)):
        return None
    found = []
    for part in content.parts:
        blob = part.inline_data
        if blob is None or part.text or not (blob.mime_type or "").startswith("audio/pcm"):
            return None
        found.append(PcmChunk(blob.data or b"", blob.mime_type or ""))
    return found


class AudioLog:
    """Joins the audio of one run into events for its log."""

    def __init__(self, limit: int, serialise: Callable[[Event], bytes]) -> None:
        """`limit` is how many bytes the log keeps."""
        self._left = limit
        self._serialise = serialise
        self._first: Event | None = None
        self._chunks: list[PcmChunk] = []
        self._size = 0
        self._is_first = True
        """The next chunk is the first of its turn."""

    def end_turn(self) -> None:
        """Note that the next chunk belongs to another turn."""
        self._is_first = True

    def add(
        self, author: str, chunks: list[PcmChunk], event: Callable[[], Event]
    ) -> list[AgentEvent]:
        """Take the chunks of an event, which is made only if needed; return what is to be logged now."""
        due = []
        if self._first is not None and not self._fits(author, chunks):
            due += self.flush()
        self._first = self._first or event()
        self._chunks += chunks
        self._size += sum(len(chunk.pcm) for chunk in chunks)
        if self._is_first or self._size >= EVENT_BYTES:
            due += self.flush()
        self._is_first = False
        return due

    def _fits(self, author: str, chunks: list[PcmChunk]) -> bool:
        """Return whether chunks can be joined to those before."""
        assert self._first is not None
        same = self._chunks[0].media_type == chunks[0].media_type
        return same and self._first.author == author

    def flush(self) -> list[AgentEvent]:
        """Return the chunks since the last event as one event; none if there are none."""
        event, chunks, size = self._first, self._chunks, self._size
        if event is None:
            return []
        self._first, self._chunks, self._size = None, [], 0
        kept = size <= self._left
        if kept:
            self._left -= size
        part = _part(chunks, size, kept=kept)
        rest = self._serialise(event.model_copy(update={"content": None}))
        whole = b'{"content":{"parts":[%b],"role":"model"},%b' % (part, rest[1:])
        return [AgentEvent(whole)]


def _part(chunks: list[PcmChunk], size: int, *, kept: bool) -> bytes:
    """Return audio as a part's JSON, as ADK writes it: URL-safe Base64."""
    pcm = b"".join(chunk.pcm for chunk in chunks) if kept else b""
    data = _encode(pcm).replace(b"+", b"-").replace(b"/", b"_")
    inline = b'"inlineData":{"data":%b,"mimeType":%b}' % (data, _encode(chunks[0].media_type))
    if len(chunks) == 1 and kept:
        return b"{%b}" % inline
    noted = _encode({NOTE: {"chunks": len(chunks), "bytes": size}})
    return b'{%b,"partMetadata":%b}' % (inline, noted)
