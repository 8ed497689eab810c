"""What a message still waits for: the server's own table of open questions.

A fold over the facts of a message's runs, in order. Only what is in this table can be answered. Approvals,
questions and sign-ins are answered once. A long-running call may get several results:
its tool may have said that it has begun, and every update goes to the model. Answers that were given but
not yet passed on to ADK (because others of the same batch are missing) are held in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec
from msgspec import Raw, Struct

from adk_prism.errors import Unprocessable
from adk_prism.facts import model as fact
from adk_prism.facts.state import read_object
from adk_prism.log.entry import NOTHING, Decision, to_raw

_NULL = Raw(b"null")


class PendingApproval(Struct, frozen=True):
    """A question to a person about a call."""

    approval: str
    call: fact.CallRequested
    payload: Raw
    """A sample of what the tool wants with the approval; empty if it wants nothing."""


class Pending:
    """The open questions of one message."""

    def __init__(self) -> None:
        self.calls: dict[str, fact.CallRequested] = {}
        """Every call of the message, by the id that clients know."""
        self.open_calls: dict[str, fact.CallRequested] = {}
        """All calls without an answer, those of agents that still run included."""
        self._shown: dict[str, Raw] = {}
        """Of long-running calls that have a result, and may have another one: the last, as a client shows it;
        empty where the call was abandoned."""
        self._delegated: set[str] = set()
        """Calls that run agents, answered ones included."""
        self.approvals: dict[str, PendingApproval] = {}
        self.approvals_asked: set[str] = set()
        """Ids of all approvals that the message ever asked for."""
        self.requests: dict[str, fact.InputRequested] = {}
        self.held_decisions: dict[str, Decision] = {}
        """By approval id."""
        self.held_answers: dict[str, Raw] = {}
        """By call id."""

    def feed(self, facts: Iterable[fact.Fact]) -> None:
        """Read the facts of an entry."""
        for item in facts:
            match item:
                case fact.MessageBegan():
                    unread = (_unread_call(*each) for each in item.open_calls.items())
                    self.calls = {call.call: call for call in unread} | self.calls
                case fact.CallRequested():
                    self.calls[item.call] = item
                    if not item.provider_executed:
                        self.open_calls[item.call] = item
                case (
                    fact.CallAnswered()
                    | fact.CallFailed()
                    | fact.CallDenied()
                    | fact.CallAbandoned()
                ):
                    self._settle(item)
                case fact.CallDelegated():
                    self._delegated.add(item.call)
                case fact.ApprovalRequested():
                    asked = PendingApproval(item.approval, self.calls[item.call], item.payload)
                    self.approvals[item.approval] = asked
                    self.approvals_asked.add(item.approval)
                case fact.ApprovalDecided():
                    self.approvals.pop(item.approval, None)
                case fact.InputRequested():
                    self.requests[item.call] = item
                case _:
                    pass  # says nothing about who waits for whom

    def hold(self, decisions: Iterable[Decision], answers: dict[str, Raw]) -> None:
        """Keep answers until the others of their batch are there."""
        self.held_decisions.update((d.approval, d) for d in decisions)
        self.held_answers.update(answers)

    def pass_on(self, decisions: Iterable[Decision], answers: Iterable[str]) -> None:
        """Note that answers went to ADK."""
        for decision in decisions:
            self.held_decisions.pop(decision.approval, None)
            self.approvals.pop(decision.approval, None)
        for call in answers:
            self.held_answers.pop(call, None)
            self.requests.pop(call, None)

    def expire_held(self) -> None:
        """Forget the answers that were held: the conversation continued without the rest of their batch."""
        self.held_decisions.clear()
        self.held_answers.clear()

    def answered_elsewhere(self, ids: Iterable[str]) -> None:
        """Note that a later message answered approvals or requests."""
        for name in ids:
            self.approvals.pop(name, None)
            self.requests.pop(name, None)

    def _settle(
        self, item: fact.CallAnswered | fact.CallFailed | fact.CallDenied | fact.CallAbandoned
    ) -> None:
        self.open_calls.pop(item.call, None)
        made = self.calls.get(item.call)
        if isinstance(item, fact.CallDenied):
            self._shown.pop(item.call, None)
        elif made is not None and made.long_running:
            self._shown[item.call] = _shown(item)
        for name in [n for n, asked in self.approvals.items() if asked.call.call == item.call]:
            del self.approvals[name]

    # -------------------------------------------------------------- questions about it

    @property
    def delegated(self) -> list[str]:
        """The open calls that run agents."""
        return [name for name in self.open_calls if name in self._delegated]

    @property
    def client_calls(self) -> dict[str, fact.CallRequested]:
        """The calls that the client may answer: long-running, not gated, not answered."""
        gated = {a.call.call for a in self.approvals.values()}
        return {
            name: call
            for name, call in self.open_calls.items()
            if call.long_running
            and name not in gated
            and name not in self.held_answers
            and name not in self._delegated
        }

    @property
    def late_calls(self) -> dict[str, fact.CallRequested]:
        """Long-running calls that have a result and may be given another one."""
        return {name: self.calls[name] for name in self._shown if name not in self._delegated}

    def shown(self, call: str) -> Raw:
        """Return the last result of a long-running call; empty if it was abandoned."""
        return self._shown[call]

    def approval_of(self, call: str) -> PendingApproval | None:
        """Find the open question about a call."""
        return next((asked for asked in self.approvals.values() if asked.call.call == call), None)


def _unread_call(call: str, name: str) -> fact.CallRequested:
    """Return a call that a run continues, where the run that made it was not read."""
    nobody = fact.Speaker("", "", "")
    return fact.CallRequested(call, name, NOTHING, nobody, "", False, False, call, "")


def _shown(item: fact.CallAnswered | fact.CallFailed | fact.CallAbandoned) -> Raw:
    """Return a call's result as a client shows it; empty if there is none."""
    match item:
        case fact.CallAnswered():
            return item.output if bytes(item.output) else _NULL
        case fact.CallFailed():
            return to_raw({"error": item.error})
        case fact.CallAbandoned():
            return NOTHING


# ---------------------------------------------------------------------------
# Whether an answer fits what was asked for: JSON schemas of questions, and shapes of payloads.
#
# ADK (google-adk 2.13) checks the answer to `adk_request_input` only after the run has begun, and ends
# the workflow over a wrong one; the payload of a confirmation it does not check at all. So both are
# checked before a run begins. Typed words are read as the value that the schema wants: JSON, a number,
# yes or no, and a single value for an object with one required field.
#
# A schema that is none, points outside itself, or names properties by expressions is passed over, as ADK
# does.

Json = dict[str, Any]

_TYPES = {"OBJECT", "ARRAY", "STRING", "INTEGER", "NUMBER", "BOOLEAN", "NULL"}
"""As genai spells them in schemas of its own."""


def response_schema(request: Raw) -> Json:
    """Return the schema of the answer to `adk_request_input`; empty if anything will do."""
    tree = read_object(request)
    schema = tree.get("response_schema") or tree.get("responseSchema")
    return schema if isinstance(schema, dict) else {}


def payload_schema(payload: Raw) -> Json:
    """Return the schema of a confirmation's payload, read from the one that the tool sent as a sample.

    Every key is wanted, with a value of the same JSON type; `null` stands for anything.
    """
    return _sample(msgspec.json.decode(bytes(payload))) if bytes(payload) else {}


def _sample(value: Any) -> Json:
    match value:
        case bool():
            return {"type": "boolean"}
        case int() | float():
            return {"type": "number"}
        case str():
            return {"type": "string"}
        case list():
            return {"type": "array"}
        case dict():
            fields = {key: _sample(item) for key, item in value.items()}
            return {"type": "object", "properties": fields, "required": list(fields)}
        case _:
            return {}


def plain_schema(schema: Any) -> Any:
    """Return a schema with its types as JSON schema spells them."""
    if isinstance(schema, list):
        return [plain_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: plain_schema(value) for key, value in schema.items()}
    kind = found.get("type")
    if isinstance(kind, str) and kind in _TYPES:
        found["type"] = kind.lower()
        if found.pop("nullable", False) is True:
            found["type"] = [kind.lower(), "null"]
    return found


# ---------------------------------------------------------------------------
# Reads values from words according to a JSON schema, as far as that is unambiguous.

DEEPEST = 32
"""Levels of a schema that words are read by; a schema that refers to itself has no end."""

NONE: Any = object()
"""No value, where `None` is one."""

_WORDS = {"true": True, "yes": True, "y": True, "on": True} | {
    "false": False,
    "no": False,
    "n": False,
    "off": False,
}


PASSED_OVER = ("pattern", "uniqueItems")
"""Keywords that are not checked: a model may have written the schema, an expression can be made to run for
ever, and to compare all items of a list takes the square of its length."""


@cache
def _validator_class() -> Any:
    # Imports jsonschema, a tenth of a second that a start and a replay need not take.
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    return extend(Draft202012Validator, dict.fromkeys(PASSED_OVER, lambda *_: None))


def _validator_of(schema: Json) -> Any:
    """Return a validator that never fetches what a schema points to outside itself."""
    from referencing import Registry

    return _validator_class()(schema, registry=Registry())


def parsed(text: str) -> Any:
    """Read text as JSON; `NONE` where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return NONE


def coerced(schema: Any, value: Any, root: Json, depth: int) -> Any:
    """Return the value that is meant, as far as that is unambiguous."""
    schema = _resolved(schema, root)
    if not isinstance(schema, dict) or depth > DEEPEST:
        return value
    options = schema.get("anyOf") or schema.get("oneOf") or _each_type(schema)
    if isinstance(options, list):
        return _first_that_fits(options, value, root, depth)
    match schema.get("type"):
        case "object":
            return _coerced_object(schema, _from_text(value, dict), root, depth)
        case "array":
            listed = _from_text(value, list)
            if not isinstance(listed, list):
                return value
            return [coerced(schema.get("items"), item, root, depth + 1) for item in listed]
        case "boolean":
            return _WORDS.get(value.strip().lower(), value) if isinstance(value, str) else value
        case "integer" | "number" as kind:
            return _from_text(value, int if kind == "integer" else (int, float))
        case _:
            return value


def _each_type(schema: Json) -> list[Json] | None:
    kinds = schema.get("type")
    return [{**schema, "type": kind} for kind in kinds] if isinstance(kinds, list) else None


def _first_that_fits(options: list[Any], value: Any, root: Json, depth: int) -> Any:
    for option in options:
        meant = coerced(option, value, root, depth + 1)
        resolved = _resolved(option, root)
        if not isinstance(resolved, dict):
            continue
        if _validator_of({**resolved, "$defs": root.get("$defs") or {}}).is_valid(meant):
            return meant
    return value


def _coerced_object(schema: Json, value: Any, root: Json, depth: int) -> Any:
    fields = schema.get("properties")
    if not isinstance(fields, dict):
        return value
    if isinstance(value, dict):
        return {key: coerced(fields.get(key), item, root, depth + 1) for key, item in value.items()}
    required = schema.get("required")
    if not isinstance(required, list) or len(required) != 1 or value is None:
        return value
    name = required[0]
    return {name: coerced(fields.get(name), value, root, depth + 1)}


def _from_text(value: Any, kind: Any) -> Any:
    """Read text as JSON where that gives a value of the kind."""
    if not isinstance(value, str):
        return value
    found = parsed(value)
    return found if isinstance(found, kind) and not isinstance(found, bool) else value


def _resolved(schema: Any, root: Json) -> Any:
    """Follow references within the schema."""
    for _ in range(DEEPEST):
        if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
            return schema
        schema = _pointed(schema["$ref"], root)
    return None


def _pointed(reference: str, root: Json) -> Any:
    if not reference.startswith("#"):
        return None
    found: Any = root
    for step in reference.removeprefix("#").removeprefix("/").split("/"):
        if step:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
    return found


# ---------------------------------------------------------------------------

LONGEST_SCHEMA_TEXT = 400
"""Characters of a problem's text that say what is expected: enough for a form of ten fields."""

_RESULT = "result"
"""Key under which ADK takes an answer that is not an object."""


# --------------------------------------------------------------------------- questions


def fit_response(request: Raw, response: Raw) -> Raw:
    """Return the answer to `adk_request_input` as the schema wants it. Raise `Unprocessable`."""
    schema = response_schema(request)
    if not schema:
        return response
    given = msgspec.json.decode(bytes(response)) if bytes(response) else None
    if isinstance(given, dict) and given.keys() == {_RESULT}:
        given = given[_RESULT]
    value = _fitted(plain_schema(schema), given)
    return response if value is NONE else to_raw({_RESULT: _unparsed(value)})


def _unparsed(value: Any) -> Any:
    """Return a value as ADK reads it back: it takes a text that is JSON for what that says."""
    if isinstance(value, str) and parsed(value) is not NONE:
        return msgspec.json.encode(value).decode()
    return value


def _fitted(schema: Json, value: Any) -> Any:
    """Return the value that is meant; `NONE` where the schema cannot tell."""
    from referencing.exceptions import Unresolvable

    validator = _validator(schema)
    if validator is None:
        return NONE
    try:
        if validator.is_valid(value):
            return value
        value = coerced(schema, value, schema, 0)
        error = _worst(validator, value)
    except (Unresolvable, RecursionError):
        return NONE
    if error is None:
        return value
    raise Unprocessable(
        f"The answer does not match the requested schema: {_where(error)}. {expected(schema)} "
        "The question stays open."
    )


# --------------------------------------------------------------------------- payloads


def check_payload(asked: Raw, given: Raw) -> None:
    """Raise `Unprocessable` for a payload that has not the shape of the one that was asked for."""
    schema = payload_schema(asked)
    if not schema:
        return
    if not bytes(given):
        if schema.get("type") == "object" and not schema["required"]:
            return
        raise Unprocessable(
            f"The tool requires a payload with the approval, but none was sent. {expected(schema)} "
            "The approval stays open."
        )
    error = _worst(_validator_of(schema), msgspec.json.decode(bytes(given)))
    if error is not None:
        raise Unprocessable(
            f"The payload does not match the schema of the tool: {_where(error)}. "
            f"{expected(schema)} The approval stays open."
        )


# --------------------------------------------------------------------------- words


def expected(schema: Json) -> str:
    """Say in a sentence what a schema wants."""
    fields = schema.get("properties")
    if isinstance(fields, dict) and fields:
        required = schema.get("required") or ()
        data = [
            f"`{name}` ({_kind(field)}{'' if name in required else ', optional'})"
            for name, field in fields.items()
        ]
        text = f"Expected an object with {', '.join(data)}."
    else:
        text = f"Expected {_kind(schema)}."
    return text if len(text) <= LONGEST_SCHEMA_TEXT else f"{text[:LONGEST_SCHEMA_TEXT]}…"


def _kind(schema: Any) -> str:
    if not isinstance(schema, dict):
        return "any value"
    if isinstance(schema.get("enum"), list):
        return "one of " + ", ".join(str(each) for each in schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(str(each) for each in kind)
    options = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(options, list):
        return " or ".join(_kind(option) for option in options)
    return kind if isinstance(kind, str) else "any value"


def _where(error: Any) -> str:
    place = ".".join(str(step) for step in error.absolute_path)
    return f"{f'at `{place[:80]}`: ' if place else ''}{error.message[:200]}"


# --------------------------------------------------------------------------- schemas


def _worst(validator: Any, value: Any) -> Any:
    """Return the error that says most; None if there is none."""
    from jsonschema.exceptions import best_match

    return best_match(validator.iter_errors(value))


def _validator(schema: Json) -> Any:
    """Return the validator of a schema; None if it cannot tell."""
    from jsonschema import SchemaError

    if b'"patternProperties"' in msgspec.json.encode(schema):
        return None  # an expression can be made to run for ever, and a model may have written it
    try:
        _validator_class().check_schema(schema)
    except (SchemaError, RecursionError):
        return None
    return _validator_of(schema)
