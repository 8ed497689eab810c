"""Pending questions to the user in order, and their answers in ADK's form.

Answers of one batch are sent together, because ADK continues when it has all of them.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from adk_prism.console import words
from adk_prism.console.credential import SignIn, sign_in
from adk_prism.errors import UsageError
from adk_prism.facts.adk_event import CONFIRMATION, CREDENTIAL, INPUT
from adk_prism.facts.calls.pending import Pending

Kind = Literal["approval", "input", "credential", "result"]


class Question(Struct, frozen=True):
    """One thing to answer."""

    kind: Kind
    id: str
    """ADK's id for the answer."""
    name: str
    """The tool that it is about, or the text of the question."""
    schema: dict[str, Any] = {}
    """JSON Schema of the answer; empty if any text will do."""
    sign_in: SignIn | None = None
    """Of a sign-in request: the URL and what to return."""

    @property
    def wants(self) -> str:
        """What to type if plain text is not enough, such as `guests (integer)`."""
        if self.sign_in is not None:
            return self.sign_in.wants
        if _is_text(self.schema):
            return ""
        members = self.schema.get("properties") or {}
        required = self.schema.get("required") or []
        members_shown = (
            f"{name} ({_kind(about)}{'' if name in required else words.OPTIONAL})"
            for name, about in members.items()
        )
        return ", ".join(members_shown) or _kind(self.schema)


def questions(pending: Pending) -> list[Question]:
    """Return the questions that can be answered here, in order."""
    found = [
        Question("approval", approval.approval, approval.call.name)
        for approval in pending.approvals.values()
        if approval.approval not in pending.held_decisions
    ]
    found += [
        _READ[request.kind](request.call, _tree(request.request))
        for request in pending.requests.values()
    ]
    found += [Question("result", c.adk_id, c.name) for c in pending.client_calls.values()]
    return found


def _tree(request: Raw) -> dict[str, Any]:
    tree = msgspec.json.decode(bytes(request)) if bytes(request) else {}
    return tree if isinstance(tree, dict) else {}


def _credential(call: str, tree: dict[str, Any]) -> Question:
    return Question("credential", call, "sign-in", sign_in=sign_in(tree))


def _input(call: str, tree: dict[str, Any]) -> Question:
    schema = tree.get("response_schema") or tree.get("responseSchema")
    asked = str(tree.get("message") or "input")
    return Question("input", call, asked, schema if isinstance(schema, dict) else {})


_READ = {"input": _input, "credential": _credential}


def response(question: Question, answer: bool | str, reason: str = "") -> dict[str, Any]:
    """Return an answer as a message part. Raise `UsageError` if it does not match the question."""
    if isinstance(answer, bool):
        why = {"payload": {"reason": reason}} if reason else {}
        return _part(question.id, CONFIRMATION, {"confirmed": answer, **why})
    if question.sign_in is not None:
        return _part(question.id, CREDENTIAL, question.sign_in.answer(answer))
    if question.kind == "input":
        return _part(question.id, INPUT, {"result": _as_asked(question, answer)})
    value = _json(answer)
    return _part(
        question.id, question.name, value if isinstance(value, dict) else {"result": value}
    )


def _part(adk_id: str, name: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"functionResponse": {"id": adk_id, "name": name, "response": value}}


def _as_asked(question: Question, text: str) -> Any:
    """Parse the text according to the schema; a single value fills a single required member."""
    schema = question.schema
    if _is_text(schema):
        return text
    value = _json(text)
    if _kind(schema) != "object":
        return value
    required = list(schema.get("required") or [])
    if not isinstance(value, dict) and len(required) == 1:
        value = {required[0]: value}
    if not isinstance(value, dict) or any(name not in value for name in required):
        raise UsageError(words.ANSWER_MUST_BE_OBJECT.format(fields=question.wants))
    return value


def _is_text(schema: dict[str, Any]) -> bool:
    return _kind(schema) in ("", "string")


def _kind(schema: Any) -> str:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind.lower() if isinstance(kind, str) else ""


def _json(text: str) -> Any:
    """Parse the text as JSON if possible, else return it."""
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError:
        return text
