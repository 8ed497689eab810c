"""What a run asks a person: the interrupts with which it ends.

An interrupt's id is the id of ADK's request call, by which an answer finds it in the log. An approval is
about a call that the client knows: it gets that call's id, and ADK's own request stays hidden.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw, Struct

from adk_prism.facts.adk_event import MADE_UP_HINT
from adk_prism.facts.model import ApprovalRequested, InputRequested
from adk_prism.facts.pending import payload_schema, plain_schema, response_schema
from adk_prism.facts.state import read_object
from adk_prism.protocols.ag_ui.frames import Json, bounded
from adk_prism.protocols.ag_ui.owners import Tag

APPROVAL = "tool_call"
INPUT = "input_required"
CREDENTIAL = "adk:credential"
"""Reasons of interrupts; the last one is no word of the protocol, and so has a namespace."""

_MESSAGES = {
    APPROVAL: "{} waits for your approval.",
    INPUT: "An answer is needed.",
    CREDENTIAL: "A sign-in is needed.",
}


class _Asked(Struct, frozen=True):
    """An open question."""

    call: str
    """The call that waits for the answer, as facts name it; empty if none does."""
    interrupt: Json
    tag: Tag


class Questions:
    """The open questions of one run."""

    def __init__(self) -> None:
        self._open: dict[str, _Asked] = {}
        """By interrupt id, in the order in which they were asked."""

    def ask_approval(self, item: ApprovalRequested, tool: str, tool_call: str, tag: Tag) -> Json:
        """Note a request for an approval; return its interrupt."""
        hint = "" if item.hint.startswith(MADE_UP_HINT) else item.hint
        about: Json = {"toolName": tool} if tool else {}
        if bytes(item.payload):
            about["payload"] = bounded(item.payload)
        interrupt = _interrupt(
            item.approval,
            APPROVAL,
            hint or _MESSAGES[APPROVAL].format(tool or "A call"),
            toolCallId=tool_call,
            responseSchema=_decision_schema(item.payload),
            metadata={"adk": about} if about else None,
        )
        return self._add(item.approval, item.call, interrupt, tag)

    def ask_input(self, item: InputRequested, tool_call: str, tag: Tag) -> Json:
        """Note a request for input, or for a sign-in; return its interrupt."""
        request = read_object(item.request)
        asked = request.get("message")
        reason = INPUT if item.kind == "input" else CREDENTIAL
        interrupt = _interrupt(
            item.call,
            reason,
            asked if isinstance(asked, str) and asked else _MESSAGES[reason],
            toolCallId=tool_call or None,
            responseSchema=plain_schema(response_schema(item.request)) or None,
            metadata={"adk": {"request": bounded(item.request)}} if request else None,
        )
        return self._add(item.call, item.for_call, interrupt, tag)

    def _add(self, name: str, call: str, interrupt: Json, tag: Tag) -> Json:
        if tag is not UNSET:
            interrupt["subagentRunId"] = tag
        self._open[name] = _Asked(call, interrupt, tag)
        return interrupt

    def decide(self, name: str) -> None:
        """Note an answer that is in the run itself."""
        self._open.pop(name, None)

    def settle(self, call: str) -> None:
        """Note that a call has its result: nothing is asked about it any more."""
        for name in [name for name, asked in self._open.items() if asked.call == call]:
            del self._open[name]

    @property
    def owners(self) -> dict[str, Tag]:
        """Whose the open questions are, by interrupt id."""
        return {name: asked.tag for name, asked in self._open.items()}

    @property
    def calls(self) -> set[str]:
        """The calls that wait for a person, as facts name them."""
        return {asked.call for asked in self._open.values() if asked.call}

    def interrupts(self) -> list[Json]:
        """Return the open questions."""
        return [asked.interrupt for asked in self._open.values()]


def _interrupt(name: str, reason: str, message: str, **more: Any) -> Json:
    given = {key: value for key, value in more.items() if value is not None}
    return {"id": name, "reason": reason, "message": message, **given}


def _decision_schema(payload: Raw) -> Json:
    """Return what an approval is answered with: a decision, and what the tool wants with it.

    Arguments cannot be edited: ADK runs the call as the model made it.
    """
    fields: Json = {"approved": {"type": "boolean"}, "reason": {"type": "string"}}
    schema: Json = {"type": "object", "properties": fields, "required": ["approved"]}
    if wanted := payload_schema(payload):
        fields["payload"] = wanted
        schema["if"] = {"properties": {"approved": {"const": True}}}
        schema["then"] = {"required": ["payload"]}
    return schema
