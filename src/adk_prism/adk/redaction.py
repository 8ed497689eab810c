"""Serialise ADK events for the log, without secrets: the one place where an event becomes JSON.

Follows google-adk 2.13 `cli/api_server.py` (`run_agent_sse`): the event without ADK's internal
metadata, dumped by alias without nulls, credential secrets stripped. The result equals ADK's, byte
for byte, except for these deliberate differences:
- NaN is null, where ADK writes `NaN`, which is not JSON;
- an event that ADK cannot write at all (lone surrogates, unknown types, cycles) is repaired;
- `temp:` state never leaves (ADK trims it from final events but not from partial ones);
- the text of an exception is replaced by safe text with a correlation id, or by what the model's provider
  says about its service (`provider_error`); the operator gets the whole text.

The event is serialised once, by its compiled serializer or by the pattern of the delta before it.
ADK's walk over the whole event, which costs five times as much, is done only if the bytes contain a word
that the walk would act on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec
import pydantic_core
from google.adk.auth import auth_credential
from google.adk.auth.auth_credential import AuthCredentialTypes
from google.adk.events.event import Event, NodeInfo
from google.adk.events.event_actions import EventActions
from google.adk.sessions.session import Session
from google.genai import types
from msgspec import Raw, structs
from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from adk_prism.adk.errors import provider_message
from adk_prism.adk.internals.log_lines import INTERNAL_PREFIX, public_event
from adk_prism.adk.plain_json import describe, encode_strictly, plain
from adk_prism.errors import Diagnostic, Report, new_correlation
from adk_prism.facts.adk_event import CONFIRMATION, CREDENTIAL
from adk_prism.facts.outcome import WITHHELD
from adk_prism.log.entry import AgentEvent, Continues, is_absent

# ---------------------------------------------------------------------------
# The JSON of the next delta of a streamed text, from the pattern of the one before.
#
# Nearly every event of a run is such a delta, and differs from the last one in its text, id and time
# only. To check that nothing else differs costs a third of what pydantic takes to serialise the
# event. A pattern is taken only from an event whose other values are plain, so that equal values are
# written alike; text has no keys, so there is nothing to redact in it.

_encode = msgspec.json.Encoder().encode

_OWN = {"content", "actions", "node_info", "id", "timestamp"}
"""Fields that are compared separately."""
_rest_of_event = itemgetter(*(name for name in Event.model_fields if name not in _OWN))
_rest_of_part = itemgetter(*(name for name in types.Part.model_fields if name != "text"))
_NO_ACTIONS = EventActions().__dict__
_PLAIN = (type(None), bool, str)

_TIMES = (1e6, 1e12)
"""Between these, all JSON encoders write a time with the same digits."""


class _Pattern(NamedTuple):
    event: tuple[Any, ...]
    node: dict[str, Any]
    part: tuple[Any, ...]
    role: str | None
    before_text: bytes
    after_text: bytes

    @classmethod
    def learned_from(cls, event: Event, data: bytes) -> _Pattern | None:
        """Return the pattern of a delta that has been written; None for any other event."""
        text = _text_of(event)
        if text is None or event.actions.__dict__ != _NO_ACTIONS:
            return None
        part, role = event.content.parts[0], event.content.role  # type: ignore[union-attr,index]
        rest, node = _rest_of_event(event.__dict__), event.node_info.__dict__
        of_part = _rest_of_part(part.__dict__)
        if not all(type(value) in _PLAIN for value in (*rest, *node.values(), *of_part, role)):
            return None
        # The first bare `"text":` is the part's key: inside a string the marks are escaped.
        before, key, after = data.partition(b'"text":')
        middle = after[len(_encode(text)) :].rpartition(b'"id":')[0]
        pattern = cls(rest, dict(node), of_part, role, before + key, middle)
        return pattern if pattern.write(text, event) == data else None

    def fits(self, event: Event) -> bool:
        """Return whether a text event differs from the pattern only in text, id and time."""
        content, timestamp = event.content, event.timestamp
        return (
            _rest_of_event(event.__dict__) == self.event
            and event.actions.__dict__ == _NO_ACTIONS
            and event.node_info.__dict__ == self.node
            and _rest_of_part(content.parts[0].__dict__) == self.part  # type: ignore[union-attr,index]
            and content.role == self.role  # type: ignore[union-attr]
            and type(timestamp) is float
            and _TIMES[0] < timestamp < _TIMES[1]
        )

    def write(self, text: str, event: Event) -> bytes | None:
        """Return the event's JSON; None for a text that only the real serializer can repair."""
        try:
            return b'%b%b%b"id":%b,"timestamp":%b}' % (
                self.before_text,
                _encode(text),
                self.after_text,
                _encode(event.id),
                _encode(event.timestamp),
            )
        except (ValueError, TypeError):  # lone surrogates
            return None


def _text_of(event: Event) -> str | None:
    """Return the text of an event with one text part, if all objects are of ADK's own classes."""
    content = event.content
    if event.partial is not True or type(event) is not Event or type(content) is not types.Content:
        return None
    parts = content.parts
    if type(event.node_info) is not NodeInfo or parts is None or len(parts) != 1:
        return None
    if type(parts[0]) is not types.Part or type(parts[0].text) is not str:
        return None
    return parts[0].text


# ---------------------------------------------------------------------------

_SUSPICIOUS = (
    b'"authType"',
    b'"auth_type"',
    b'"adk_request_credential"',
    b'"requestedAuthConfigs":{"',
    b'"requestedAuthConfigs":[',
    b'"requested_auth_configs"',
    b'AuthCredential"',
    b'_auth_credential"',
    b'"__adk_internal_',
    b'"temp:',
)
"""Every key or name on which `redact_credentials`, `public_event` or we act. A false match
costs one slow walk. A test compares the list with ADK's walk."""

_FOREIGN_SUSPICION = tuple(
    re.compile(pattern).search
    for pattern in (
        rb"\\u00[2-7]",
        rb'"auth_?[tT]ype"',
        rb'"adk_request_credential"',
        rb'AuthCredential"',
        rb'_auth_credential"',
        rb'"requested(?:AuthConfigs|_auth_configs)"\s*:\s*[{\[]\s*[^\s}\]]',
        rb'"__adk_internal_',
        rb'"temp:',
    )
)
"""The same for JSON from elsewhere: any spacing, and letters written as escapes, which could
spell any of the words. One pattern of them all takes three times as long."""

_TEMP = "temp:"
_EXPLAINED = frozenset(
    [reason.value for reason in types.FinishReason]
    + [reason.value for reason in types.BlockedReason]
    + ["INVOCATION_ABORTED", "MODEL_RETURNED_NO_CONTENT"]
)
"""Error codes whose message is the model's or ADK's own; any other comes with an exception's text."""

_SAFE_CODE = re.compile(r"[A-Za-z0-9_.\-]{1,80}")
"""A class name or an API status. An exception may carry any text as its status."""
_UNNAMED_CODE = "ERROR"

_ERROR_KEY = tuple(
    re.compile(word).search for word in (rb'"error(?:Code|Message)"', rb"\\u00[2-7]")
)
"""An event that may hold the text of an exception; letters written as escapes could spell any key."""

_decode_state = msgspec.json.Decoder(dict[str, Raw]).decode


class Serialiser:
    """Turns the events of one run into JSON that may be stored and shown."""

    def __init__(self, report: Report, *, run: str = "", app: str = "") -> None:
        self._report = report
        self._run = run
        self._app = app
        self._repaired = False
        self._pattern: _Pattern | None = None
        self._follows_delta = False
        """The last event had the pattern, too."""
        self.correlation = ""
        """Correlation id of the last text withheld, so that the end of the run can refer to it."""

    def record(self, event: Event) -> AgentEvent:
        """Return the event as a record. Never raises for what an agent put in it."""
        pattern, text, follows = self._pattern, _text_of(event), self._follows_delta
        data = None
        if pattern is not None and text is not None and pattern.fits(event):
            data = pattern.write(text, event)
        self._follows_delta = data is not None
        if data is None or text is None:
            return AgentEvent(self._write(event))
        return AgentEvent(data, text if follows else "")

    def event(self, event: Event) -> bytes:
        """Return the event's JSON, redacted. Never raises for what an agent put in it."""
        return self.record(event).event

    def _write(self, event: Event) -> bytes:
        if _holds_exception(event):
            event = self._withhold(event)
        try:
            data: bytes = event.__pydantic_serializer__.to_json(
                event, by_alias=True, exclude_none=True, warnings=False
            )
        except (ValueError, RecursionError) as error:
            self._report_repair(event, error)
            return encode_strictly(_redacted_event(event))
        if _is_suspicious(data):
            return encode_strictly(_redacted_event(event))
        learned = _Pattern.learned_from(event, data) if event.partial else None
        if learned is not None:
            self._pattern, self._follows_delta = learned, True
        return data

    def received(self, data: bytes) -> bytes:
        """Return the JSON of an event that another ADK server sent, as it may enter the log."""
        data = foreign_json(data)
        if not any(found(data) for found in _ERROR_KEY):
            return data
        fields = pydantic_core.from_json(data)
        code, message = fields.get("errorCode") or "", fields.get("errorMessage") or ""
        if not isinstance(code, str) or not isinstance(message, str):
            code, message = _UNNAMED_CODE, ""
        if (code and code not in _EXPLAINED) or (message and not code):
            fields["errorCode"] = self.withheld(code, message)
            fields["errorMessage"] = provider_message(fields["errorCode"], message) or (
                f"{WITHHELD} ({fields['errorCode']}). Reference: {self.correlation}."
            )
        return encode_strictly(fields)

    def withheld(self, code: str, message: str, author: str = "") -> str:
        """Report an error whose text stays out of the log to the operator; return its code."""
        self.correlation = new_correlation()
        text = ": ".join(filter(None, (code, message)))
        self._report_event("agent error", author, text, text)
        return safe_code(code) if code else _UNNAMED_CODE

    def _withhold(self, event: Event) -> Event:
        self.withheld(event.error_code or "", event.error_message or "", event.author)
        return _without_exception(event, f" Reference: {self.correlation}.")

    def _report_repair(self, event: Event, error: Exception) -> None:
        if not self._repaired:
            self._repaired = True
            self._report_event("event repaired", event.author, describe(error))

    def _report_event(self, kind: str, detail: str, cause: str, message: str = "") -> None:
        self._report(
            Diagnostic(
                kind=kind,
                detail=detail,
                correlation=self.correlation,
                run=self._run,
                app=self._app,
                cause=cause,
                message=message,
            )
        )


def serialise(event: Event, report: Report) -> bytes:
    """Return one event's JSON as it may enter a log."""
    return Serialiser(report).event(event)


def state_json(state: Mapping[str, Any]) -> dict[str, Raw]:
    """Return session state as it may enter a log: redacted, without `temp:` keys."""
    kept = {key: value for key, value in state.items() if not key.startswith(_TEMP)}
    return values_json(kept)


def values_json(values: Mapping[str, Any]) -> dict[str, Raw]:
    """Return values by name as they may enter a log."""
    return _decode_state(_redacted_bytes(values))


def content_json(content: types.Content) -> Raw:
    """Return a message's JSON as it may enter a log; it may answer a credential request."""
    return Raw(_redacted_bytes(_dumped(content)))


def model_json(
    model: BaseModel, *, include: set[str] | None = None, exclude: set[str] | None = None
) -> bytes:
    """Return a model's JSON as it may enter a log. Never raises for what an app put in it."""
    try:
        data = model.__pydantic_serializer__.to_json(
            model,
            by_alias=True,
            exclude_none=True,
            include=include,
            exclude=exclude,
            warnings=False,
            fallback=_describe,
        )
    except (ValueError, RecursionError):
        fields = type(model).model_fields
        wanted = (include or set(fields)) - (exclude or set())
        names = {fields[name].alias or name for name in wanted if name in fields}
        data = encode_strictly({k: v for k, v in plain(model).items() if k in names})
    return redacted_json(data)


def redacted_json(data: bytes) -> bytes:
    """Return a JSON text of this process without credentials."""
    if _is_suspicious(data):
        return encode_strictly(redact_credentials(pydantic_core.from_json(data)))
    return data


def _describe(value: object) -> object:
    """Return what stands for a value without a JSON form; for a class of pydantic, its schema."""
    if isinstance(value, type) and issubclass(value, BaseModel):
        return value.model_json_schema()
    return describe(value)


def answer_json(name: str, response: Raw) -> Raw:
    """Return the answer to a call as it may enter a log."""
    called = {"name": name, "response": msgspec.json.decode(response)}
    return Raw(encode_strictly(redact_credentials(called)["response"]))


def redacted_continues(continues: Continues | None) -> Continues | None:
    """Return what a run continues with, as it may enter a log."""
    if continues is None:
        return None
    answers = {
        call: answer_json(continues.open_calls.get(call, ""), response)
        for call, response in continues.answers.items()
    }
    decisions = {
        call: decision
        if is_absent(decision.payload)
        else structs.replace(decision, payload=answer_json(CONFIRMATION, decision.payload))
        for call, decision in continues.decisions.items()
    }
    return structs.replace(continues, answers=answers, decisions=decisions)


def foreign_json(data: bytes) -> bytes:
    """Return the JSON of a record that was written elsewhere as it may enter a log.

    Credentials, ADK's internal metadata and `temp:` state are removed, as from our own. The texts of
    exceptions stay: the sender has seen them.
    """
    if not any(found(data) for found in _FOREIGN_SUSPICION):
        return data
    value = redact_credentials(pydantic_core.from_json(data))
    for holder in (value, value.get("event")):
        if isinstance(holder, dict):
            _drop_internal(holder)
    return encode_strictly(value)


def _drop_internal(value: dict[str, Any]) -> None:
    """Remove internal keys from a record, or from the event in it, in place."""
    actions = value.get("actions")
    delta = ("stateDelta", "state_delta")
    places = [
        *((actions, key, _TEMP) for key in delta if isinstance(actions, dict)),
        (value, "state", _TEMP),
        (value, "customMetadata", INTERNAL_PREFIX),
        (value, "custom_metadata", INTERNAL_PREFIX),
    ]
    for holder, key, prefix in places:
        if isinstance(holder.get(key), dict):
            holder[key] = {k: v for k, v in holder[key].items() if not k.startswith(prefix)}


def session_json(session: Session) -> bytes:
    """Return a session as ADK's server does, without the texts of exceptions in its events."""
    shown = _dumped(session.model_copy(update={"events": []}))
    shown["state"] = {k: v for k, v in shown.get("state", {}).items() if not k.startswith(_TEMP)}
    shown["events"] = [
        _redacted_event(_without_exception(event) if _holds_exception(event) else event)
        for event in session.events
    ]
    return encode_strictly(redact_credentials(shown))


_AS_ADK: Mapping[str, Any] = {
    "mode": "json",
    "by_alias": True,
    "exclude_none": True,
    "warnings": False,
    "fallback": describe,
}


def _is_suspicious(data: bytes) -> bool:
    return any(word in data for word in _SUSPICIOUS)


def _holds_exception(event: Event) -> bool:
    if event.error_code:
        return event.error_code not in _EXPLAINED
    return bool(event.error_message)


def safe_code(code: str) -> str:
    """Return an error's code as it may enter a log."""
    return code if _SAFE_CODE.fullmatch(code) else _UNNAMED_CODE


def _without_exception(event: Event, reference: str = "") -> Event:
    code = safe_code(event.error_code) if event.error_code else event.error_code
    text = f"{WITHHELD} ({code}).{reference}" if code else f"{WITHHELD}.{reference}"
    said = provider_message(code or "", event.error_message or "")
    return event.model_copy(update={"error_code": code, "error_message": said or text})


def _redacted_event(event: Event) -> dict[str, Any]:
    """Walk the event as ADK does, and drop `temp:` state."""
    event = public_event(event)
    value = redact_credentials(_dumped(event))
    actions = value.get("actions")
    if isinstance(actions, dict) and isinstance(actions.get("stateDelta"), dict):
        delta = actions["stateDelta"]
        actions["stateDelta"] = {k: v for k, v in delta.items() if not k.startswith(_TEMP)}
    return value  # type: ignore[no-any-return] # ADK's walk is typed Any -> Any


def _dumped(model: BaseModel) -> Any:
    try:
        return model.model_dump(**_AS_ADK)
    except (ValueError, RecursionError):
        return plain(model)


def _redacted_bytes(value: Mapping[str, Any]) -> bytes:
    return redacted_json(encode_strictly(value))


# --------------------------------------------------------------------------- credentials


def _both(*names: str) -> frozenset[str]:
    return frozenset(names) | frozenset(map(to_camel, names))


def _hidden_fields() -> frozenset[str]:
    """Return the names of the fields that ADK's types of credentials hide where they are printed."""
    kinds = [each for each in vars(auth_credential).values() if isinstance(each, type)]
    return _both(
        *(
            name
            for kind in kinds
            if issubclass(kind, BaseModel)
            for name, field in kind.model_fields.items()
            if not field.repr
        )
    )


_SECRETS = _hidden_fields() | _both(
    "access_token", "additional_headers", "api_key", "auth_code", "auth_response_uri",
    "client_secret", "code_verifier", "id_token", "password", "private_key", "private_key_id",
    "refresh_token", "token",
)  # fmt: skip
"""Those of google-adk 2.13, and what the installed version has besides."""
_CONFIGS = _both("requested_auth_configs")
_CREDENTIALS = _both("raw_auth_credential", "exchanged_auth_credential")
_ARGUMENT = _both("auth_config")
_AUTH_TYPE = _both("auth_type")
_AUTH_TYPES = frozenset(
    name for each in AuthCredentialTypes for name in (each.value, each.name, each.name.lower())
)


def redact_credentials(value: Any) -> Any:
    """Return JSON data without the secrets of credentials in it.

    As google-adk 2.13 does for its own server (`_redact_credential_secrets`): inside of a credential, of a
    request for one and of its answer. A test compares the results.
    """
    if isinstance(value, list):
        return [redact_credentials(item) for item in value]
    if not isinstance(value, dict):
        return value
    if any(_is_auth_type(value.get(key)) for key in _AUTH_TYPE):
        return _without_secrets(value)
    if value.get("name") == CREDENTIAL:
        return {key: _redacted_request(key, item) for key, item in value.items()}
    # Of both kinds of keys in one object, ADK looks at the first only.
    holders = _CONFIGS if not _CONFIGS.isdisjoint(value) else _CREDENTIALS
    return {
        key: _without_secrets(item) if key in holders else redact_credentials(item)
        for key, item in value.items()
    }


def _is_auth_type(value: object) -> bool:
    return isinstance(value, AuthCredentialTypes) or (
        isinstance(value, str) and value in _AUTH_TYPES
    )


def _redacted_request(key: str, value: Any) -> Any:
    """Return a field of a call that requests a credential, or of its answer."""
    if key == "response":
        return _without_secrets(value)
    if key != "args" or not isinstance(value, dict):
        return redact_credentials(value)
    return {
        name: _without_secrets(item) if name in _ARGUMENT else item for name, item in value.items()
    }


def _without_secrets(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _without_secrets(item) for key, item in value.items() if key not in _SECRETS}
