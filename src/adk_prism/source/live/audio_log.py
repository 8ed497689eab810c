"""The agent's sound on its way to the log: gathered, and kept up to a bound.

A live model sends some fifty pieces of sound a second. Whoever talks to it gets each at once; the log gets
them together, as one event a second, which says of how many pieces it was made. The first of a turn is
logged alone: with it the message begins. Beyond the bound only their number and size are kept, which is what
a message's totals need.
"""

from __future__ import annotations

from collections.abc import Callable

from google.adk.events.event import Event
from google.adk.models.llm_response import LlmResponse
from msgspec import Struct, json

from adk_prism.runlog.entry import AgentEvent

EVENT_BYTES = 48_000
"""Bytes that are gathered into one event: a second of 24 kHz."""

_encode = json.Encoder().encode

NOTE = "adkPrism"
"""Key of a part's metadata that says how much sound it stands for (`facts.media`)."""


class PcmChunk(Struct, frozen=True, gc=False):
    """A piece of raw sound."""

    pcm: bytes
    media_type: str


_SAYS_MORE = (
    "partial turn_complete interrupted error_code grounding_metadata usage_metadata"
    " input_transcription output_transcription voice_activity go_away live_session_resumption_update"
).split()


def audio_in(said: LlmResponse) -> list[PcmChunk] | None:
    """Return the sound that a response or an event is; None if it is, or says, anything else."""
    content = said.content
    if content is None or not content.parts or content.role == "user":
        return None
    # Read all at once: this is asked some fifty times a second for each client.
    if any(map(said.__dict__.get, _SAYS_MORE)):
        return None
    found = []
    for part in content.parts:
        blob = part.inline_data
        if blob is None or part.text or not (blob.mime_type or "").startswith("audio/pcm"):
            return None
        found.append(PcmChunk(blob.data or b"", blob.mime_type or ""))
    return found


class AudioLog:
    """Gathers the sound of one run into events for its log."""

    def __init__(self, kept: int, serialise: Callable[[Event], bytes]) -> None:
        """`kept` is how many bytes the log keeps."""
        self._left = kept
        self._serialise = serialise
        self._first: Event | None = None
        self._pieces: list[PcmChunk] = []
        self._size = 0
        self._is_first = True
        """The next piece is the first of its turn."""

    def end_turn(self) -> None:
        """Note that what is heard next belongs to another turn."""
        self._is_first = True

    def add(
        self, speaker: str, pieces: list[PcmChunk], event: Callable[[], Event]
    ) -> list[AgentEvent]:
        """Take pieces of sound of an event, which is made if need be; return what is to be logged."""
        due = []
        if self._first is not None and not self._goes_on(speaker, pieces):
            due += self.flush()
        self._first = self._first or event()
        self._pieces += pieces
        self._size += sum(len(piece.pcm) for piece in pieces)
        if self._is_first or self._size >= EVENT_BYTES:
            due += self.flush()
        self._is_first = False
        return due

    def _goes_on(self, speaker: str, pieces: list[PcmChunk]) -> bool:
        """Tell whether a piece can be joined to what is gathered."""
        assert self._first is not None
        same = self._pieces[0].media_type == pieces[0].media_type
        return same and self._first.author == speaker

    def flush(self) -> list[AgentEvent]:
        """Return what is gathered as one event; none if nothing is."""
        event, pieces, size = self._first, self._pieces, self._size
        if event is None:
            return []
        self._first, self._pieces, self._size = None, [], 0
        kept = size <= self._left
        if kept:
            self._left -= size
        part = _part(pieces, size, kept=kept)
        rest = self._serialise(event.model_copy(update={"content": None}))
        whole = b'{"content":{"parts":[%b],"role":"model"},%b' % (part, rest[1:])
        return [AgentEvent(whole)]


def _part(pieces: list[PcmChunk], size: int, *, kept: bool) -> bytes:
    """Return sound as a part's JSON, as ADK writes it: Base64 for URLs."""
    pcm = b"".join(piece.pcm for piece in pieces) if kept else b""
    data = _encode(pcm).replace(b"+", b"-").replace(b"/", b"_")
    inline = b'"inlineData":{"data":%b,"mimeType":%b}' % (data, _encode(pieces[0].media_type))
    if len(pieces) == 1 and kept:
        return b"{%b}" % inline
    noted = _encode({NOTE: {"chunks": len(pieces), "bytes": size}})
    return b'{%b,"partMetadata":%b}' % (inline, noted)
