"""Answers to calls of an earlier run: matched with the calls, and stored where each agent will see them.

google-adk 2.13 takes the answers as one message of the user, and loses some of them:
- an event that answers `adk_request_confirmation` or `adk_request_credential` is hidden from the
  model whole (`flows/llm_flows/context/_contents.py`), so a client-run tool's result in the same
  message never reaches it;
- an event belongs to one branch, that of the first call it answers (`Runner._append_user_event`),
  so an agent in another branch sees nothing: its approved tool does not even run.
So the answers are sorted into groups that may share an event. One group is the message; the others
are stored first, as events of their own, in the branch and scope of the calls that they answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from google.adk.events.event import Event
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.session import Session
from google.genai import types

from adk_prism.errors import Conflict
from adk_prism.facts.adk_event import CONFIRMATION, CREDENTIAL, INPUT
from adk_prism.source.history import find_call, live_events, user_responses

_HIDING = frozenset({CONFIRMATION, CREDENTIAL})
"""An answer to `INPUT` is read by a workflow from the message itself, whatever its branch."""


class _Group:
    """Answers that may share one event."""

    __slots__ = ("call_event", "responses")

    def __init__(self, call_event: Event) -> None:
        self.call_event = call_event
        self.responses: list[types.FunctionResponse] = []

    def event(self) -> Event:
        """Return the user's event that answers, beside the event that called."""
        return Event(
            invocation_id=self.call_event.invocation_id,
            author="user",
            branch=self.call_event.branch,
            isolation_scope=self.call_event.isolation_scope,
            content=_content(self.responses),
        )


class Answers:
    """The answers of one request, with the calls that they answer."""

    def __init__(self, invocation: str, message: types.Content, early: Sequence[_Group]) -> None:
        self.invocation = invocation
        self.message = message
        """What `run_async` is given."""
        self._early = early

    @classmethod
    def find(cls, session: Session, responses: Sequence[types.FunctionResponse]) -> Answers:
        """Match answers to calls. Raise `Conflict` for one whose call is not there (any more)."""
        events = live_events(session)
        made = [_matched(events, response) for response in responses]
        invocations = {event.invocation_id for event, _ in made}
        if len(invocations) > 1:
            raise Conflict("The answers belong to several turns; answer one turn at a time.")
        groups = _grouped(made)
        inputs = [response for _, response in made if response.name == INPUT]
        message = [*(groups[-1].responses if groups else []), *inputs]
        return cls(invocations.pop(), _content(message), groups[:-1])

    async def store_early(
        self, service: BaseSessionService, session: Session, *, again: bool
    ) -> None:
        """Append the answers that cannot be part of the message.

        `again`: the process that began with it died; what it stored is not stored twice.
        """
        answered = user_responses(live_events(session)) if again else frozenset()
        for group in self._early:
            if all(response.id in answered for response in group.responses):
                continue
            await service.append_event(session, group.event())


def answer_events(
    events: Sequence[Event], responses: Sequence[types.FunctionResponse]
) -> list[Event]:
    """Return the user's events that answer calls, as they are stored. Raise `Conflict` as `find` does."""
    made = [_matched(events, response) for response in responses]
    inputs = [(event, response) for event, response in made if response.name == INPUT]
    asked = [
        Event(invocation_id=event.invocation_id, author="user", content=_content([response]))
        for event, response in inputs
    ]
    return [*(group.event() for group in _grouped(made)), *asked]


def _matched(
    events: Sequence[Event], response: types.FunctionResponse
) -> tuple[Event, types.FunctionResponse]:
    """Return the event that made the call, and the answer under the call's own name."""
    event = find_call(events, response.id) if response.id else None
    if event is None:
        raise Conflict(
            f"No call {str(response.id)[:60]!r} is waiting for an answer in this session. "
            "Answer with the id of the call as it was sent."
        )
    name = next(made.name for made in event.get_function_calls() if made.id == response.id)
    return event, response.model_copy(update={"name": name})


def _grouped(made: Sequence[tuple[Event, types.FunctionResponse]]) -> list[_Group]:
    """Group by branch, scope and whether ADK hides it; those that it hides come last."""
    groups: dict[tuple[bool, str | None, str | None], _Group] = {}
    for event, response in made:
        if response.name != INPUT:
            key = (response.name in _HIDING, event.branch, event.isolation_scope)
            groups.setdefault(key, _Group(event)).responses.append(response)
    return [groups[key] for key in sorted(groups, key=lambda key: key[0])]


def _content(responses: Sequence[types.FunctionResponse]) -> types.Content:
    parts = [types.Part(function_response=response) for response in responses]
    return types.Content(role="user", parts=parts)
