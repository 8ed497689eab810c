"""The agent's sound on its way to the log: gathered, and kept up to a bound.

A live model sends some fifty pieces of sound a second. Whoever talks to it gets each at once; the log gets
them together, as the parts of one event a second, each piece still a part of its own. The first of a turn
is logged alone: with it the message begins. Beyond the bound only their number and size are kept, which is
what a message's totals need.
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

UNKEPT = "adkPrism"
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
        if self._first is not None and self._first.author != event.author:
            whole = self.flush()
        self._first = self._first or event
        self._pieces += pieces
        self._size += sum(len(piece.pcm) for piece in pieces)
        is_due = self._is_first or self._size >= GATHERED
        self._is_first = False
        return whole or (self.flush() if is_due else None)

    def flush(self) -> bytes | None:
        """Return what is gathered as one event's JSON; None if nothing is."""
        event, pieces, size = self._first, self._pieces, self._size
        if event is None:
            return None
        self._first, self._pieces, self._size = None, [], 0
        kept = size <= self._left
        if kept:
            self._left -= size
        parts = list(map(_kept, pieces)) if kept else [_unkept(pieces, size)]
        content = _encode({"parts": parts, "role": "model"})
        # ADK's types would cost thirty times as much for a piece as the piece itself.
        rest = self._serialise(event.model_copy(update={"content": None}))
        return b'{"content":' + content + b"," + rest[1:]


def _kept(piece: Sound) -> dict[str, Any]:
    # As ADK writes it: base64 for URLs.
    data = urlsafe_b64encode(piece.pcm).decode()
    return {"inlineData": {"data": data, "mimeType": piece.media_type}}


def _unkept(pieces: list[Sound], size: int) -> dict[str, Any]:
    told = {"chunks": len(pieces), "bytes": size}
    return {
        "inlineData": {"data": "", "mimeType": pieces[0].media_type},
        "partMetadata": {UNKEPT: told},
    }
