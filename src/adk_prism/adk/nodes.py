"""What ADK's callbacks and log lines mean for the nodes of a run.

What google-adk does not say is decided here:
- `after_agent` is not called for an agent that hands over, delegates a task, waits inside a tool, or was
  answered by a callback. Where the node runner runs the agent, its log line is the end, which also comes
  after the agent's own callbacks. Older agents end when their parent continues;
- an agent's error is reported before its last events are out, so its end waits for the error's event;
- an agent that delegated a task is entered again for the answer: it is the same node all along;
- a tool that asked a person, or left its answer to the client, *waits*; one that a person refused is
  *cancelled*; one that answered with an error has failed, though the run continues;
- an `AgentTool` that returns nothing has delegated a task: it is open until the task's answer comes.

Each function handles one callback at the current place in the run (`run_observer.SCOPE`) and moves that
place: into a node that starts, out of a node that ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from google.adk.agents import BaseAgent, InvocationContext
from google.adk.agents.callback_context import CallbackContext
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools import AgentTool, BaseTool, ToolContext
from google.adk.workflow import BaseNode
from msgspec import Raw

from adk_prism.adk.agents import kind_of
from adk_prism.adk.internals.log_lines import AdkLogListener
from adk_prism.adk.plain_json import encode_strictly
from adk_prism.adk.redaction import safe_code
from adk_prism.adk.request import Lane
from adk_prism.adk.run_observer import SCOPE, Node, ObservedRun, RunObserver, Scope
from adk_prism.facts.calls import failure
from adk_prism.log.entry import NodeStatus


def is_cancelling() -> bool:
    """Return whether the task in which this happens is being cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


# --------------------------------------------------------------------------- runs


def run_started(scope: Scope, context: InvocationContext, root: BaseNode) -> None:
    """Handle the start of a Runner: the run itself, or one inside the current node."""
    agent = context.agent
    if isinstance(agent, BaseAgent):
        root = agent.root_agent  # an agent behind a tool is the root of its own run
    run = ObservedRun(root, context.session, scope.node)
    scope.observer.enter(run, context.invocation_id)
    SCOPE.set(scope._replace(run=run))


def event_received(scope: Scope, context: InvocationContext, event: Event) -> None:
    """Handle an event of a run inside a tool."""
    scope.observer.record_child(context.invocation_id, event)


# --------------------------------------------------------------------------- agents


def agent_started(scope: Scope, agent: BaseAgent, context: CallbackContext) -> None:
    """Handle the start of an agent; the current node may turn out to be it."""
    if scope.run is None:
        return
    node = scope.node
    if node is not None and node.is_signalled and node.name == agent.name and node.is_open:
        if not node.is_noted:
            node.kind = kind_of(agent)
            node.branch = context.branch or ""
        return
    state = context.state.to_dict()
    parent = _around(scope, agent, state)
    started = Node(scope.run, agent.name, kind_of(agent), parent)
    started.path = context.node_path
    started.branch = context.branch or ""
    started.outer = parent
    if parent is not None and parent.kind == "tool":
        started.call = parent.call
    scope.run.add_older(started)
    scope.observer.begin(started, state)
    SCOPE.set(scope._replace(node=started))


def _around(scope: Scope, agent: BaseAgent, state: dict[str, Any]) -> Node | None:
    """Find the node that an older agent runs in; end those before it whose end was not reported."""
    wanted = agent.parent_agent.name if agent.parent_agent is not None else ""
    nodes = [node for node in _enclosing(scope.node) if node.is_open]
    for index, node in enumerate(nodes):
        if node.kind == "workflow" and node.name == wanted:
            for stale in nodes[:index]:
                scope.observer.close(stale, state, derived=True)
            return node
    if nodes:
        return nodes[0]
    return scope.run.owner if scope.run is not None else None


def _enclosing(node: Node | None) -> list[Node]:
    return list(node.enclosing()) if node is not None else []


def agent_ended(scope: Scope, agent: BaseAgent, context: CallbackContext) -> None:
    """Handle the end of an older agent; the others end by signal."""
    node = _named(scope, agent.name)
    if node is None or node.is_signalled:
        return
    status: NodeStatus | None = "cancelled" if is_cancelling() else None
    scope.observer.close(node, context.state.to_dict(), status)
    SCOPE.set(scope._replace(node=node.outer))


def agent_failed(scope: Scope, agent: BaseAgent, error: Exception) -> None:
    """Handle the error of an agent; its end comes later."""
    node = _named(scope, agent.name)
    if node is None:
        return
    if node.is_signalled:
        node.failure = code_of(error)
    else:
        scope.observer.hold(node, code_of(error))
        SCOPE.set(scope._replace(node=node.outer))


def _named(scope: Scope, name: str) -> Node | None:
    """Find the innermost open node of that name around this place."""
    return next((n for n in _enclosing(scope.node) if n.is_open and n.name == name), None)


def code_of(error: BaseException) -> str:
    """Return the code that ADK gives an exception: its status, where it has one, else its class."""
    status = getattr(error, "status", None)
    return safe_code(status if isinstance(status, str) else type(error).__name__)


# --------------------------------------------------------------------------- models


def model_asked(scope: Scope, context: CallbackContext, request: LlmRequest) -> None:
    """Handle a request to a model, which is sent if no callback answers it."""
    node = _named(scope, context.agent_name)
    scope.observer.calls.begin(_lane(scope, context), node, request)


def model_answered(scope: Scope, context: CallbackContext, response: LlmResponse) -> None:
    """Handle a response of a model, whole or partial."""
    scope.observer.calls.receive(_lane(scope, context), response)


def model_failed(scope: Scope, context: CallbackContext, error: Exception) -> None:
    """Handle the error of a model."""
    scope.observer.calls.end(_lane(scope, context), code_of(error))


def _lane(scope: Scope, context: CallbackContext) -> Lane:
    node = _named(scope, context.agent_name)
    number = node.id if node is not None else ""
    return context.invocation_id, context.branch or "", context.agent_name, number


# --------------------------------------------------------------------------- tools


def tool_started(scope: Scope, tool: BaseTool, context: ToolContext) -> None:
    """Handle the start of a tool; the current node may turn out to be it."""
    if scope.run is None:
        return
    call = context.function_call_id or ""
    node = scope.node
    if node is not None and not node.is_noted and node.name == tool.name:
        # A tool that is itself a workflow's node.
        node.kind, node.call, node.written = "tool", call, context.actions.state_delta
        scope.run.tools[call] = node
        return
    parent = _named(scope, context.agent_name) or node
    if parent is not None:
        scope.observer.calls.end_in(parent)
    started = Node(scope.run, tool.name, "tool", parent)
    started.call, started.branch = call, context.branch or ""
    started.outer, started.written = node, context.actions.state_delta
    scope.run.tools[call] = started
    scope.observer.begin(started, context.state.to_dict())
    SCOPE.set(scope._replace(node=started))


def tool_ended(scope: Scope, tool: BaseTool, context: ToolContext, result: object) -> None:
    """Handle the return of a tool."""
    call = context.function_call_id or ""
    node = _finish_tool(scope, call)
    if node is None:
        return
    if isinstance(tool, AgentTool) and result is None:
        node.run.deferred[call] = node
        return
    status = _status_of(tool, context, result)
    if node.is_signalled:  # a workflow's node: its answer is its output
        node.waits = status == "waiting"
        return
    scope.observer.close(node, context.state.to_dict(), status)


def _status_of(tool: BaseTool, context: ToolContext, result: object) -> NodeStatus:
    call = context.function_call_id
    actions = context.actions
    if call in actions.requested_tool_confirmations or call in actions.requested_auth_configs:
        return "waiting"
    if tool.is_long_running and not result:
        return "waiting"
    if context.tool_confirmation is not None and not context.tool_confirmation.confirmed:
        return "cancelled"
    return "failed" if _is_failure(result) else "finished"


def _is_failure(result: object) -> bool:
    """Return whether an answer is an error, as it will be read from the log."""
    if not isinstance(result, dict) or not result.keys() & {"error", "success"}:
        return False
    return failure(Raw(encode_strictly(result))) is not None


def tool_failed(scope: Scope, context: ToolContext, error: BaseException) -> None:
    """Handle the error or cancellation of a tool. It has failed even if a plugin answers for it."""
    node = _finish_tool(scope, context.function_call_id or "")
    if node is None:
        return
    cancelled = isinstance(error, asyncio.CancelledError)
    node.failure = None if cancelled else code_of(error)
    if not node.is_signalled:
        status: NodeStatus = "cancelled" if cancelled else "failed"
        scope.observer.close(node, context.state.to_dict(), status)


def _finish_tool(scope: Scope, call: str) -> Node | None:
    """Find the tool that runs a call, and step out of it."""
    for tool in _enclosing(scope.node):
        node = tool.run.tools.get(call)
        if node is not None:
            del node.run.tools[call]
            SCOPE.set(Scope(scope.observer, node.run, node if node.is_signalled else node.outer))
            return node
    return None


# --------------------------------------------------------------------------- signals


def node_started(scope: Scope, path: str) -> None:
    """Handle the start of a node of the newer runtime, perhaps another attempt."""
    run, outer = scope.run, scope.node
    if run is None:
        return
    earlier = _signalled(scope, path)
    if earlier is not None and earlier.run is run:
        # The same place again: it failed, and this is another attempt.
        scope.observer.close(earlier, run.session.state, "failed")
        run.retry(earlier)
        outer = earlier.outer
    node = run.place(path, outer)
    scope.observer.begin(node, run.session.state)
    SCOPE.set(scope._replace(node=node))


def node_ended(scope: Scope, path: str) -> None:
    """Handle the end of a node."""
    _end_node(scope, path, cancelled=False)


def node_cancelled(scope: Scope, path: str) -> None:
    """Handle the cancellation of a node."""
    _end_node(scope, path, cancelled=True)


def _end_node(scope: Scope, path: str, *, cancelled: bool) -> None:
    node = _signalled(scope, path)
    if node is None:
        return
    scope.observer.close(node, node.run.session.state, "cancelled" if cancelled else None)
    SCOPE.set(Scope(scope.observer, node.run, node.outer))


def _signalled(scope: Scope, path: str) -> Node | None:
    """Find the innermost open node of that path around this place."""
    nodes = (n for n in _enclosing(scope.node) if n.is_open and n.is_signalled)
    return next((node for node in nodes if node.path == path), None)


# ---------------------------------------------------------------------------
# The ADK callbacks by which nodes are observed: of agents, models, tools, and runs inside tools.
#
# google-adk calls plugins for agents and tools, and not for other nodes: their starts, and the ends
# of all nodes of the newer runtime, come from the log of its node runner (`adk.log_lines`).
# `nodes.tracker` decides what they mean; this module only dispatches. Observing never makes a run
# fail, and answers nothing.
#
# The plugin must be the first: after one plugin has answered for an agent or a tool, ADK calls no other.


class NodeCallbacks(BasePlugin):
    """Notifies the observer of the current run; without one, it does nothing."""

    async def observe(self, invocation: str, look: Callable[..., None], *what: object) -> None:
        """Let the observer of an invocation see something. Never raises for what it sees."""
        del invocation  # The current scope says which run it is.
        await see(look, *what)

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        at = callback_context.invocation_id
        await self.observe(at, agent_started, agent, callback_context)

    async def after_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        at = callback_context.invocation_id
        await self.observe(at, agent_ended, agent, callback_context)

    async def on_agent_error_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext, error: Exception
    ) -> None:
        await self.observe(callback_context.invocation_id, agent_failed, agent, error)

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        await see(model_asked, callback_context, llm_request)
        return None

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> None:
        # For every delta: no more than this, and nothing is written.
        scope = SCOPE.get()
        if scope is not None and scope.observer.calls.wants(llm_response):
            _look(model_answered, callback_context, llm_response)

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> None:
        del llm_request
        await see(model_failed, callback_context, error)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        del tool_args
        await self.observe(tool_context.invocation_id, tool_started, tool, tool_context)
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> Any | None:
        del tool_args
        at = tool_context.invocation_id
        await self.observe(at, tool_ended, tool, tool_context, result)
        return None

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: BaseException,
    ) -> None:
        del tool, tool_args
        at = tool_context.invocation_id
        await self.observe(at, tool_failed, tool_context, error)


async def see(look: Callable[..., None], *what: object) -> None:
    """Call an observer function, and write its records."""
    observer = _look(look, *what)
    if observer is None:
        return
    if is_cancelling():
        observer.poke()  # a second cancellation while it waits would lose the records
    else:
        await observer.flush()


def _look(look: Callable[..., None], *what: object) -> RunObserver | None:
    scope = SCOPE.get()
    if scope is None or scope.observer.is_inactive:
        return None
    try:
        look(scope, *what)
    except Exception as error:  # Observing must not fail a run; the operator gets a report.
        scope.observer.report(error)
    return scope.observer


def _signal(look: Callable[..., None]) -> Callable[[str], None]:
    def signal(path: str) -> None:
        observer = _look(look, path)
        if observer is not None:
            observer.poke()

    return signal


SIGNALS = AdkLogListener(_signal(node_started), _signal(node_ended), _signal(node_cancelled))
"""One for the process, like ADK's logger; attached at the first run."""
