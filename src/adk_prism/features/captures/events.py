"""Events as other tools write them, normalised to ADK's own JSON, and the run that a file of them is.

Accepts snake_case or camelCase keys, `function_calls` and `function_responses` lists (or single objects)
beside or instead of `parts`, content as a plain string, null fields, a missing timestamp or one in ISO
format or in milliseconds, and the error objects that servers send instead of an event. Follows the wire
form of google-adk 2.13 (`Event`, `EventActions`, `Content`); ADK's servers in other languages and Agent
Engine differ from it as listed in `docs/guides/captures.md`.

Only ADK's own keys at ADK's own places are renamed. What belongs to users (arguments, results, state,
metadata) is not even decoded: its bytes stay as they are.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Raw

from adk_prism.errors import SourceError
from adk_prism.facts.adk_event import AdkEvent, read_event
from adk_prism.facts.state import read_stored, repair
from adk_prism.features.captures.file_forms import Item
from adk_prism.log import entry as records

Fields = dict[str, Raw]
Rule = Callable[[Raw], Raw]
Shape = Mapping[str, Rule | None]
"""An object of ADK's: its keys, and how the values below them are respelled; None leaves them."""

_encode = msgspec.json.encode
read_keys = msgspec.json.Decoder(dict[str, Raw]).decode
_read_list = msgspec.json.Decoder(list[Raw]).decode


_UNSOUND = re.compile(rb"NaN|Infinity|\\u[dD][89a-fA-F]")

LATEST = 1e11
"""Seconds since 1970: three thousand years. A larger number counts milliseconds, as it does in the
TypeScript, Java and Kotlin ADK: in milliseconds this is a day of 1973."""

_LONGEST_TEXT = 10_000
"""Characters of an error that is no JSON: a page of HTML says no more."""

_NULL = b"null"
_ODD = tuple(
    re.compile(pattern).search
    for pattern in (
        rb'_[a-z0-9]+"\s*:',
        rb":\s*null",
        rb'"content"\s*:\s*["\[]',
        rb'"parts"\s*:\s*[{"]',
        rb'"function(?:Calls|Responses)"',
        rb'"timestamp"\s*:\s*(?:["-]|\d{12}|[\d.]+[eE])',
        rb'"error"\s*:',
    )
)
"""Whatever this module changes. A false match, such as a tool's own snake_case key, only costs time. Each
begins with something that is found quickly: one pattern of them all takes three times as long."""


def is_plain(event: bytes) -> bool:
    """Return whether an event is spelled as ADK spells it; fast, for long files of text deltas."""
    return not any(found(event) for found in _ODD)


def respell(event: bytes) -> bytes:
    """Return an event in ADK's spelling. Raise `msgspec.MsgspecError` if it is not an object."""
    fields = _renamed(read_keys(event), _EVENT)
    _take_error(fields)
    if "timestamp" in fields:
        _set(fields, "timestamp", _number_of(fields["timestamp"]))
    return _encode(fields)


def is_event(fields: Mapping[str, Any]) -> bool:
    """Return whether an object has any key of an ADK event, in either spelling."""
    return any(_camel(key) in _EVENT for key in fields) or "error" in fields


def error_event(value: bytes) -> bytes:
    """Return what a server says about its own failure, text or JSON, as an event with an error."""
    try:
        fields = read_keys(value)
    except (msgspec.MsgspecError, RecursionError):
        return respell(_encode({"error": value.decode()[:_LONGEST_TEXT]}))
    return respell(value if is_event(fields) else _encode({"error": fields}))


def is_bare_error(fields: Mapping[str, Any]) -> bool:
    """Return whether an object is only an API's error, as Agent Engine sends: `{"code", "message"}`."""
    return "message" in fields and not fields.keys() - _API_ERROR


# ------------------------------------------------------------------------------ how


def _camel(key: str) -> str:
    head, *rest = key.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest)


def _renamed(fields: Fields, shape: Shape) -> Fields:
    """Rename the keys that the shape knows and respell what is below; leave out nulls among them."""
    out: Fields = {}
    for key, value in fields.items():
        name = key if key in shape else _camel(key)
        if name not in shape or (name != key and name in fields):
            out[key] = value
        elif bytes(value) != _NULL:
            rule = shape[name]
            out[name] = rule(value) if rule else value
    return out


def _object(shape: Shape) -> Rule:
    """Return the rule for an object of this shape; another kind of value is left alone."""

    def respelled(value: Raw) -> Raw:
        return Raw(_encode(_renamed(read_keys(value), shape))) if _is(value, b"{") else value

    return respelled


def _list_of(rule: Rule) -> Rule:
    def respelled(value: Raw) -> Raw:
        return Raw(_encode([rule(item) for item in _items(value)]))

    return respelled


def _map_of(rule: Rule) -> Rule:
    """Return the rule for an object whose keys are not ADK's, such as call ids."""

    def respelled(value: Raw) -> Raw:
        if not _is(value, b"{"):
            return value
        return Raw(_encode({key: rule(item) for key, item in read_keys(value).items()}))

    return respelled


def _everything(value: Raw) -> Raw:
    """Respell every key below: for values without keys of the user."""
    return Raw(_encode(_all_camel(read_stored(value))))


def _all_camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {_camel(key): _all_camel(item) for key, item in value.items() if item is not None}
    return [_all_camel(item) for item in value] if isinstance(value, list) else value


def _is(value: Raw, first: bytes) -> bool:
    return bytes(value).lstrip()[:1] == first


def _items(value: Raw) -> list[Raw]:
    """Return the members of a list; a single value is a list of one."""
    return _read_list(value) if _is(value, b"[") else [value]


def _set(fields: Fields, key: str, value: Any) -> None:
    """Set a field; None removes it."""
    if value is None:
        fields.pop(key, None)
    else:
        fields[key] = value if isinstance(value, Raw) else Raw(_encode(value))


# ------------------------------------------------------------------------------ odd values


def _content(value: Raw) -> Raw:
    if not _is(value, b"{"):
        return Raw(_encode({"parts": [_part(item) for item in _items(value)]}))
    fields = _renamed(read_keys(value), _CONTENT)
    parts = [_part(item) for item in _items(fields["parts"])] if "parts" in fields else []
    for key, name, rule in _LISTS:
        if key in fields:
            parts.extend(Raw(_encode({name: rule(item)})) for item in _items(fields.pop(key)))
    if parts or "parts" in fields:
        fields["parts"] = Raw(_encode(parts))
    return Raw(_encode(fields))


def _part(value: Raw) -> Raw:
    return Raw(_encode({"text": value})) if _is(value, b'"') else _PART_RULE(value)


def _take_error(fields: Fields) -> None:
    """Read `{"error": …, "error_details": …}` as the error of an event."""
    if "error" not in fields:
        return
    error = read_stored(fields.pop("error"))
    details = read_stored(fields.pop("error_details", Raw(b"null")))
    known: dict[str, str] = {}
    number = ""
    for source in (error, details):
        for key, value in source.items() if isinstance(source, dict) else ():
            if isinstance(value, str):
                known[key] = value
            elif key == "code" and type(value) is int:
                number = str(value)
    text = _first(known, "message", "error_message", "errorMessage")
    text = text or (error if isinstance(error, str) else "")
    code = _first(known, "code", "type", "error_type", "errorType", "status")
    fields.setdefault("errorCode", Raw(_encode(code or number or "ERROR")))
    if text:
        fields.setdefault("errorMessage", Raw(_encode(text)))


def _first(values: Mapping[str, str], *keys: str) -> str:
    return next((values[key] for key in keys if values.get(key)), "")


def _number_of(value: Raw) -> float | Raw | None:
    """Return a timestamp in seconds, also if it is text or milliseconds; None if it is not a time."""
    try:
        came = read_stored(value)
        if isinstance(came, str):
            came = float(came) if came.replace(".", "", 1).isdigit() else _seconds(came)
    except (msgspec.MsgspecError, ValueError, OverflowError):  # such as 1e999, or no date
        return None
    if type(came) not in (int, float):
        return value  # left for the reader of events, which names what it expected
    if 0 <= came <= LATEST:
        return value if not _is(value, b'"') else float(came)
    # Before 1970 or beyond counting, it is no time of an event.
    return came / 1000 if 0 <= came <= LATEST * 1000 else None


def _moment(value: Raw) -> Raw:
    """Respell a time inside an event; what is not one is left alone."""
    seconds = _number_of(value)
    return value if seconds is None else Raw(_encode(seconds))


def _seconds(written: str) -> float:
    """Read an ISO 8601 time; without a zone it is UTC, so that no machine's zone matters."""
    moment = datetime.fromisoformat(written)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


# ------------------------------------------------------------------------------ ADK's shapes


def _keys(names: str) -> dict[str, Rule | None]:
    return dict.fromkeys(names.split())


_BLOB = _object(_keys("data mimeType displayName"))
_FILE = _object(_keys("fileUri mimeType displayName"))
_RESPONSE_PART = _object({"inlineData": _BLOB, "fileData": _FILE})
_CALL = _object({**_keys("id name args willContinue"), "partialArgs": _everything})
_RESPONSE = _object(
    {**_keys("id name response scheduling willContinue"), "parts": _list_of(_RESPONSE_PART)}
)
_PART_SHAPE: Shape = {
    **_keys("text thought thoughtSignature partMetadata mediaResolution mediaProcessing"),
    "functionCall": _CALL,
    "functionResponse": _RESPONSE,
    "inlineData": _BLOB,
    "fileData": _FILE,
    "toolCall": _object(_keys("id toolType args")),
    "toolResponse": _object(_keys("id toolType response")),
    "executableCode": _everything,
    "codeExecutionResult": _everything,
    "videoMetadata": _everything,
    "audioTranscription": _everything,
    "speechMetadata": _everything,
}
_PART_RULE = _object(_PART_SHAPE)
_CONTENT: Shape = _keys("role parts functionCalls functionResponses")
_LISTS = (
    ("functionCalls", "functionCall", _CALL),
    ("functionResponses", "functionResponse", _RESPONSE),
)
_AUTH_CONFIG = _object(
    {
        **_keys("authScheme credentialKey"),
        "rawAuthCredential": _everything,
        "exchangedAuthCredential": _everything,
    }
)
_ACTIONS: Shape = {
    **_keys(
        "skipSummarization stateDelta artifactDelta transferToAgent transferReason escalate "
        "endOfAgent agentState rewindBeforeInvocationId route renderUiWidgets setModelResponse"
    ),
    "requestedAuthConfigs": _map_of(_AUTH_CONFIG),
    "requestedToolConfirmations": _map_of(_object(_keys("hint confirmed payload"))),
    "compaction": _object(
        {"startTimestamp": _moment, "endTimestamp": _moment, "compactedContent": _content}
    ),
}
_EVENT: Shape = {
    **_keys(
        "id invocationId author partial turnComplete turnCompleteReason interactionStatus "
        "finishReason errorCode errorMessage interrupted customMetadata liveSessionId avgLogprobs "
        "interactionId environmentId modelVersion output longRunningToolIds branch isolationScope "
        "timestamp"
    ),
    "content": _content,
    "actions": _object(_ACTIONS),
    "nodeInfo": _object(_keys("path outputFor messageAsOutput")),
    **dict.fromkeys(
        "usageMetadata groundingMetadata citationMetadata cacheMetadata logprobsResult goAway voiceActivity"
        " liveSessionResumptionUpdate inputTranscription outputTranscription".split(),
        _everything,
    ),
}
_API_ERROR = frozenset({"code", "message", "status", "details"})
EVENT_KEYS = frozenset(_EVENT)
"""ADK's own names of an event's fields; held complete by a test against google-adk."""

# ------------------------------------------------------------------------------ runs

UNNAMED = records.Origin(app="recording", user="user", session="recording")
"""Origin of a capture that does not name one."""

_USER = "user"
_read_text = msgspec.json.Decoder(str).decode


class EventCapture:
    """Reads bare ADK events."""

    def __init__(self, origin: records.Origin | None) -> None:
        self._origin = origin
        self._cursor = 0
        self._time = 0.0
        self._before = AdkEvent()
        self._long_running: set[str] = set()
        """Calls whose first answer may be the last event: the real one comes later, from outside."""

    @property
    def is_reply_due(self) -> bool:
        """Whether the last whole event holds a tool's answer that the model has to see."""
        last = self._before
        actions = last.actions
        if last.author == _USER or last.content is None:
            return False
        if actions is not None and (actions.skip_summarization or actions.escalate):
            return False
        answers = (part.function_response for part in last.content.parts or ())
        return any(each is not None and each.id not in self._long_running for each in answers)

    def feed(self, item: Item) -> list[records.Entry]:
        """Return the entries of a value: two for the first event, none for a repeated error."""
        if item.is_session:
            self._origin = self._origin or _origin_of(item)
            return []
        data, event = _event(item)
        if _repeats(self._before, event):
            return []
        if 0 < event.timestamp <= LATEST:
            self._time = event.timestamp
        found: list[records.Entry] = []
        if not self._cursor:
            self._cursor = 1
            found.append(
                records.Entry(1, self._time, _derived_start(data, event, self._origin or UNNAMED))
            )
        self._cursor += 1
        self._long_running.update(event.long_running_tool_ids or ())
        self._before = self._before if event.partial else event
        found.append(records.Entry(self._cursor, self._time, records.AgentEvent(data)))
        return found


def _event(item: Item) -> tuple[bytes, AdkEvent]:
    """Return an event in ADK's spelling, and what is read from it."""
    try:
        data = sound(item.data)
        if item.is_error:
            data = error_event(data)
        elif not is_plain(data):
            data = respell(data)
        event = read_event(data)
        if event.author or is_event(keys := read_keys(data)):
            return data, event
        if is_bare_error(keys):
            data = error_event(data)
            return data, read_event(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise unreadable(item, error, "an ADK event") from None
    raise unreadable(item, None, "an ADK event")


def _repeats(before: AdkEvent, event: AdkEvent) -> bool:
    """Return whether this is ADK's second error frame: it has no author and repeats the last whole event.

    The event may have the API's status as its code; the frame has the exception's class.
    """
    if not event.error_code or event.author or event.id or not before.error_code:
        return False
    return event.error_code == before.error_code or event.error_message == before.error_message


def _derived_start(data: bytes, event: AdkEvent, origin: records.Origin) -> records.RunStarted:
    # Spelling and spaces do not count: the same event always has the same run.
    same = msgspec.json.format(respell(data), indent=-1)
    run = "run-" + hashlib.sha256(same).hexdigest()[:24]
    return records.RunStarted(
        run=run,
        origin=origin,
        invocation=event.invocation_id,
        labels=records.labels(records.DERIVED(True)),
    )


def _origin_of(session: Item) -> records.Origin:
    """Return where a session belongs, as far as it says so before its events."""
    fields = keys_of(session)

    def text(default: str, *names: str) -> str:
        return next((_read_text(fields[name]) for name in names if name in fields), default)

    try:
        return records.Origin(
            app=text(UNNAMED.app, "appName", "app_name"),
            user=text(UNNAMED.user, "userId", "user_id"),
            session=text(UNNAMED.session, "id"),
        )
    except msgspec.MsgspecError as error:
        raise unreadable(session, error, "a session") from None


# ------------------------------------------------------------------------------ values of a file


def sound(data: bytes) -> bytes:
    """Repair what Python writes and strict JSON does not know: NaN, lone surrogates."""
    check_text(data)
    return repair(data) if _UNSOUND.search(data) else data


def check_text(data: bytes) -> None:
    """Raise `UnicodeDecodeError` if it is not UTF-8: not every value is decoded here."""
    if not data.isascii():
        data.decode()


def keys_of(item: Item) -> dict[str, Raw]:
    try:
        return read_keys(sound(item.data))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise unreadable(item, error, "an ADK event or an entry of a recording") from None


def unreadable(item: Item, error: Exception | None, expected: str) -> SourceError:
    if item.is_last_piece and error is not None:
        return SourceError(
            f"The file is truncated: {item.where} has no end. Everything before it has been read."
        )
    came = item.data[:40].decode(errors="replace")
    why = f" ({error})" if error is not None else ""
    return SourceError(
        f"{item.where.capitalize()} is not {expected}{why}: it starts with {came!r}."
    )
