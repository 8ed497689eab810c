"""Serialise ADK events for the log, without secrets: the one place where an event becomes JSON.

Follows google-adk 2.13 `cli/api_server.py` (`run_agent_sse`): the event without ADK's internal
metadata, dumped by alias without nulls, credential secrets stripped. The result equals ADK's, byte
for byte, except for these deliberate differences:
- NaN is null, where ADK writes `NaN`, which is not JSON;
- an event that ADK cannot write at all (lone surrogates, unknown types, cycles) is repaired;
- `temp:` state never leaves (ADK trims it from final events but not from partial ones);
- the text of an exception is replaced by safe text with a correlation id, or by what the model's provider
  says about its service (`provider_error`); the operator gets the whole text.

The event is serialised once, by its compiled serializer or by the pattern of the delta before it
(`delta_serializer.py`). ADK's walk over the whole event, which costs five times as much, is done only if
the bytes contain a word that the walk would act on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
import pydantic_core
from google.adk.events.event import Event
from google.adk.sessions.session import Session
from google.genai import types
from msgspec import Raw, structs
from pydantic import BaseModel

from adk_prism.diagnostics import Diagnostic, Report, new_correlation
from adk_prism.facts.adk_event import CONFIRMATION
from adk_prism.facts.outcome import WITHHELD
from adk_prism.runlog.entry import AgentEvent, Continues, is_absent
from adk_prism.source.adk.credential_redaction import redact_credentials
from adk_prism.source.adk.restored_events import INTERNAL_PREFIX, public_event
from adk_prism.source.delta_serializer import DeltaSerializer
from adk_prism.source.plain_json import describe, encode_strictly, plain
from adk_prism.source.provider_error import provider_message

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

_AUTH, _ADK, _TEMP_KEY = map(re.compile, (rb"uth[_TC]", rb"k_(?<=adk_)", rb'p:(?<="temp:)'))
_PLAIN_COUNT = len(_AUTH.findall(Event().model_dump_json(by_alias=True).encode()))
"""Each suspicious word but `temp:` holds `adk_`, `uth_`, `uthT` or `uthC`; the last is also in a key of
every event (`requestedAuthConfigs`), so it is counted. Patterns that begin with a rare letter, and then
look back, take half the time of `in`. Temporary keys are looked for only in events that change the state."""

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
        self._deltas = DeltaSerializer()
        self.correlation = ""
        """Correlation id of the last text withheld, so that the end of the run can refer to it."""

    def record(self, event: Event) -> AgentEvent:
        """Return the event as a record. Never raises for what an agent put in it."""
        return self._deltas.write(event) or AgentEvent(self._write(event))

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
        if _may_be_suspicious(event, data) and _is_suspicious(data):
            return encode_strictly(_redacted_event(event))
        if event.partial:
            self._deltas.learn(event, data)
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

    def withheld(self, code: str, message: str) -> str:
        """Tell the operator of an error whose text stays out of the log; return its code."""
        self.correlation = new_correlation()
        said = ": ".join(filter(None, (code, message)))
        self._report_event("agent error", "", said, said)
        return safe_code(code) if code else _UNNAMED_CODE

    def _withhold(self, event: Event) -> Event:
        self.correlation = new_correlation()
        said = ": ".join(filter(None, (event.error_code, event.error_message)))
        self._report_event("agent error", event.author, said, said)
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


def _may_be_suspicious(event: Event, data: bytes) -> bool:
    actions = event.actions
    return (
        len(_AUTH.findall(data)) > _PLAIN_COUNT
        or _ADK.search(data) is not None
        or (bool(actions.state_delta) and _TEMP_KEY.search(data) is not None)
        or bool(actions.requested_auth_configs)
    )


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
