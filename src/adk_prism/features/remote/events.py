"""Events as a remote server sends and stores them: cut out of its streams, in ADK's own spelling and units.

The frames of a stream are untrusted: an event that cannot be read ends the run. What must not enter a log is
removed here (`redaction.Serialiser.received`).
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from msgspec import Raw, Struct
from pydantic import ValidationError

from adk_prism.adk.key_case import error_event, is_bare_error, is_event, is_plain, respell
from adk_prism.errors import SourceError
from adk_prism.facts.adk_event import AdkEvent, read_event
from adk_prism.facts.state import repair
from adk_prism.log.hooks import bound_json
from adk_prism.protocols.sse import SseDecoder

MILLISECONDS = 1e11
"""A time above this is in milliseconds: in seconds it would be three thousand years away."""

_UNSOUND = tuple(re.compile(word).search for word in (rb"NaN", rb"Infinity", rb"\\u[dD][89a-fA-F]"))
_read_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_ACTIONS = frozenset(
    name for key, field in EventActions.model_fields.items() for name in (key, field.alias) if name
)


class Frame(NamedTuple):
    """One event of a stream."""

    data: bytes
    name: str = "message"


_FIELDS = (b":", b"data", b"event", b"id", b"retry")
_HEAD = 8
"""Bytes of a line that show which field it is; a byte order mark is not counted."""


class Frames:
    """Reads the frames of one stream of Server-Sent Events."""

    def __init__(self, most_bytes: int) -> None:
        """Of one frame."""
        self._decoder = SseDecoder(most_bytes)
        self._head = b""
        """First bytes of a line that is not complete."""
        self._has_data = False
        """Whether there is data that no blank line has completed."""
        self._after_cr = False
        self.has_other = False
        """Whether there was something that is no event: a page of HTML, or an event that was cut off."""

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the frames that a chunk completes. Raise `SourceError` for one that is too large."""
        for line in chunk.splitlines(keepends=True):
            self._note(line)
        return [Frame(each.data.encode(), each.event) for each in self._decoder.feed(chunk)]

    def finish(self) -> list[Frame]:
        """Return nothing: the standard drops a frame that the end of the stream cuts off."""
        self._note(b"\n" if self._head else b"")
        self.has_other = self.has_other or self._has_data
        return []

    def _note(self, line: bytes) -> None:
        """Note what a line is, of which only the beginning counts."""
        if line == b"\n" and self._after_cr:  # the second half of a line end that a chunk cut
            self._after_cr = False
            return
        self._after_cr = line.endswith(b"\r")
        self._head = (self._head + line[:_HEAD])[:_HEAD].removeprefix(b"\xef\xbb\xbf")
        if not line.endswith((b"\r", b"\n")):
            return
        head, self._head = self._head.rstrip(b"\r\n"), b""
        if not head:
            self._has_data = False
        elif head.startswith(b"data"):
            self._has_data = True
        elif not head.startswith(_FIELDS):
            self.has_other = True


_FIELD = b"data:"
_OTHER_FIELDS = (b":", b"event:", b"id:", b"retry:")


class Lines:
    """Reads the events of one stream of Agent Engine: one to a line, as JSON or as Server-Sent Events."""

    def __init__(self, most_bytes: int) -> None:
        """Of one line."""
        self._most = most_bytes
        self._pieces: list[bytes] = []
        self._size = 0
        self.has_other = False
        """Never: a line that is no event fails."""

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the events that a chunk completes. Raise `SourceError` for one that is too large."""
        *lines, rest = chunk.split(b"\n")
        frames = []
        for line in lines:
            self._grow(line)
            frames += _frame(b"".join(self._pieces).strip())
            self._pieces, self._size = [], 0
        self._grow(rest)
        return frames

    def finish(self) -> list[Frame]:
        """Return the event of a last line without an end."""
        return _frame(b"".join(self._pieces).strip())

    def _grow(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._most:
            raise SourceError(f"An event of the stream is larger than {self._most} bytes.")
        if piece:
            self._pieces.append(piece)


def _frame(line: bytes) -> list[Frame]:
    if not line or line.startswith(_OTHER_FIELDS):
        return []
    data = line.removeprefix(_FIELD).strip()
    try:
        if is_bare_error(_read_fields(data)):
            return [Frame(error_event(data), "error")]
    except (msgspec.MsgspecError, RecursionError):
        pass  # Not an event either, which whoever reads it says.
    return [Frame(data)]


class Received(Struct, frozen=True):
    """One frame of a run."""

    data: bytes
    """The event, in ADK's spelling."""
    event: AdkEvent
    is_failure: bool = False
    """The run failed, and this says why; it is not an event of an agent."""


def read_frame(frame: Frame) -> Received:
    """Read a frame. Raise `SourceError` for one that is not an ADK event."""
    data = spelled(_quoted_error(frame.data))
    try:
        event = read_event(data)
        is_failure = not event.author and (frame.name == "error" or bool(event.error_code))
        if not event.author and not is_failure and not is_event(_read_fields(data)):
            raise SourceError("The remote sent something that is not an ADK event.")
    except (msgspec.MsgspecError, RecursionError):
        raise SourceError("The remote sent something that is not an ADK event.") from None
    return Received(data, event, is_failure)


_RAW_ERROR = re.compile(rb'\s*\{\s*"error"\s*:\s*"(.*)"\s*\}\s*', re.S)


def _quoted_error(data: bytes) -> bytes:
    """Return an error as JSON: google-adk up to 1.16 wrote its text as it is, quotation marks and all."""
    found = _RAW_ERROR.fullmatch(data)
    if found is None:
        return data
    try:
        _read_fields(data)
    except (msgspec.MsgspecError, RecursionError):
        return msgspec.json.encode({"error": found[1].decode(errors="replace")})
    return data


def spelled(data: bytes) -> bytes:
    """Return an event in ADK's spelling, its time in seconds. Raise `SourceError`."""
    data = bound_json(data)
    try:
        if any(found(data) for found in _UNSOUND):
            data = repair(data)
        if not is_plain(data):
            data = respell(data)
        return _in_seconds(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise SourceError("The remote sent something that is not JSON of an ADK event.") from None


_MANY_DIGITS = re.compile(rb'"timestamp"\s*:\s*\d{12}')


def _in_seconds(data: bytes) -> bytes:
    if _MANY_DIGITS.search(data) is None:
        return data
    fields = _read_fields(data)
    time = msgspec.json.decode(fields.get("timestamp", b"0"))
    if not isinstance(time, int | float) or time < MILLISECONDS:
        return data
    fields["timestamp"] = Raw(msgspec.json.encode(time / 1000))
    return msgspec.json.encode(fields)


def stored_event(data: bytes) -> Event:
    """Return an event of a remote session as ADK's own type. Raise `SourceError`.

    Actions that this ADK does not know are left out: its type refuses them.
    """
    try:
        return Event.model_validate_json(_with_known_actions(spelled(data)))
    except (ValidationError, AttributeError, msgspec.MsgspecError, RecursionError):
        raise SourceError("An event of the remote session cannot be read.") from None


def _with_known_actions(data: bytes) -> bytes:
    fields = _read_fields(data)
    actions: dict[str, Any] = (
        _read_fields(fields["actions"]) if bytes(fields.get("actions", b""))[:1] == b"{" else {}
    )
    if actions.keys() <= _ACTIONS:
        return data
    known = {key: value for key, value in actions.items() if key in _ACTIONS}
    fields["actions"] = Raw(msgspec.json.encode(known))
    return msgspec.json.encode(fields)
