"""An app with another model or other instructions, for a run that is run again.

The app that the server serves is not touched: its agents are copied (below), and a Runner of its own
runs the copy, with the same services and plugins.

Agents refer to each other as sub-agents, as nodes of a workflow, in tools, and in fields of an app's own
classes; one agent can be in several of these places. Each object is copied once, so that all places in the
copy mean the same agent. Toolsets, models and callbacks are shared with the original.

pydantic keeps a node's private attributes apart; the worker that ADK puts around a node has the node there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Literal

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.code_executors.built_in_code_executor import BuiltInCodeExecutor
from google.adk.models.base_llm import BaseLlm
from google.adk.models.registry import LLMRegistry
from google.adk.plugins.plugin_manager import PluginManager
from google.adk.runners import Runner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.workflow import BaseNode, Edge, Workflow
from google.genai import types
from msgspec import Struct
from pydantic import ValidationError

from adk_prism.adk.agents import walk_agents
from adk_prism.adk.plugin import NAME
from adk_prism.errors import TooLarge, Unprocessable
from adk_prism.features.rerun import recorded_models

_KEPT = ("parent_agent", "edges", "graph")
"""Fields that are not walked: a copy gets its parent from ADK, and a workflow runs the graph that was made of
its edges."""

ChangeOf = Callable[[BaseAgent], Mapping[str, Any]]
"""Returns the fields of an agent that have other values in the copy; agents in them are copied, too."""


def copy_agents(root: BaseNode, change: ChangeOf) -> BaseNode:
    """Return a copy of a root and all agents below it. Raise `Unprocessable` for agents in a circle."""
    return _Copies(change).node(root)


class _Copies:
    def __init__(self, change: ChangeOf) -> None:
        self._change = change
        self._done: dict[int, BaseNode] = {}
        """By the identity of the original."""
        self._begun: set[int] = set()

    def node(self, node: BaseNode) -> BaseNode:
        if (known := self._done.get(id(node))) is not None:
            return known
        if id(node) in self._begun:
            raise Unprocessable(
                f"The agent {node.name!r} contains itself; such an app cannot be run with changes."
            )
        self._begun.add(id(node))
        update = self._fields(node)
        if isinstance(node, BaseAgent):
            update |= {name: self._value(value) for name, value in self._change(node).items()}
        made: BaseNode = (
            node.clone(update) if isinstance(node, BaseAgent) else node.model_copy(update=update)
        )
        private = made.__pydantic_private__ or {}
        private.update({name: self._value(value) for name, value in private.items()})
        self._done[id(node)] = made
        return made

    def _fields(self, node: BaseNode) -> dict[str, Any]:
        """Return the fields that hold agents, with copies of those."""
        values = {n: getattr(node, n) for n in type(node).model_fields if n not in _KEPT}
        copies = {name: self._value(value) for name, value in values.items()}
        changed = {n: value for n, value in copies.items() if value is not values[n]}
        if isinstance(node, Workflow) and (graph := node.graph) is not None:
            edges = [self._edge(edge) for edge in graph.edges]
            nodes = [self.node(each) for each in graph.nodes]
            changed["graph"] = graph.model_copy(update={"edges": edges, "nodes": nodes})
        # ADK would copy the sub-agents of an agent by itself, and each of them again.
        return changed | ({"sub_agents": copies["sub_agents"]} if "sub_agents" in copies else {})

    def _value(self, value: Any) -> Any:
        """Return a value with copies of the agents in it; the value itself if there are none."""
        made: Any = value
        match value:
            case BaseNode():
                return self.node(value)
            case BaseTool():
                return self._tool(value)
            case list():
                made = [self._value(item) for item in value]
            case dict():
                made = {key: self._value(item) for key, item in value.items()}
                return made if any(made[k] is not v for k, v in value.items()) else value
            case _:
                return value  # holds no agent that ADK knows of
        return made if any(a is not b for a, b in zip(made, value, strict=True)) else value

    def _edge(self, edge: Edge) -> Edge:
        ends = {"from_node": self.node(edge.from_node), "to_node": self.node(edge.to_node)}
        return edge.model_copy(update=ends)

    def _tool(self, tool: BaseTool) -> BaseTool:
        if isinstance(tool, AgentTool):
            made = copy(tool)
            made.agent = self.node(tool.agent)  # type: ignore[assignment] # a copy has the same class
            # An agent without the plugins would call its tools unseen.
            made.include_plugins = True
            return made
        inner = getattr(tool, "node", None)
        if not isinstance(inner, BaseNode):
            return tool
        wrapper: Any = copy(tool)
        wrapper.node = self.node(inner)
        return wrapper  # type: ignore[no-any-return] # a copy of the tool


LARGEST_INSTRUCTION = 1024**2
"""Characters of an instruction: more than the context of most models."""
MOST_NAMES = 30
"""Agents that a refusal lists."""

Tools = Literal["recorded", "live", "auto"]
"""Whether tools are answered from the recording, called, or called where the recording has no answer."""


PARAMETERS = (
    "temperature",
    "topP",
    "topK",
    "maxOutputTokens",
    "seed",
    "presencePenalty",
    "frequencyPenalty",
    "stopSequences",
)
"""Parameters of a model that can be changed, as the API spells them."""


class Changes(Struct, frozen=True, kw_only=True):
    """What is different when a run is run again."""

    model: str = ""
    """Empty: each agent asks its own."""
    instructions: Mapping[str, str] = {}
    """By the name of the agent."""
    parameters: Mapping[str, Mapping[str, Any]] = {}
    """Of the agents' models, such as `temperature`, by the name of the agent."""
    message: str = ""
    """What the user says instead; empty: the same."""
    calls: Sequence[recorded_models.ChangedCall] = ()
    """Calls of tools that get other arguments, where a recorded model makes them."""
    tools: Tools = "recorded"
    models: recorded_models.Models = "live"
    until: int = 0
    """The last cursor at which a model is answered from the recording; 0: no limit."""
    ignore: Sequence[str] = ()
    """What does not count when requests to models are compared: names of rules, regular expressions."""
    is_streamed: bool = True
    """Whether recorded responses come in the pieces in which they were streamed."""


def changed_runner(
    runner: Runner, changes: Changes, recorded: recorded_models.RecordedModels | None = None
) -> Runner:
    """Return a Runner of the app with the changes; `recorded` answers its models, None: they are asked.

    Raise `Unprocessable` for an agent or a model that there is not, or an app that cannot be run so;
    `TooLarge` for an instruction.
    """
    agents = [node for node in walk_agents(runner.agent) if isinstance(node, LlmAgent)]
    _check_agents(agents, changes)
    if changes.tools != "live":
        _check_recordable(walk_agents(runner.agent))
    model = _model(agents, changes.model) if changes.model else None
    configs = {
        agent.name: _config(agent, changes.parameters[agent.name])
        for agent in agents
        if agent.name in changes.parameters
    }

    def change(agent: BaseAgent) -> dict[str, Any]:
        if not isinstance(agent, LlmAgent):
            return {}
        update: dict[str, Any] = {} if model is None else {"model": model}
        if agent.name in changes.instructions:
            update["instruction"] = changes.instructions[agent.name]
        if agent.name in changes.parameters:
            update["generate_content_config"] = configs[agent.name]
        if recorded is not None:
            update["model"] = recorded_models.recorded_copy(
                model_of(agent, model), agent.name, recorded
            )
        return update

    return with_agents(runner, change, recorded)


def with_agents(
    runner: Runner, change: ChangeOf, recorded: recorded_models.RecordedModels | None
) -> Runner:
    """Return a Runner of the app whose agents are changed. Raise `Unprocessable` for agents in a circle."""
    return _with_root(runner, copy_agents(runner.agent, change), recorded)


def _with_root(
    runner: Runner, root: BaseNode, recorded: recorded_models.RecordedModels | None
) -> Runner:
    changed = copy(runner)
    changed.agent = root
    changed.app = runner.app.model_copy(update={"root_agent": root})
    # Our own plugin knows the root, so that the copy gets another one.
    plugins = [each for each in runner.plugin_manager.plugins if each.name != NAME]
    if recorded is not None:
        # To sum up a long session, ADK asks a model that no recording answers.
        changed.app = changed.app.model_copy(update={"events_compaction_config": None})
        plugins.append(recorded_models.OnlyRecorded(recorded))
    changed.plugin_manager = PluginManager(plugins=plugins)
    return changed


def model_of(agent: LlmAgent, changed: str | BaseLlm | None = None) -> BaseLlm:
    """Return the model that an agent asks. Raise `Unprocessable` if it cannot be made."""
    if isinstance(changed, BaseLlm):
        return changed
    try:
        return LLMRegistry.new_llm(changed) if changed else agent.canonical_model
    except (
        Exception
    ) as error:  # The class of a model may raise anything, as where a package is missing.
        raise Unprocessable(
            f"The model of {agent.name!r} cannot be made here ({type(error).__name__}): {error}"
        ) from error


def _config(agent: LlmAgent, given: Mapping[str, Any]) -> types.GenerateContentConfig:
    """Return the config of an agent's model with other parameters. Raise `Unprocessable` for a bad one."""
    for name in given:
        if name not in PARAMETERS:
            raise Unprocessable(
                f"There is no parameter {name[:60]!r} to change; there are: {', '.join(PARAMETERS)}."
            )
    config = agent.generate_content_config or types.GenerateContentConfig()
    try:
        checked = types.GenerateContentConfig.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise Unprocessable(f"The parameter {where} of {agent.name!r}: {first['msg']}.") from None
    return config.model_copy(update={n: getattr(checked, n) for n in checked.model_fields_set})


def _check_agents(agents: Sequence[LlmAgent], changes: Changes) -> None:
    """Refuse changes of agents that are not there, or that cannot be told apart."""
    names = [agent.name for agent in agents]
    for name in {**changes.instructions, **changes.parameters}:
        text = changes.instructions.get(name, "")
        if name not in names:
            known = ", ".join(dict.fromkeys(names[:MOST_NAMES])) or "none"
            raise Unprocessable(
                f"The app has no agent {name[:60]!r} with an instruction. Its agents are: {known}."
            )
        if names.count(name) > 1:
            raise Unprocessable(
                f"The app has {names.count(name)} agents named {name[:60]!r}; which one is meant is unclear."
            )
        if len(text) > LARGEST_INSTRUCTION:
            raise TooLarge(
                f"The instruction of {name[:60]!r} has {len(text)} characters; at most"
                f" {LARGEST_INSTRUCTION} are allowed."
            )


def _check_recordable(nodes: Iterable[BaseNode]) -> None:
    """Refuse agents that act without tools: what they do has no recording to be answered from."""
    for node in nodes:
        executor = node.code_executor if isinstance(node, LlmAgent) else None
        if executor is not None and not isinstance(executor, BuiltInCodeExecutor):
            raise _acts(node, f"executes code ({type(executor).__name__})")
        # By name: to import the class takes packages that most installations do not have.
        if any(each.__name__ == "RemoteA2aAgent" for each in type(node).__mro__):
            raise _acts(node, "runs on another server")


def _acts(node: BaseNode, how: str) -> Unprocessable:
    return Unprocessable(
        f"The agent {node.name!r} {how}, which is not answered from a recording. Run it with live tools."
    )


def _model(agents: Sequence[LlmAgent], name: str) -> str | BaseLlm:
    """Return the model of that name: one of the app's own objects, or a name that ADK knows."""
    for agent in agents:
        if isinstance(agent.model, BaseLlm) and agent.model.model == name:
            return agent.model
    try:
        LLMRegistry.resolve(name)
    except Exception as error:  # ADK raises ValueError; the class of a model may raise anything.
        own = {each.model.model for each in agents if isinstance(each.model, BaseLlm)}
        hint = f" The app's own: {', '.join(sorted(own)[:MOST_NAMES])}." if own else ""
        raise Unprocessable(f"ADK knows no model {name[:100]!r}.{hint}") from error
    return name
