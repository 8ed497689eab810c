"""Model calls that were completed before their process died: the stored answer counts, none is repeated.

google-adk 2.13 asks the model again when it resumes an agent whose answer is stored and whose end is not (the
process died in `after_agent_callback`, or just before the end): with its own answer last, and both stay.
So, when a run is taken over, the first model request of such an agent is answered here:
- with nothing, for an agent that talks to the user: ADK ends the agent without an event, its callbacks after
  it are called, and the agents around it go on;
- with the stored answer, for an agent whose answer another node gets (a `single_turn` or `task` child, a node
  of a workflow): ADK takes the answer from an event of this attempt, as it does with all completed nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.models.llm_response import LlmResponse
from google.adk.workflow import BaseNode

from adk_prism.source.history import USER, apply_rewinds

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
