"""Who was asked what, and whose answer a text is: the nodes that run, and around them the run.

A node that was called is asked with the call's arguments, and its answer is the call's. Any other is
asked what the node around it is asked, and its answer counts there too. The nodes of a workflow are
given values after the first, and no record has them: nothing is said of what those were asked.
"""

from __future__ import annotations

from msgspec import Raw

from adk_prism.facts.model import NodeBegan, Speaker
from adk_prism.projection.studio.node_answers import Answer
from adk_prism.runlog.entry import NOTHING, NodeKind

_ASKED: frozenset[NodeKind] = frozenset(("agent", "workflow"))
"""Kinds that are asked in words; all others are given values."""

_Likeness = tuple[bool, bool, bool]


class Scope:
    """The run, or a node in it."""

    __slots__ = (
        "answer",
        "around",
        "branch",
        "is_flow",
        "name",
        "passes_values",
        "path",
        "query",
        "tool",
    )

    def __init__(self) -> None:
        self.query = NOTHING
        self.answer = Answer()
        self.around: Scope | None = None
        """What its answer is an answer of; none for the run, and for a node that was called."""
        self.name = self.path = self.branch = ""
        self.tool = ""
        """The node of the tool inside which it runs."""
        self.is_flow = False
        """One of ADK's workflows; the older composite agents pass no values."""
        self.passes_values = False
        """A flow whose first node has ended."""


class Scopes:
    """The scopes of one run."""

    def __init__(self) -> None:
        self.run = Scope()
        self._known: dict[str, Scope] = {}
        """All nodes that began: what is handed over to begins below a node that has ended."""
        self._open: dict[str, Scope] = {}
        self._tools: dict[str, str] = {}
        """Nodes that began → the tool around them; a tool → itself."""

    def pass_over(self, item: NodeBegan) -> None:
        """Note a node that is not shown."""
        is_tool = item.kind == "tool"
        self._tools[item.node] = item.node if is_tool else self._tools.get(item.parent, "")

    def begin(self, item: NodeBegan, parent: str, asked: Raw) -> Scope:
        """Note a node below the one that is shown around it. `asked`: the arguments of its call."""
        scope = Scope()
        scope.name, scope.path, scope.branch = item.name, item.path, item.branch
        scope.tool = self._tools[item.node] = self._tools.get(item.parent, "")
        scope.is_flow = item.kind == "workflow" and bool(item.path)
        is_called = bool(item.call) or scope.tool == item.parent != ""
        scope.query = asked if is_called else self._join(scope, parent)
        if item.kind not in _ASKED:
            scope.query = NOTHING
        self._known[item.node] = self._open[item.node] = scope
        return scope

    def _join(self, scope: Scope, parent: str) -> Raw:
        """Use an answer at the node's place; return what is asked there."""
        above = self._known.get(parent, self.run)
        is_there = above is self.run or parent in self._open
        scope.around = above if is_there else above.around
        if scope.around is not None:
            scope.around.answer.expect()
        return NOTHING if above.passes_values else above.query

    def end(self, node: str) -> None:
        """Note the end of a node: its answer becomes part of its parent's."""
        scope = self._open.pop(node)
        if scope.around is not None:
            scope.around.answer.hear(scope.answer.text)
            scope.around.passes_values = scope.around.is_flow
        scope.answer.is_over = True

    def find(self, speaker: Speaker, tool: str) -> Answer:
        """Return whose answer words are: a node's that runs, by path or name; else the run's."""
        fits = [scope for scope in self._open.values() if not tool or scope.tool == tool]
        likest = max(reversed(fits), key=lambda scope: _likeness(scope, speaker), default=self.run)
        return (likest if any(_likeness(likest, speaker)[:2]) else self.run).answer


def _likeness(scope: Scope, speaker: Speaker) -> _Likeness:
    return (
        scope.path == speaker.path != "",
        scope.name == speaker.node,
        scope.branch == speaker.branch,
    )
