"""The ADK plugin of runs that this process records: it observes their nodes, and keeps what is stored sound.

`nodes.callbacks` observes. Beyond that the plugin acts: only the owner of a run stores its events, and a tool
is not called whose start could not be recorded, whose call is in doubt, that a person refused, or that is
answered from a recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.adk.agents import BaseAgent, InvocationContext, LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.tools import BaseTool, ToolContext
from google.adk.workflow import BaseNode

from adk_prism.adk import nodes, tools
from adk_prism.adk.client_tools import with_interim_results
from adk_prism.adk.errors import report_error
from adk_prism.adk.nodes import SIGNALS, NodeCallbacks, see
from adk_prism.adk.plain_json import make_storable
from adk_prism.adk.redaction import safe_code
from adk_prism.adk.run_observer import SCOPE
from adk_prism.adk.session_store import USER, apply_rewinds, is_said
from adk_prism.errors import NotAnEvent, Report
from adk_prism.log.coordination import still_owned

NAME = "adk_prism_nodes"

_NOT_CALLED = "The tool was not called: its start could not be recorded."


def watch_nodes(runner: Runner, limits: tools.ToolTimeouts, report: Report) -> None:
    """Observe a Runner's nodes and limit its tools: add our plugins, one before all others, one behind."""
    manager = runner.plugin_manager
    if manager.get_plugin(NAME) is None:
        manager.plugins.insert(0, NodePlugin(runner.agent))
    if manager.get_plugin(tools.TIMEOUT_PLUGIN) is None:
        manager.plugins.append(ToolErrors(limits, report))
    SIGNALS.attach()


class NodePlugin(NodeCallbacks):
    """Observes and guards the current run; without one, it does nothing."""

    def __init__(self, root: BaseNode) -> None:
        """`root` is that of the Runner: ADK's callbacks do not give it if it is not an agent."""
        super().__init__(name=NAME)
        self._root = root

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        scope, session = SCOPE.get(), invocation_context.session
        if scope is not None:
            observer = scope.observer
            if observer.tools is not None:
                observer.tools.enter(session)
            if observer.is_resumed and observer.completed is None:
                invocation = invocation_context.invocation_id
                observer.completed = CompletedCalls(session.events, invocation)
            observer.appended.has_begun = True
        await see(nodes.run_started, invocation_context, self._root)

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> None:
        yielded: object = event  # whatever the agent yielded
        if not isinstance(yielded, Event):
            _note_not_an_event(invocation_context, yielded)
            return  # ADK fails on it next; an error here would be blamed on this plugin.
        if not event.invocation_id:
            # An agent may leave it out, and ADK stores the event so: then nobody knows whose turn it is.
            event.invocation_id = invocation_context.invocation_id
        if not event.partial:
            await still_owned()  # ADK stores it next; only the owner of the run may.
            make_storable(event)
        # The run's own events are yielded. Of those that a tool hides none is partial.
        scope = SCOPE.get()
        if scope is not None and scope.observer.completed is not None and not event.partial:
            scope.observer.completed.note(event)
        if scope is not None and scope.run is not None and scope.run.owner is not None:
            await see(nodes.event_received, invocation_context, event)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        await super().before_tool_callback(
            tool=tool, tool_args=tool_args, tool_context=tool_context
        )
        answer = await _answer_instead(tool, tool_args, tool_context)
        work = tools.WORK.get()
        if answer is None and work is not None:
            work.begin(tool_context.function_call_id or "", tool.name)
        return answer

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> Any | None:
        _end_work(tool_context)
        await super().after_tool_callback(
            tool=tool, tool_args=tool_args, tool_context=tool_context, result=result
        )
        # Callbacks after a tool have had their part in a recorded answer: they are not called again.
        return result if _is_recorded(tool) else None

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        scope = SCOPE.get()
        if scope is not None:
            if (failure := scope.observer.unanswered) is not None:
                return LlmResponse(error_code=failure.kind, error_message=failure.detail)
            completed = scope.observer.completed
            answer = completed.take(callback_context) if completed is not None else None
            if answer is not None:
                return answer
            contents = with_interim_results(llm_request.contents, llm_request.tools_dict)
            llm_request.contents = contents
        await super().before_model_callback(
            callback_context=callback_context, llm_request=llm_request
        )
        return None

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: BaseException,
    ) -> None:
        _end_work(tool_context)
        await super().on_tool_error_callback(
            tool=tool, tool_args=tool_args, tool_context=tool_context, error=error
        )


def _note_not_an_event(context: InvocationContext, yielded: object) -> None:
    scope, agent = SCOPE.get(), context.agent
    if scope is None:
        return
    name = agent.name if agent is not None else context.app_name
    others = ", or an agent inside it," if getattr(agent, "sub_agents", None) else ""
    kind = type(yielded).__name__
    scope.observer.not_an_event = NotAnEvent(
        f"The agent {name!r}{others} yielded an object of type {kind!r}; ADK expects an Event."
    )


def _end_work(context: ToolContext) -> None:
    work = tools.WORK.get()
    if work is not None:
        work.end(context.function_call_id or "")


def _is_recorded(tool: BaseTool) -> bool:
    scope = SCOPE.get()
    if scope is None or scope.observer.tools is None:
        return False
    return not scope.observer.tools.is_called(tool)


async def _answer_instead(
    tool: BaseTool, arguments: dict[str, Any], context: ToolContext
) -> dict[str, Any] | None:
    """Return an answer instead of the tool's; None for a tool that is called.

    If the log cannot be written, the call is in doubt or was denied, or the run is answered from a recording.
    """
    scope = SCOPE.get()
    if scope is None:
        return None
    observer = scope.observer
    if observer.error is not None:
        return {"error": _NOT_CALLED}
    policy = observer.doubts.pop(context.function_call_id or "", None)
    answer = (
        tools.answer_denied(context)
        if policy is None
        else tools.answer_in_doubt(policy, tool, context)
    )
    if answer is None and observer.tools is not None:
        return await observer.tools.answer(tool, arguments, context)
    return answer


# ---------------------------------------------------------------------------
# Tools that fail on the payload of an approval.
#
# A payload is validated before the approval counts (`facts/pending`); the tool may still
# reject it. ADK would end the run with the exception, and the approval would be used up. This plugin
# answers instead of the tool: the model gets an error, the operator the cause. It acts only in runs
# that took such a payload from a person; on ADK's own routes ADK handles the exception.


class ToolErrors(tools.TimeoutPlugin):
    """Answers for tools that took too long, or failed on a payload. The last of a Runner's plugins."""

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Any
    ) -> dict[str, Any] | None:
        """Answer for such a tool; leave every other exception to ADK."""
        answer = await super().on_tool_error_callback(
            tool=tool, tool_args=tool_args, tool_context=tool_context, error=error
        )
        scope, confirmation = SCOPE.get(), tool_context.tool_confirmation
        if answer is not None or scope is None or not scope.observer.takes_payloads:
            return answer
        if confirmation is None or confirmation.payload is None or not isinstance(error, Exception):
            return None
        return tool_failure(tool, error, self._report)


def tool_failure(tool: BaseTool, error: Exception, report: Report) -> dict[str, Any]:
    """Return the answer of a tool that raised, and report why."""
    correlation = report_error(report, "tool failed", error, tool.name)
    kind = safe_code(type(error).__name__)
    return {"error": f"The tool failed ({kind}). Reference: {correlation}."}


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
    return is_said(event) or event.actions.agent_state is not None


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
