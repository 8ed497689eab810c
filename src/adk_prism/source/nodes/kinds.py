"""The kind of a node, read from the app, for starts that only have a name.

A name is looked up together with the node that it runs in, because two workflows may each have a `join`.
Nodes that an app creates while it runs are not in the table: their kind is `node` until they turn out to
be an agent or a tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.workflow import BaseNode, FunctionNode, JoinNode, Workflow

from adk_prism.runlog.entry import NodeKind
from adk_prism.source.agents import children_of

_KINDS: Sequence[tuple[type[BaseNode], NodeKind]] = (
    (Workflow, "workflow"),
    (SequentialAgent, "workflow"),
    (ParallelAgent, "workflow"),
    (LoopAgent, "workflow"),
    (BaseAgent, "agent"),
    (FunctionNode, "function"),
    (JoinNode, "join"),
)


def kind_of(node: BaseNode) -> NodeKind:
    """Return a node's kind. The agents that only run other agents are workflows."""
    return next((kind for of_type, kind in _KINDS if isinstance(node, of_type)), "node")


class Kinds:
    """The kinds of all nodes of an app, by name."""

    def __init__(self, root: BaseNode) -> None:
        self._kinds: dict[tuple[str, str], NodeKind] = {}
        """By the node around it and its own name; and by its own name alone."""
        for parent, node in _walk(root):
            kind = kind_of(node)
            self._kinds[parent, node.name] = kind
            self._kinds.setdefault(("", node.name), kind)

    def of(self, parent: str, name: str) -> NodeKind:
        """Return the kind of the node called `name` that runs in the one called `parent`."""
        return self._kinds.get((parent, name)) or self._kinds.get(("", name), "node")


def _walk(root: BaseNode) -> Iterator[tuple[str, BaseNode]]:
    """Yield every node with the name of the one around it; each object once."""
    seen: set[int] = set()
    waiting: list[tuple[str, BaseNode]] = [("", root)]
    while waiting:
        parent, node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield parent, node
        waiting.extend((node.name, child) for child in reversed(children_of(node)))
