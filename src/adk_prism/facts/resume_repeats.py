"""What a run repeats after another process has taken it over.

google-adk 2.13, when resumed, runs agents below an unanswered call again from their input, finished ones
included, so their earlier texts are superseded. A workflow emits the outputs of its finished nodes again;
those repetitions are dropped.
"""

from __future__ import annotations

from adk_prism.facts.calls.open_calls import Calls
from adk_prism.facts.model import BlockEnded, Fact, NodeOutput, Speaker
from adk_prism.runlog.entry import NodeEnded, NodeStarted

_READ = frozenset((BlockEnded, NodeOutput))
"""The facts that matter here."""


class Retries:
    """Tracks what a later attempt may repeat."""

    def __init__(self) -> None:
        self._ended: dict[str, Speaker] = {}
        """Blocks of agents that a call runs, by id."""
        self._running: dict[str, str] = {}
        """Nodes that run, and their paths."""
        self._done: set[str] = set()
        """Paths of nodes that have finished."""
        self._repeatable: set[str] = set()
        """Those whose output may be repeated, once."""

    def begin(self, record: NodeStarted) -> None:
        """Take the start of a node."""
        if record.path:
            self._running[record.node] = record.path

    def end(self, record: NodeEnded) -> None:
        """Take the end of a node."""
        path = self._running.pop(record.node, "")
        if path and record.status == "finished":
            self._done.add(path)

    def feed(self, facts: list[Fact]) -> list[Fact]:
        """Read the facts of an event; return them without repeated outputs."""
        if _READ.isdisjoint(map(type, facts)):
            return facts
        repeats = False
        for item in facts:
            if type(item) is BlockEnded:
                if item.speaker.branch or "/" in item.speaker.path:
                    self._ended[item.block] = item.speaker
            elif type(item) is NodeOutput:
                path = item.speaker.path
                repeats = repeats or path in self._repeatable
                self._done.add(path)
        return [item for item in facts if not self._is_repeat(item)] if repeats else facts

    def _is_repeat(self, item: Fact) -> bool:
        if not isinstance(item, NodeOutput) or item.speaker.path not in self._repeatable:
            return False
        self._repeatable.discard(item.speaker.path)
        return True

    def superseded(self, calls: Calls) -> list[str]:
        """Begin another attempt; return the blocks of agents that run again."""
        self._repeatable = self._done - {""}
        found = [block for block, who in self._ended.items() if any(calls.running(who))]
        for block in found:
            del self._ended[block]
        return found
