"""Where a node is in the app: its path in the trace, which without its numbers is an id of the graph.

ADK's own path does not always say that:
- an agent inside a tool (`AgentTool`) has a runner of its own, whose paths begin again: they are put
  below the agent that called;
- a parallel worker runs a node of its own name for each item, `flow@1/work@1/work@2`: in the graph
  that is one node, so it is `flow@1/work@1.2`;
- the older composite agents have no paths at all: names and iterations give them one.

What a node starts by itself while it runs (`ctx.run_node`) is in no graph before. Its path goes below
that node, so the longest beginning of it that the graph has is where it ran.
"""

from __future__ import annotations

from msgspec import Struct

from adk_prism.facts.model import NodeBegan
from adk_prism.runlog.entry import NodeKind


class _Place(Struct, frozen=True, gc=False):
    """A node that began."""

    name: str
    kind: NodeKind
    recorded: str
    """Its path as ADK has it."""
    shown: str


_NOWHERE = _Place("", "workflow", "", "")


class Paths:
    """The paths of one run's nodes."""

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}
        """All nodes that began: what is handed over to begins below a node that has ended."""

    def add(self, item: NodeBegan) -> str:
        """Note a node that begins; return its path, empty where it cannot be known."""
        parent = self._places.get(item.parent, _NOWHERE)
        if item.kind == "tool":
            # Not a node of the trace: what runs inside has the caller's path.
            self._places[item.node] = _Place(item.name, "tool", parent.recorded, parent.shown)
            return ""
        shown = _shown(item, parent)
        self._places[item.node] = _Place(item.name, item.kind, item.path, shown)
        return shown


def _shown(item: NodeBegan, parent: _Place) -> str:
    if not item.path:
        is_member = parent.kind in ("workflow", "tool") and (parent.shown or not item.parent)
        return _below(parent, f"{item.name}@{item.iteration}") if is_member else ""
    inside = f"{parent.recorded}/"
    if not parent.recorded or not item.path.startswith(inside):
        return _below(parent, item.path) if parent.kind == "tool" else item.path
    rest = item.path[len(inside) :]
    if parent.kind == "node" and item.name == parent.name and "/" not in rest:
        return f"{parent.shown}.{rest.rpartition('@')[2]}"
    return f"{parent.shown}/{rest}"


def _below(parent: _Place, rest: str) -> str:
    return f"{parent.shown}/{rest}" if parent.shown else rest
