"""The ADK plugin that sees agents and tools start and end, and the runs that tools hide.

Follows google-adk 2.13, which calls a plugin for agents and tools, and not for other nodes: those, and
the ends of all nodes of the newer runtime, are heard from its node runner (`node_signals`). What the
callbacks do not say is decided here:
- `after_agent` is not called for an agent that hands over, delegates a task, waits inside a tool, or
  was answered for by a callback. Where the node runner runs the agent, its word is the end, which
  also comes after the agent's own callbacks. Older agents end when the one around them goes on;
- an agent's error is told before its last pieces are out, so its end waits for the error's event;
- an agent that delegated a task is entered again for the answer: it is the same node all along;
- a tool that asked a person, or left its answer to the client, *waits*; one that a person refused is
  *cancelled*; one that answered with an error has failed, though the run goes on;
- an `AgentTool` that answers nothing has delegated a task: it is open until the task's answer comes.

The plugin has to be the first: ADK asks no other once one has answered for an agent or a tool.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import BaseNode
from msgspec import Raw

from adk_prism.facts.calls import failure
from adk_prism.runlog.entry import NodeStatus
from adk_prism.source.node_kinds import kind_of
from adk_prism.source.node_signals import NodeSignals
from adk_prism.source.nodes import Node, SeenRun
from adk_prism.source.plain_json import encode_strictly
from adk_prism.source.redaction import safe_code
from adk_prism.source.tap import SCOPE, Scope, Tap

NAME = "adk_prism_nodes"


def watch_nodes(runner: Runner) -> None:
    """See to it that a Runner's nodes can be seen: by a plugin of its own, before all others."""
    manager = runner.plugin_manager
    if manager.get_plugin(NAME) is None:
        manager.plugins.insert(0, NodePlugin(runner.agent))
    SIGNALS.attach()


class NodePlugin(BasePlugin):
    """Tells the tap of the run that is being driven; without one, it does nothing."""

    def __init__(self, root: BaseNode) -> None:
        """`root` is that of the Runner: ADK does not tell of one that is no agent."""
        super().__init__(name=NAME)
        self._root = root

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        await _see(_run_started, invocation_context, self._root)

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> None:
        # The run's own events are yielded. Of those that a tool hides none is partial.
        scope = SCOPE.get()
        if scope is not None and scope.run is not None and scope.run.owner is not None:
            await _see(_event_heard, invocation_context, event)

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        await _see(_agent_started, agent, callback_context)

    async def after_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        await _see(_agent_ended, agent, callback_context)

    async def on_agent_error_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext, error: Exception
    ) -> None:
        del callback_context
        await _see(_agent_failed, agent, error)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> None:
        del tool_args
        await _see(_tool_started, tool, tool_context)

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> None:
        del tool_args
        await _see(_tool_ended, tool, tool_context, result)

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: BaseException,
    ) -> None:
        del tool, tool_args
        await _see(_tool_failed, tool_context, error)


async def _see(look: Callable[..., None], *what: object) -> None:
    """Look at something that happens in the run that is being driven, and have it written."""
    tap = _look(look, *what)
    if tap is None:
        return
    if _is_cancelling():
        tap.poke()  # who is cancelled a second time while it waits could not write
    else:
        await tap.flush()


def _look(look: Callable[..., None], *what: object) -> Tap | None:
    scope = SCOPE.get()
    if scope is None or scope.tap.is_deaf:
        return None
    try:
        look(scope, *what)
    except Exception as error:  # No run may fail for being watched; the operator is told.
        scope.tap.tell(error)
    return scope.tap


def _is_cancelling() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


# --------------------------------------------------------------------------- runs


def _run_started(scope: Scope, context: InvocationContext, root: BaseNode) -> None:
    agent = context.agent
    if isinstance(agent, BaseAgent):
        root = agent.root_agent  # an agent behind a tool is the root of its own run
    run = SeenRun(root, context.session, scope.node)
    scope.tap.enter(run, context.invocation_id)
    SCOPE.set(scope._replace(run=run))


def _event_heard(scope: Scope, context: InvocationContext, event: Event) -> None:
    scope.tap.hear(context.invocation_id, event)


# --------------------------------------------------------------------------- agents


def _agent_started(scope: Scope, agent: BaseAgent, context: CallbackContext) -> None:
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
    scope.tap.begin(started, state)
    SCOPE.set(scope._replace(node=started))


def _around(scope: Scope, agent: BaseAgent, state: dict[str, Any]) -> Node | None:
    """Find the node that an older agent runs in; end those before it that said nothing of their end."""
    wanted = agent.parent_agent.name if agent.parent_agent is not None else ""
    nodes = [node for node in _enclosing(scope.node) if node.is_open]
    for index, node in enumerate(nodes):
        if node.kind == "workflow" and node.name == wanted:
            for stale in nodes[:index]:
                scope.tap.close(stale, state, derived=True)
            return node
    if nodes:
        return nodes[0]
    return scope.run.owner if scope.run is not None else None


def _enclosing(node: Node | None) -> list[Node]:
    return list(node.enclosing()) if node is not None else []


def _agent_ended(scope: Scope, agent: BaseAgent, context: CallbackContext) -> None:
    node = _named(scope, agent.name)
    if node is None or node.is_signalled:
        return
    status: NodeStatus | None = "cancelled" if _is_cancelling() else None
    scope.tap.close(node, context.state.to_dict(), status)
    SCOPE.set(scope._replace(node=node.outer))


def _agent_failed(scope: Scope, agent: BaseAgent, error: Exception) -> None:
    node = _named(scope, agent.name)
    if node is None:
        return
    if node.is_signalled:
        node.failure = code_of(error)
    else:
        scope.tap.hold(node, code_of(error))
        SCOPE.set(scope._replace(node=node.outer))


def _named(scope: Scope, name: str) -> Node | None:
    """Find the innermost open node of that name around this place."""
    return next((n for n in _enclosing(scope.node) if n.is_open and n.name == name), None)


def code_of(error: BaseException) -> str:
    """Return the code that ADK gives an exception: its status, where it has one, else its class."""
    status = getattr(error, "status", None)
    return safe_code(status if isinstance(status, str) else type(error).__name__)


# --------------------------------------------------------------------------- tools


def _tool_started(scope: Scope, tool: BaseTool, context: ToolContext) -> None:
    if scope.run is None:
        return
    call = context.function_call_id or ""
    node = scope.node
    if node is not None and not node.is_noted and node.name == tool.name:
        # A tool that is itself a workflow's node.
        node.kind, node.call = "tool", call
        scope.run.tools[call] = node
        return
    parent = _named(scope, context.agent_name) or node
    started = Node(scope.run, tool.name, "tool", parent)
    started.call = call
    started.branch = context.branch or ""
    started.outer = node
    scope.run.tools[call] = started
    scope.tap.begin(started, context.state.to_dict())
    SCOPE.set(scope._replace(node=started))


def _tool_ended(scope: Scope, tool: BaseTool, context: ToolContext, result: object) -> None:
    call = context.function_call_id or ""
    node = _finish_tool(scope, call)
    if node is None:
        return
    if isinstance(tool, AgentTool) and result is None:
        node.run.deferred[call] = node
        return
    status = _status_of(tool, context, result)
    if node.is_signalled:  # a workflow's node: what it answers is what it gives on
        node.waits = status == "waiting"
        return
    scope.tap.close(node, context.state.to_dict(), status)


def _status_of(tool: BaseTool, context: ToolContext, result: object) -> NodeStatus:
    call = context.function_call_id
    actions = context.actions
    if call in actions.requested_tool_confirmations or call in actions.requested_auth_configs:
        return "waiting"
    if tool.is_long_running and not result:
        return "waiting"
    if context.tool_confirmation is not None and not context.tool_confirmation.confirmed:
        return "cancelled"
    if isinstance(result, dict) and failure(Raw(encode_strictly(result))) is not None:
        return "failed"
    return "finished"


def _tool_failed(scope: Scope, context: ToolContext, error: BaseException) -> None:
    node = _finish_tool(scope, context.function_call_id or "")
    if node is None:
        return
    cancelled = isinstance(error, asyncio.CancelledError)
    node.failure = None if cancelled else code_of(error)
    if not node.is_signalled:
        status: NodeStatus = "cancelled" if cancelled else "failed"
        scope.tap.close(node, context.state.to_dict(), status)


def _finish_tool(scope: Scope, call: str) -> Node | None:
    """Find the tool that runs a call, and step out of it."""
    for tool in _enclosing(scope.node):
        node = tool.run.tools.get(call)
        if node is not None:
            del node.run.tools[call]
            SCOPE.set(Scope(scope.tap, node.run, node if node.is_signalled else node.outer))
            return node
    return None


# --------------------------------------------------------------------------- signals


def _node_started(scope: Scope, path: str) -> None:
    run, outer = scope.run, scope.node
    if run is None:
        return
    earlier = _signalled(scope, path)
    if earlier is not None and earlier.run is run:
        # The same place again: it failed, and is tried once more.
        scope.tap.close(earlier, run.session.state, "failed")
        run.retry(earlier)
        outer = earlier.outer
    node = run.place(path, outer)
    scope.tap.begin(node, run.session.state)
    SCOPE.set(scope._replace(node=node))


def _node_ended(scope: Scope, path: str) -> None:
    _end_node(scope, path, cancelled=False)


def _node_cancelled(scope: Scope, path: str) -> None:
    _end_node(scope, path, cancelled=True)


def _end_node(scope: Scope, path: str, *, cancelled: bool) -> None:
    node = _signalled(scope, path)
    if node is None:
        return
    scope.tap.close(node, node.run.session.state, "cancelled" if cancelled else None)
    SCOPE.set(Scope(scope.tap, node.run, node.outer))


def _signalled(scope: Scope, path: str) -> Node | None:
    """Find the innermost open node of that path around this place."""
    nodes = (n for n in _enclosing(scope.node) if n.is_open and n.is_signalled)
    return next((node for node in nodes if node.path == path), None)


def _signal(look: Callable[..., None]) -> Callable[[str], None]:
    def heard(path: str) -> None:
        tap = _look(look, path)
        if tap is not None:
            tap.poke()

    return heard


SIGNALS = NodeSignals(_signal(_node_started), _signal(_node_ended), _signal(_node_cancelled))
"""One for the process, as ADK's logger is; it listens from the first run on."""
