"""The agent's sound on its way to the log: gathered, and kept up to a bound.

A live model sends some fifty pieces of sound a second. Whoever talks to it gets each at once; the log gets
them together, as one event a second, which says of how many pieces it was made. The first of a turn is
logged alone: with it the message begins. Beyond the bound only their number and size are kept, which is what
a message's totals need.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

from google.adk.events.event import Event
from msgspec import Struct, json

GATHERED = 48_000
"""Bytes that are gathered into one event: a second of 24 kHz."""

_encode = json.Encoder().encode

NOTE = "adkPrism"
"""Key of a part's metadata that says how much sound it stands for (`facts.media`)."""


class Sound(Struct, frozen=True, gc=False):
    """A piece of raw sound."""

    pcm: bytes
    media_type: str


def sound_of(event: Event) -> list[Sound] | None:
    """Return the sound that an event is; None if it is, or says, anything else."""
    content = event.content
    if content is None or not content.parts or event.interrupted or event.turn_complete:
        return None
    if event.partial or event.error_code or event.grounding_metadata or event.usage_metadata:
        return None
    found = []
    for part in content.parts:
        blob = part.inline_data
        if blob is None or part.text or not (blob.mime_type or "").startswith("audio/pcm"):
            return None
        found.append(Sound(blob.data or b"", blob.mime_type or ""))
    return found


class SoundLog:
    """Gathers the sound of one run into events for its log."""

    def __init__(self, kept: int, serialise: Callable[[Event], bytes]) -> None:
        """`kept` is how many bytes the log keeps."""
        self._left = kept
        self._serialise = serialise
        self._first: Event | None = None
        self._pieces: list[Sound] = []
        self._size = 0
        self._is_first = True
        """The next piece is the first of its turn."""

    def end_turn(self) -> None:
        """Note that what is heard next belongs to another turn."""
        self._is_first = True

    def add(self, event: Event, pieces: list[Sound]) -> bytes | None:
        """Take pieces of sound; return an event's JSON once enough is gathered."""
        whole = None
        if self._first is not None and not self._goes_on(event, pieces):
            whole = self.flush()
        self._first = self._first or event
        self._pieces += pieces
        self._size += sum(len(piece.pcm) for piece in pieces)
        is_due = self._is_first or self._size >= GATHERED
        self._is_first = False
        return whole or (self.flush() if is_due else None)

    def _goes_on(self, event: Event, pieces: list[Sound]) -> bool:
        """Tell whether a piece can be joined to what is gathered."""
        assert self._first is not None
        same = self._pieces[0].media_type == pieces[0].media_type
        return same and self._first.author == event.author

    def flush(self) -> bytes | None:
        """Return what is gathered as one event's JSON; None if nothing is."""
        event, pieces, size = self._first, self._pieces, self._size
        if event is None:
            return None
        self._first, self._pieces, self._size = None, [], 0
        kept = size <= self._left
        if kept:
            self._left -= size
        part = _part(pieces, size, kept=kept)
        content = _encode({"parts": [part], "role": "model"})
        rest = self._serialise(event.model_copy(update={"content": None}))
        return b'{"content":' + content + b"," + rest[1:]


def _part(pieces: list[Sound], size: int, *, kept: bool) -> dict[str, Any]:
    # As ADK writes it: base64 for URLs.
    data = urlsafe_b64encode(b"".join(piece.pcm for piece in pieces)).decode() if kept else ""
    part: dict[str, Any] = {"inlineData": {"data": data, "mimeType": pieces[0].media_type}}
    if len(pieces) > 1 or not kept:
        part["partMetadata"] = {NOTE: {"chunks": len(pieces), "bytes": size}}
    return part
