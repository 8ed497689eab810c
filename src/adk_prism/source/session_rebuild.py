"""Rebuild a session's events from the logs of its runs, if the session is gone or was on another server.

The log has every event of an agent, and the state before each run, but not the user's events. Those are
created from the message or the answers in `RunStarted`, and state changes between two runs from the
difference. What was redacted stays redacted. Answers to calls that the logs do not contain (the recording
of a continuation alone) are left out: no model accepts them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pydantic
from google.adk.events.event import Event
from google.genai import types
from msgspec import Raw, Struct

from adk_prism.errors import Unprocessable
from adk_prism.facts.adk_event import INPUT, request_name
from adk_prism.facts.json_value import read_stored
from adk_prism.runlog.entry import Continues, Decision, Response, RunStarted, is_absent
from adk_prism.source.answers import answer_events
from adk_prism.source.fork import EARLIER, Cuttings, copied, state_events, versions
from adk_prism.source.history import find_call
from adk_prism.source.request import ApprovalAnswer, CallAnswer, read_content
from adk_prism.source.sessions import SHARED


class Chapter(Struct, frozen=True):
    """One run of a session, up to the cut."""

    head: RunStarted
    started: float
    events: Sequence[bytes]
    """Its whole events."""
    said: bool = True
    """Whether what the user said at its beginning counts."""


def rebuild(chapters: Sequence[Chapter]) -> Cuttings:
    """Return what a session was. Raise `Unprocessable` for an event that this ADK cannot read."""
    events: list[Event] = []
    state: dict[str, Any] = {}
    for chapter in chapters:
        delta = _difference(chapter.head.state, state)
        events += state_events(delta, chapter.started - EARLIER)
        if chapter.said:
            events += _said(chapter, events)
        logged = [_read(event) for event in chapter.events]
        events += logged
        state |= delta
        for event in logged:
            state |= copied(event).actions.state_delta
    known = _without_orphans(events)
    return Cuttings([copied(event) for event in known], versions(known, highest=True), {})


def answers_of(continues: Continues) -> tuple[list[CallAnswer], list[ApprovalAnswer]]:
    """Return the answers of a continuation, as ADK takes them."""
    results = [
        CallAnswer(
            call=continues.adk_ids.get(call, call),
            name=continues.open_calls.get(call, ""),
            response=response,
        )
        for call, response in continues.answers.items()
    ]
    decisions = [_approval_answer(decision) for decision in continues.decisions.values()]
    return results, decisions


def responses_of(
    responses: Mapping[str, Response],
) -> tuple[list[CallAnswer], list[ApprovalAnswer]]:
    """Return the answers of a user's message, as ADK takes them; a credential is not kept."""
    results = [
        CallAnswer(call=request, name=request_name(given.kind), response=given.response)
        for request, given in responses.items()
        if not is_absent(given.response)
    ]
    decisions = [
        _approval_answer(given.decision)
        for given in responses.values()
        if given.decision is not None
    ]
    return results, decisions


def _approval_answer(decision: Decision) -> ApprovalAnswer:
    return ApprovalAnswer(
        approval=decision.approval,
        approved=decision.approved,
        reason=decision.reason,
        payload=decision.payload,
    )


def _difference(recorded: Mapping[str, Raw], state: Mapping[str, Any]) -> dict[str, Any]:
    values = {k: read_stored(v) for k, v in recorded.items() if not k.startswith(SHARED)}
    return {k: v for k, v in values.items() if k not in state or state[k] != v}


def _read(data: bytes) -> Event:
    try:
        return Event.model_validate_json(data)
    except pydantic.ValidationError as error:
        where = ".".join(str(step) for step in error.errors(include_url=False)[0]["loc"])
        raise Unprocessable(
            f"An event of the recording is not valid for the installed google-adk, at {where[:80]!r}."
        ) from None


def _said(chapter: Chapter, before: Sequence[Event]) -> list[Event]:
    """Return the user's events with which a run began."""
    head = chapter.head
    if head.continues is not None:
        held = head.continues.held
        said = [] if held else _answering_events(answers_of(head.continues), before)
    elif head.responses:
        said = _answering_events(responses_of(head.responses), before)
    elif not bytes(head.message):
        return []
    elif (question := _open_question(before, head.invocation)) is not None:
        said = answer_events(before, [_typed(question, read_content(head.message))])
    else:
        content = read_content(head.message)
        said = [Event(author="user", invocation_id=head.invocation, content=content)]
    return [event.model_copy(update={"timestamp": chapter.started}) for event in said]


def _answering_events(
    answers: tuple[list[CallAnswer], list[ApprovalAnswer]], before: Sequence[Event]
) -> list[Event]:
    given = [answer.function_response() for group in answers for answer in group]
    return answer_events(before, [r for r in given if _is_known(r, before)])


def _is_known(response: types.FunctionResponse, before: Sequence[Event]) -> bool:
    return bool(response.id) and find_call(before, response.id or "") is not None


def _open_question(before: Sequence[Event], invocation: str) -> str | None:
    """Return the question of a workflow to which typed words are the answer."""
    asked = [
        c.id
        for e in before
        if e.invocation_id == invocation
        for c in e.get_function_calls()
        if c.name == INPUT
    ]
    answered = {answer.id for event in before for answer in event.get_function_responses()}
    return next((call for call in reversed(asked) if call not in answered), None)


def _typed(question: str, content: types.Content) -> types.FunctionResponse:
    text = "".join(part.text or "" for part in content.parts or [])
    return types.FunctionResponse(id=question, name=INPUT, response={"result": text})


def _without_orphans(events: Sequence[Event]) -> list[Event]:
    """Return events without answers to calls that are not among them."""
    made = {call.id for event in events for call in event.get_function_calls()}
    return [_answering(event, made) for event in events]


def _answering(event: Event, made: set[str | None]) -> Event:
    answers = event.get_function_responses()
    if all(answer.id in made for answer in answers) or event.content is None:
        return event
    parts = [
        part
        for part in event.content.parts or []
        if part.function_response is None or part.function_response.id in made
    ]
    content = event.content.model_copy(update={"parts": parts}) if parts else None
    return event.model_copy(update={"content": content})
