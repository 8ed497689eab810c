"""Rebuild a session's events from the logs of its runs, if the session is gone or was on another server.

The log has every event of an agent, and the state before each run, but not the user's events. Those are
created from the message or the answers in `RunStarted`, and state changes between two runs from the
difference. What was redacted stays redacted. Answers to calls that the logs do not contain (the recording
of a continuation alone) are left out: no model accepts them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import pydantic
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import BaseNode
from google.genai import types
from msgspec import Raw, Struct

from adk_prism.adk.request import CallAnswer, answer_events, decision_response, read_content
from adk_prism.adk.session_changes import EARLIER, Cuttings, copied, state_events, versions
from adk_prism.adk.session_store import USER, apply_rewinds, find_call
from adk_prism.adk.sessions import SHARED
from adk_prism.errors import Unprocessable, UsageError
from adk_prism.facts.adk_event import INPUT, request_name
from adk_prism.facts.state import read_stored
from adk_prism.log.entry import RESPONSES, Continues, Decision, Response, RunStarted, is_absent


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


def answers_of(continues: Continues) -> tuple[list[CallAnswer], list[Decision]]:
    """Return the answers of a continuation, as ADK takes them."""
    results = [
        CallAnswer(
            call=continues.adk_ids.get(call, call),
            name=continues.open_calls.get(call, ""),
            response=response,
        )
        for call, response in continues.answers.items()
    ]
    return results, list(continues.decisions.values())


def responses_of(
    responses: Mapping[str, Response],
) -> tuple[list[CallAnswer], list[Decision]]:
    """Return the answers of a user's message, as ADK takes them; a credential is not kept."""
    results = [
        CallAnswer(call=request, name=request_name(given.kind), response=given.response)
        for request, given in responses.items()
        if not is_absent(given.response)
    ]
    return results, [each.decision for each in responses.values() if each.decision is not None]


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
    elif RESPONSES.read(head):
        said = _answering_events(responses_of(RESPONSES.read(head)), before)
    elif not bytes(head.message):
        return []
    elif (question := _open_question(before, head.invocation)) is not None:
        said = answer_events(before, [_typed(question, read_content(head.message))])
    else:
        content = read_content(head.message)
        said = [Event(author="user", invocation_id=head.invocation, content=content)]
    return [event.model_copy(update={"timestamp": chapter.started}) for event in said]


def _answering_events(
    answers: tuple[list[CallAnswer], list[Decision]], before: Sequence[Event]
) -> list[Event]:
    results, decisions = answers
    given = [each.function_response() for each in results] + [*map(decision_response, decisions)]
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


# ---------------------------------------------------------------------------
# Calls in doubt: a process died while they ran, so it is unknown whether they took effect.
#
# When an invocation is resumed, ADK runs a call without an answer again: at least once, not exactly
# once. What is right depends on the tool, so a tool can declare a policy, or that it can be repeated
# safely:
#
#     @in_doubt("ask")
#     def send_letter(text: str) -> dict: ...
#
#     @idempotent
#     def transfer(amount: int, tool_context: ToolContext) -> dict:
#         return bank.transfer(amount, key=idempotency_key(tool_context))
#
# The key is the same each time the call runs, and no other call has it. The operator's policy for a
# tool by name (`--in-doubt-tool`) comes first, then the tool's own, then the operator's for all
# (`--in-doubt`).

Policy = Literal["retry", "fail", "ask"]
"""Run the call again, answer it with an error, or ask a person first."""

POLICIES: tuple[Policy, ...] = ("retry", "fail", "ask")

_MARK = "adk_prism_in_doubt"
_FAILED = (
    "This call was under way when the server died, may have taken effect, and was not repeated."
)
_ASKED = (
    "This call was under way when the server died: it may have taken effect already. Run it again?"
)
_WAITS = "A person is asked whether to repeat this call."
_REJECTED = "This tool call is rejected."

Tool = TypeVar("Tool", bound=Callable[..., Any] | BaseTool)


class InDoubt(Struct, frozen=True):
    """The operator's policy."""

    policy: Policy = "retry"
    tools: Mapping[str, Policy] = {}
    """Policies of single tools, by name."""

    def of(self, tool: BaseTool) -> Policy:
        """Return the policy for a call of a tool."""
        return self.tools.get(tool.name) or _mark_of(tool) or self.policy


def in_doubt(policy: Policy) -> Callable[[Tool], Tool]:
    """Declare what to do about a call of this tool that was running when its process died.

    `retry` runs it again, `fail` answers it with an error, `ask` asks a person first. Raise `UsageError`
    for anything else.
    """
    if policy not in POLICIES:
        raise UsageError(
            f"The policy for calls in doubt must be retry, fail or ask, got {policy!r}."
        )

    def mark(tool: Tool) -> Tool:
        setattr(tool, _MARK, policy)
        return tool

    return mark


def idempotent(tool: Tool) -> Tool:
    """Mark a tool as one that may be repeated: it gives `idempotency_key` to whatever it changes."""
    return in_doubt("retry")(tool)


def idempotency_key(tool_context: ToolContext) -> str:
    """Return a key that a call keeps when it runs again after a takeover."""
    return f"{tool_context.invocation_id}/{tool_context.function_call_id or ''}"


def answer_in_doubt(doubt: InDoubt, tool: BaseTool, context: ToolContext) -> dict[str, Any] | None:
    """Return the answer to a call in doubt in place of the tool's; None lets it run."""
    policy = doubt.of(tool)
    if policy == "retry":
        return None
    if policy == "fail":
        return {"error": _FAILED}
    context.request_confirmation(hint=_ASKED)
    context.actions.skip_summarization = True
    return {"error": _WAITS}


def answer_denied(context: ToolContext) -> dict[str, Any] | None:
    """Return the answer to a call in doubt that a person does not want repeated.

    ADK itself stops only tools with `require_confirmation`.
    """
    confirmation = context.tool_confirmation
    if confirmation is None or confirmation.confirmed:
        return None
    call = context.function_call_id or ""
    for event in reversed(context.session.events):
        asked = event.actions.requested_tool_confirmations.get(call)
        if asked is not None:
            return {"error": _REJECTED} if asked.hint == _ASKED else None
    return None


def _mark_of(tool: BaseTool) -> Policy | None:
    """Return the policy that a tool, or the function that it calls, declares."""
    found: Policy | None = getattr(tool, _MARK, None)
    return found or getattr(getattr(tool, "func", None), _MARK, None)


# ---------------------------------------------------------------------------
# Model calls that were completed before their process died: the stored answer counts, none is repeated.
#
# google-adk 2.13 asks the model again when it resumes an agent whose answer is stored and whose end is
# not (the
# process died in `after_agent_callback`, or just before the end): with its own answer last, and both
# stay.
# So, when a run is taken over, the first model request of such an agent is answered here:
# - with nothing, for an agent that talks to the user: ADK ends the agent without an event, its callbacks
#   after
#   it are called, and the agents around it go on;
# - with the stored answer, for an agent whose answer another node gets (a `single_turn` or `task` child,
#   a node
#   of a workflow): ADK takes the answer from an event of this attempt, as it does with all completed
#   nodes.

_ANSWERS_A_NODE = ("single_turn", "task")
"""Modes of agents whose answer is for another node."""

_Speaker = tuple[str, str, str]
"""Agent, branch, path of the node: one that is resumed has the same."""


class CompletedCalls:
    """The answers that a session holds of the invocation that is resumed, by speaker; each counts once."""

    def __init__(self, events: Sequence[Event], invocation: str) -> None:
        own = [e for e in apply_rewinds(events) if e.invocation_id == invocation and not e.partial]
        self._answers: dict[_Speaker, Event] = {}
        for event in own:
            if _says_something(event):
                self._drop([each for each in self._answers if _concerns(event, each)])
                if event.author != USER and _is_answer(event):
                    self._answers[_speaker(event)] = event

    def note(self, event: Event) -> None:
        """See an event of the resumed run: an agent that goes on may ask those below it once more, in a loop.

        A node of the newer runtime has another path then.
        """
        if self._answers and _says_something(event):
            self._drop([each for each in self._answers if not each[2] and _concerns(event, each)])

    def _drop(self, speakers: Sequence[_Speaker]) -> None:
        for speaker in speakers:
            del self._answers[speaker]

    def take(self, context: CallbackContext) -> LlmResponse | None:
        """Return the answer to a model request that was completed before; None: the model is to be asked."""
        event = self._answers.pop(
            (context.agent_name, context.branch or "", context.node_path), None
        )
        if event is None:
            return None
        agent = context.get_invocation_context().agent
        if isinstance(agent, LlmAgent) and agent.mode in _ANSWERS_A_NODE:
            return LlmResponse(content=event.content, partial=False)
        return LlmResponse()


def is_last_answer(event: Event, root: BaseNode) -> bool:
    """Return whether an event is a final answer to the user, after which no other agent goes on."""
    agent = root.find_agent(event.author) if isinstance(root, BaseAgent) else None
    if agent is None or event.branch or not _is_answer(event):
        return False
    while agent is not None:
        if not isinstance(agent, LlmAgent) or agent.mode in _ANSWERS_A_NODE:
            return False
        agent = agent.parent_agent
    return True


def _is_answer(event: Event) -> bool:
    is_said = bool(event.content or event.error_code) and not event.get_function_calls()
    return is_said and event.is_final_response()


def _says_something(event: Event) -> bool:
    """Return whether an event is more than a change of state: content, or where an agent goes on."""
    said = event.content is not None or event.output is not None or bool(event.error_code)
    return said or event.actions.agent_state is not None


def _speaker(event: Event) -> _Speaker:
    return event.author, event.branch or "", event.node_info.path


def _concerns(event: Event, speaker: _Speaker) -> bool:
    """Return whether a speaker, or an agent around it, has gone on with an event."""
    _, branch, path = speaker
    return _is_around(event.branch or "", branch, ".") and _is_around(
        event.node_info.path, path, "/"
    )


def _is_around(outer: str, inner: str, separator: str) -> bool:
    return not outer or outer == inner or inner.startswith(outer + separator)
