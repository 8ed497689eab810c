"""JSON that every reader accepts, from values that agents make.

Decides what becomes of a value that JSON cannot hold: a lone surrogate is replaced, NaN and the
infinities are null, a cycle, too deep a nest or too long a number is cut and marked (`log.json_bounds`),
an object of a type that Pydantic does not know is its `repr`, as ADK does for state. Nothing is raised: an
event with one bad value is better than no event. This is the slow path; ordinary events do not take it.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping, Set
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import msgspec
import pydantic_core
from google.adk.events.event import Event
from msgspec import Raw
from pydantic import BaseModel

from adk_prism.facts.state import read_stored
from adk_prism.log.hooks import (
    MAX_BYTES,
    MAX_VALUE_DEPTH,
    TOO_DEEP,
    has_long_number,
    number_mark,
    shrink,
    size_of,
)

CIRCULAR = "[refers to itself]"


def encode_strictly(value: Any) -> bytes:
    """Encode any value as UTF-8 JSON without NaN, lone surrogates, cycles or unknown types."""
    try:
        return pydantic_core.to_json(value, inf_nan_mode="null")
    except (ValueError, RecursionError):
        return pydantic_core.to_json(plain(value), inf_nan_mode="null")


def plain(value: Any) -> Any:
    """Return a copy made of JSON types only."""
    return _plain(value, (), replace_surrogates)


def storable(value: Any) -> Any:
    """Return a plain copy that every session service can store: PostgreSQL refuses U+0000."""
    return _plain(value, (), replace_unstorable)


def _plain(value: Any, above: tuple[int, ...], text: Callable[[str], str]) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, bool | int):
        return value if not value or not has_long_number(value) else _number_mark(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes | bytearray):
        return base64.urlsafe_b64encode(value).decode("ascii")
    if isinstance(value, BaseModel | Mapping | list | tuple | Set):
        return _plain_nest(value, above, text)
    return _plain_other(value, text)


def _number_mark(value: int) -> str:
    return number_mark(int(value.bit_length() * math.log10(2)) + 1)


def _plain_other(value: Any, text: Callable[[str], str]) -> Any:
    """Return a date, a number of another kind, a data class as Pydantic writes it; else its `repr`."""
    try:
        known = pydantic_core.to_jsonable_python(value, inf_nan_mode="null")
    except (ValueError, RecursionError):
        return text(describe(value))
    return text(known) if isinstance(known, str) else known


def _plain_nest(value: Any, above: tuple[int, ...], text: Callable[[str], str]) -> Any:
    if id(value) in above:
        return CIRCULAR
    if len(above) >= MAX_VALUE_DEPTH:
        return TOO_DEEP
    inside = (*above, id(value))
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        return {
            (fields[name].alias or name if name in fields else name): _plain(item, inside, text)
            for name, item in value
            if item is not None
        }
    if isinstance(value, Mapping):
        return {text(str(key)): _plain(item, inside, text) for key, item in value.items()}
    return [_plain(item, inside, text) for item in value]


def replace_surrogates(text: str) -> str:
    """Return the text with each lone surrogate as U+FFFD; a proper pair becomes its character."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def replace_unstorable(text: str) -> str:
    """Return the text without lone surrogates and without U+0000."""
    return replace_surrogates(text).replace("\0", "\ufffd")


def describe(value: object) -> str:
    """Return an object's `repr`, or the name of its type if even that fails."""
    try:
        return repr(value)
    except Exception:  # A user's __repr__ may raise anything.
        return f"<{type(value).__name__}>"


# ---------------------------------------------------------------------- events


def make_storable(event: Event) -> None:
    """Replace what some session service cannot store, or not read back, in place, so that the run sees what
    history will say.

    PostgreSQL refuses U+0000, no service takes a lone surrogate, a number that is not finite or a cycle, and
    the readers of each have bounds (`log.json_bounds`).
    """
    for part in (event.content.parts if event.content is not None else None) or ():
        _store_plainly(part, "text")
        _store_plainly(part.function_response, "response")
        _store_plainly(part.function_call, "args")
        if part.inline_data is not None and len(part.inline_data.data or b"") > MAX_BYTES * 3 // 4:
            part.text = f"[cut: a file of {len(part.inline_data.data or b'')} bytes]"
            part.inline_data = None
    for name in ("output", "custom_metadata"):
        _store_plainly(event, name)
    for name in ("state_delta", "agent_state"):
        _store_plainly(event.actions, name)


def _store_plainly(holder: BaseModel | None, name: str) -> None:
    value = getattr(holder, name, None)
    is_state = name == "state_delta"
    if holder is None or value is None or _is_storable(value, knows_unknown=is_state):
        return
    if size_of(value) > MAX_BYTES:
        value = shrink(value, MAX_BYTES // 2)
    setattr(holder, name, storable(value))


def _is_storable(value: Any, *, knows_unknown: bool) -> bool:
    """Return whether there is nothing to replace; an object that is no plain data is for ADK to write, if it
    can: in the state it writes whatever it does not know as a text."""
    level, others = [value], False
    for _ in range(MAX_VALUE_DEPTH + 1):
        below: dict[int, Any] = {}
        for found in level:
            if isinstance(found, Mapping | list | tuple):
                if isinstance(found, Mapping):
                    if not all(isinstance(key, _SCALARS) for key in found):
                        return False
                    below |= {id(item): item for item in found.values()}
                below |= {id(item): item for item in found}
            elif not _is_storable_scalar(found):
                return False
            else:
                others = others or not isinstance(found, _SCALARS)
        level = list(below.values())
        if not level:
            return size_of(value) <= MAX_BYTES and not (
                others and _is_unwritable(value, knows_unknown=knows_unknown)
            )
    return False


_SCALARS = (str, int, float, type(None))


def _is_storable_scalar(value: Any) -> bool:
    if isinstance(value, str):
        return replace_unstorable(value) == value
    if isinstance(value, float):
        return math.isfinite(value)
    return not (isinstance(value, int) and has_long_number(value))


def _is_unwritable(value: Any, *, knows_unknown: bool) -> bool:
    """Return whether ADK's services could not write a value that holds other objects than JSON has."""
    try:
        pydantic_core.to_json(value, serialize_unknown=knows_unknown)
    except Exception:  # an object's own methods may raise anything
        return True
    return False


# ---------------------------------------------------------------------------
# Events as other tools write them, normalised to ADK's own JSON: for recordings and captures.
#
# Accepts snake_case or camelCase keys, `function_calls` and `function_responses` lists (or single objects)
# beside or instead of `parts`, content as a plain string, null fields, a missing timestamp or one in ISO
# format or in milliseconds, and the error objects that servers send instead of an event. Follows the wire
# form of google-adk 2.13 (`Event`, `EventActions`, `Content`); ADK's servers in other languages and Agent
# Engine differ from it as listed in `docs/guides/captures.md`.
#
# Only ADK's own keys at ADK's own places are renamed. What belongs to users (arguments, results, state,
# metadata) is not even decoded: its bytes stay as they are.


Fields = dict[str, Raw]
Rule = Callable[[Raw], Raw]
Shape = Mapping[str, Rule | None]
"""An object of ADK's: its keys, and how the values below them are respelled; None leaves them."""

_encode = msgspec.json.encode
_read_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_read_list = msgspec.json.Decoder(list[Raw]).decode

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
    fields = _renamed(_read_fields(event), _EVENT)
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
        fields = _read_fields(value)
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
        return Raw(_encode(_renamed(_read_fields(value), shape))) if _is(value, b"{") else value

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
        return Raw(_encode({key: rule(item) for key, item in _read_fields(value).items()}))

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
    fields = _renamed(_read_fields(value), _CONTENT)
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
