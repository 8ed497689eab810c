"""Events as a remote server sends and stores them, in ADK's own spelling and units.

The frames of a stream are untrusted: an event that cannot be read ends the run. What must not enter a log is
removed here (`redaction.Serialiser.received`).
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from msgspec import Raw, Struct
from pydantic import ValidationError

from adk_prism.errors import SourceError
from adk_prism.facts.adk_event import AdkEvent, read_event
from adk_prism.facts.strict_json import repair
from adk_prism.runlog.json_bounds import bound_json
from adk_prism.source.key_case import is_event, is_plain, respell
from adk_prism.source.remote.frames import Frame

MILLISECONDS = 1e11
"""A time above this is in milliseconds: in seconds it would be three thousand years away."""

_UNSOUND = tuple(re.compile(word).search for word in (rb"NaN", rb"Infinity", rb"\\u[dD][89a-fA-F]"))
_read_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_ACTIONS = frozenset(
    name for key, field in EventActions.model_fields.items() for name in (key, field.alias) if name
)


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
