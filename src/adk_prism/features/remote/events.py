"""Events as a remote server sends and stores them: cut out of its streams, in ADK's own spelling and units.

The frames of a stream are untrusted: an event that cannot be read ends the run. What must not enter a log is
removed here (`redaction.Serialiser.received`).
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

import msgspec
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.genai import types
from msgspec import Raw, Struct
from pydantic import ValidationError

from adk_prism.adk.redaction import redact_credentials
from adk_prism.adk.request import RunRequest, checked_message
from adk_prism.adk.secret_forms import REDACTED
from adk_prism.errors import SourceError, Unprocessable
from adk_prism.facts.adk_event import CONFIRMATION, CREDENTIAL, AdkEvent, read_event
from adk_prism.facts.state import repair
from adk_prism.features.captures import events as captured
from adk_prism.features.captures.streams import SseDecoder
from adk_prism.features.remote.connection import Connection
from adk_prism.log.hooks import bound_json

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
        if captured.is_bare_error(_read_fields(data)):
            return [Frame(captured.error_event(data), "error")]
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
        if not event.author and not is_failure and not captured.is_event(_read_fields(data)):
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
        if not captured.is_plain(data):
            data = captured.respell(data)
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


# ---------------------------------------------------------------------- run request
#
# The requests that run a remote agent: what is sent to a server of each kind.
#
# An answer to a request to sign in is sent with the secrets that its request had. A request for a credential
# holds the app's own secret (of an OAuth client), which logs and clients never get. google-adk 1.x expects it
# back in the answer, and without it fails to sign in, silently. So what the answer lacks is taken from the
# request as the remote's session has it, and sent to the remote alone.


ENGINE_EVENTS = ("application/json", "text/event-stream")
"""What a stream of Agent Engine calls itself, though it is one event to a line."""

_HIDING = frozenset({CONFIRMATION, CREDENTIAL})
"""Answers that ADK hides from the model, with everything else in their message."""


def messages_of(request: RunRequest) -> list[types.Content]:
    """Return what is sent, one request each. Raise `Unprocessable`.

    ADK hides a message that answers an approval from the model, results of tools and all: they go first.
    """
    responses = request.responses()
    if responses:
        hidden = [each for each in responses if each.name in _HIDING]
        shown = [each for each in responses if each.name not in _HIDING]
        return [_answers(group) for group in (shown, hidden) if group]
    if request.message is None:
        raise Unprocessable("A run of a remote app needs a message or answers.")
    message = checked_message(request.message, may_be_empty=request.may_be_empty)
    return [message]


def open_run(
    connection: Connection, request: RunRequest, message: types.Content, *, is_first: bool
) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
    """Return the request with one message, whose answer is a stream of events."""
    dialect = connection.dialect
    if dialect.is_engine:
        path = connection.remote.engine_path(stream=True)
        given = _engine_input(request, message, is_first=is_first)
        body: dict[str, Any] = {"class_method": "async_stream_query", "input": given}
        return connection.client.stream(path, body, ENGINE_EVENTS)
    body = {
        "appName": connection.app,
        "userId": request.origin.user,
        "sessionId": request.origin.session,
        "streaming": request.streaming,
        "newMessage": _dumped(message),
    }
    if request.state_delta and is_first:
        body["stateDelta"] = dict(request.state_delta)
    if request.custom_metadata and dialect.has_metadata:
        body["customMetadata"] = dict(request.custom_metadata)
    return connection.client.stream(dialect.prefix + "/run_sse", body)


def _engine_input(request: RunRequest, message: types.Content, *, is_first: bool) -> dict[str, Any]:
    """Return what Agent Engine's method takes; it passes what it does not know to the Runner."""
    given: dict[str, Any] = {
        "user_id": request.origin.user,
        "session_id": request.origin.session,
        "message": _dumped(message),
    }
    if request.streaming:
        given["run_config"] = {"streaming_mode": "sse"}
    if request.state_delta and is_first:
        given["state_delta"] = dict(request.state_delta)
    return given


def _answers(responses: Sequence[types.FunctionResponse]) -> types.Content:
    parts = [types.Part(function_response=each) for each in responses]
    return types.Content(role="user", parts=parts)


def _dumped(message: types.Content) -> Any:
    return message.model_dump(mode="json", by_alias=True, exclude_none=True)


# --------------------------------------------------------------------------- answers to sign-ins

_CONFIG = ("authConfig", "auth_config")
"""The argument of ADK's request that holds the credential."""


def requested_credentials(events: Iterable[Event]) -> dict[str, Any]:
    """Return the credentials that a session's events request, by the id of the call."""
    found: dict[str, Any] = {}
    for event in events:
        for call in event.get_function_calls():
            if call.name == CREDENTIAL and call.id:
                arguments = call.args or {}
                found[call.id] = next((arguments[key] for key in _CONFIG if key in arguments), None)
    return found


def with_secrets(message: types.Content, requested: Mapping[str, Any]) -> types.Content:
    """Return a message whose answers to sign-ins have the secrets of their requests."""
    parts = [_with_secret(part, requested) for part in message.parts or ()]
    return message.model_copy(update={"parts": parts})


def _with_secret(part: types.Part, requested: Mapping[str, Any]) -> types.Part:
    answer = part.function_response
    if answer is None or answer.name != CREDENTIAL or not isinstance(answer.response, dict):
        return part
    config = requested.get(answer.id or "")
    if not isinstance(config, dict):
        return part
    filled = _filled(answer.response, config, redact_credentials(config))
    return types.Part(function_response=answer.model_copy(update={"response": filled}))


def _filled(answer: Any, requested: Any, shown: Any) -> Any:
    """Return an answer with what the request has and was not shown; anything else is the answer's own."""
    if not isinstance(answer, dict) or not isinstance(requested, dict):
        return answer
    visible = shown if isinstance(shown, dict) else {}
    filled = {
        key: _filled(value, requested.get(key), visible.get(key))
        for key, value in answer.items()
        if value != REDACTED
    }
    hidden = {key: value for key, value in requested.items() if key not in visible}
    return hidden | filled
