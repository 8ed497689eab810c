"""The nodes that run at a point of the log, so that each start has one end.

A node without an end, because it was not reported or its process died, ends with its run, in the same way. A
second start of a running node, or an end of one that does not run, is ignored.
"""

from __future__ import annotations

from adk_prism.facts.model import Fact, NodeBegan, NodeFinished
from adk_prism.runlog.entry import Outcome

_BOUNDS = (NodeBegan, NodeFinished)
"""They are alone in their entry: no event means them."""


class OpenNodes:
    """The nodes of one run that have started and not ended."""

    def __init__(self) -> None:
        self._nodes: dict[str, None] = {}
        """In the order of their starts."""

    def feed(self, facts: list[Fact]) -> list[Fact]:
        """Read the facts of an entry; return it without starts and ends that cannot be."""
        if not facts or type(facts[0]) not in _BOUNDS:
            return facts
        return [fact for fact in facts if self._is_due(fact)]

    def _is_due(self, fact: Fact) -> bool:
        if isinstance(fact, NodeBegan):
            if fact.node in self._nodes:
                return False
            self._nodes[fact.node] = None
        elif isinstance(fact, NodeFinished):
            if fact.node not in self._nodes:
                return False
            del self._nodes[fact.node]
        return True

    def end(self, outcome: Outcome) -> list[Fact]:
        """Return the ends of all that still run, innermost first."""
        ends: list[Fact] = [
            NodeFinished(node, outcome, "", {}, [], True) for node in reversed(self._nodes)
        ]
        self._nodes.clear()
        return ends
