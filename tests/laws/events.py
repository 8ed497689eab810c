"""ADK events as plain objects, in ADK's own spelling: short ways to write them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.log.entry import (
    DERIVED,
    WARNINGS,
    AgentEvent,
    Continues,
    Entry,
    Origin,
    Outcome,
    Record,
    RunEnded,
    RunStarted,
    Warned,
    labels,
)

Json = dict[str, Any]

ORIGIN = Origin(app="app", user="user", session="session")
RUN = "run-1"


def event(*parts: Json, author: str = "agent", partial: bool | None = None, **fields: Any) -> Json:
    """One event of an agent; `path` and `branch` say where."""
    found: Json = {"id": "e", "author": author, "invocationId": "e-1", "timestamp": 1.5}
    if parts:
        found["content"] = {"role": "model", "parts": list(parts)}
    if partial is not None:
        found["partial"] = partial
    path = fields.pop("path", "")
    if path:
        found["nodeInfo"] = {"path": path}
    return found | {key: value for key, value in fields.items() if value is not None}


def text(said: str, **more: Any) -> Json:
    return {"text": said, **more}


def thought(said: str, **more: Any) -> Json:
    return {"text": said, "thought": True, **more}


def call(name: str, call_id: str | None = "c1", args: Any = None, **more: Any) -> Json:
    found = {"name": name, "id": call_id, "args": args, **more}
    return {"functionCall": {key: value for key, value in found.items() if value is not None}}


def answer(name: str, call_id: str | None = "c1", response: Any = None, **more: Any) -> Json:
    found = {"name": name, "id": call_id, "response": response, **more}
    return {"functionResponse": {key: value for key, value in found.items() if value is not None}}


def progress(call_id: str = "c1", **report: Any) -> Json:
    """What a tool says of a call before it returns."""
    said = {"call": call_id, **report}
    return event(partial=True, customMetadata={"adk_prism_progress": said})


def confirmation(gated: Json, approval: str = "a1", hint: str = "", payload: Any = None) -> Json:
    """The call by which ADK asks a person about another call."""
    asked: Json = {"hint": hint, "confirmed": False}
    if payload is not None:
        asked["payload"] = payload
    args = {"originalFunctionCall": gated["functionCall"], "toolConfirmation": asked}
    return call("adk_request_confirmation", approval, args)


def placeholder(gated: Json, **fields: Any) -> Json:
    """The event that answers a gated call for the time being."""
    asked = gated["functionCall"]
    actions = {"requestedToolConfirmations": {asked["id"]: {"hint": "", "confirmed": False}}}
    part = answer(asked["name"], asked["id"], {"error": "This tool call requires confirmation."})
    return event(part, actions=actions, **fields)


def decision(approval: str, approved: bool) -> Json:
    """The event by which a person answers, as ADK keeps it in a session."""
    response = {"confirmed": approved}
    return event(answer("adk_request_confirmation", approval, response), author="user")


IGNORED = [Warned(code="tools-ignored", text="They were ignored.")]


def entries(
    events: Iterable[Json | bytes | Record],
    outcome: Outcome | None = None,
    continues: Continues | None = None,
    code: str = "",
    captured: bool | None = None,
) -> list[Entry]:
    """A run of these events; without an outcome it is folded, as for a capture."""
    if captured is None:
        captured = outcome is None and continues is None
    said = not captured and continues is None
    started = RunStarted(
        run=RUN,
        origin=ORIGIN,
        continues=continues,
        rewound=["m-1", "run-0"] if said else [],
        labels=labels(DERIVED(captured), WARNINGS(IGNORED if said else [])),
    )
    run = [Entry(1, 0.0, started)]
    for item in events:
        run.append(Entry(len(run) + 1, float(len(run)), _record(item)))
    ending = CaptureEnding()
    for entry in run:
        ending.feed(entry)
    ended = RunEnded(outcome=outcome, code=code) if outcome is not None else ending.ended()
    run.append(Entry(len(run) + 1, float(len(run)), ended))
    return run


def _record(item: Json | bytes | Record) -> Record:
    if isinstance(item, dict):
        return AgentEvent(json.dumps(item).encode())
    return AgentEvent(item) if isinstance(item, bytes) else item
