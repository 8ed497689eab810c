"""Node bounds for runs that were not watched: captures, and logs without node records.

ADK's events name neither starts nor ends, so both are inferred from who speaks, and marked `derived`:
- a speaker's node begins with the first thing it says, and so do the nodes on its path that have said
  nothing themselves. Its state is what the events so far add up to;
- it ends when the node around it speaks again, or another node begins there in the same branch (side
  by side run only nodes of different branches), when it hands over, fails or, at last, with the run.
  Whoever speaks after that begins anew, as the next iteration;
- a tool begins with its call and ends with the answer. An agent that a call runs, known by the call's id
  in its path or branch, stands below the tool and ends no later;
- a turn of the user ends everything.
What a node is cannot always be told: one that only others speak for is a `node`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from adk_prism.facts import model as fact
from adk_prism.facts.model import Fact, NodeBegan, NodeFinished, Speaker
from adk_prism.runlog.entry import Agent, NodeKind, NodeStatus, Outcome

USER = "user"

_SPOKEN = (
    fact.BlockBegan,
    fact.CallInputGrew,
    fact.CallRequested,
    fact.InputRequested,
    fact.FileShown,
    fact.AudioHeard,
    fact.CodeShown,
    fact.CodeResultShown,
    fact.ModelCallEnded,
    fact.StateChanged,
    fact.ArtifactSaved,
    fact.NodeOutput,
    fact.ErrorRaised,
)
"""The facts by which a speaker is known to be at work."""

_ANSWERS: dict[type, NodeStatus] = {
    fact.CallAnswered: "finished",
    fact.CallFailed: "failed",
    fact.CallDenied: "cancelled",
    fact.CallAbandoned: "cancelled",
}


class _Place(Protocol):
    """Something in which nodes run."""

    inside: dict[str, _Node]
    """Those that run now, by id, in the order of their starts."""
    starts: dict[str, int]
    """How many have started, by name."""


class _Start:
    """What is known of a node when it begins."""

    __slots__ = ("branch", "call", "kind", "name", "path")

    def __init__(self, name: str, kind: NodeKind, path: str, branch: str, call: str = "") -> None:
        self.name = name
        self.kind = kind
        self.path = path
        self.branch = branch
        self.call = call

    @property
    def key(self) -> tuple[str, str]:
        return (self.path, "") if self.path else (self.name, self.branch)

    def began(self, node: str, parent: str, iteration: int) -> NodeBegan:
        return NodeBegan(
            node,
            self.name,
            self.kind,
            self.path,
            self.branch,
            self.call,
            parent,
            iteration,
            {},
            [],
            True,
        )


class _Node:
    """A node that was inferred."""

    def __init__(self, node: str, start: _Start, place: _Place) -> None:
        self.id = node
        self.kind = start.kind
        self.branch = start.branch
        self.call = start.call
        self.place = place
        self.is_open = True
        self.inside: dict[str, _Node] = {}
        self.starts: dict[str, int] = {}


class _Root:
    """The run itself."""

    def __init__(self) -> None:
        self.inside: dict[str, _Node] = {}
        self.starts: dict[str, int] = {}


class DerivedNodes:
    """Infers the nodes of one run."""

    def __init__(self, agents: Sequence[Agent] = ()) -> None:
        """`agents` are those of the app, where they are known."""
        self._agents = {agent.name for agent in agents}
        self._root = _Root()
        self._count = 0
        self._seen: dict[tuple[str, str], _Node] = {}
        """The last node of each path, or of each author and branch."""
        self._tools: dict[str, _Node] = {}
        """By the call's id, ours and ADK's."""
        self._speaking: Speaker | None = None

    def feed(self, facts: list[Fact]) -> list[Fact]:
        """Return what an event means, with the starts and ends that it tells of."""
        if len(facts) == 1 and type(facts[0]) is fact.BlockGrew:
            return facts
        out: list[Fact] = []
        answered: _Node | None = None
        for item in facts:
            if isinstance(item, _SPOKEN) and item.speaker.author != USER:
                self._speak(item.speaker, out)
            out.append(item)
            answered = self._follow(item, answered, out)
        return out

    def end(self, outcome: Outcome) -> list[Fact]:
        """Return the ends of all that still runs: as the run ended."""
        out: list[Fact] = []
        self._end_all(self._root.inside.values(), outcome, out)
        return out

    def _follow(self, item: Fact, answered: _Node | None, out: list[Fact]) -> _Node | None:
        """Draw what follows from a fact; return the tool that has been answered in this event."""
        match item:
            case fact.CallRequested() if not item.provider_executed:
                self._call(item, out)
            case fact.CallAnswered() | fact.CallFailed() | fact.CallDenied() | fact.CallAbandoned():
                tool = self._tools.pop(item.call, None)
                if tool is not None:
                    self._finish(tool, _ANSWERS[type(item)], out)
                    return tool
            case fact.AgentTransferred():
                self._hand_over(answered, out)
            case fact.ErrorRaised():
                node = self._seen.get(_key(item.speaker))
                if node is not None:
                    self._finish(node, "failed", out, item.code)
            case fact.UserSpoke():
                self._end_all(self._root.inside.values(), "finished", out)
            case _:
                pass  # says nothing of starts and ends
        return answered

    # -------------------------------------------------------------- speakers

    def _speak(self, speaker: Speaker, out: list[Fact]) -> None:
        self._speaking = speaker
        node = self._seen.get(_key(speaker))
        if node is None or not node.is_open:
            node = self._begin_speaker(speaker, out)
        said = (inner for inner in node.inside.values() if inner.kind != "tool")
        self._end_all(said, "finished", out)

    def _begin_speaker(self, speaker: Speaker, out: list[Fact]) -> _Node:
        """Begin a speaker's node, and those around it that have not been heard of."""
        place: _Place = self._root
        for path in _paths(speaker.path):
            name = path.rpartition("/")[2].partition("@")[0]
            node = self._seen.get((path, ""))
            is_speaker = path == speaker.path
            if node is None or (is_speaker and not node.is_open):
                kind = self._kind(name, speaker, is_speaker)
                place = self._tool_around(path, speaker) or place
                node = self._begin(_Start(name, kind, path, speaker.branch), place, out)
            place = node
        if speaker.path:
            return self._seen[speaker.path, ""]
        around = self._tool_around("", speaker) or self._root
        kind = self._kind(speaker.author, speaker, True)
        return self._begin(_Start(speaker.author, kind, "", speaker.branch), around, out)

    def _kind(self, name: str, speaker: Speaker, is_speaker: bool) -> NodeKind:
        if name != speaker.author:
            return "node"
        if not is_speaker:
            return "workflow"  # it speaks for the nodes in it
        return "agent" if not self._agents or name in self._agents else "node"

    def _tool_around(self, path: str, speaker: Speaker) -> _Node | None:
        """Find the tool whose call runs the node: its id numbers the node's path, or the branch."""
        own = path.rpartition("@")[2]
        steps = [own] if path != speaker.path or own in self._tools else []
        if path == speaker.path:
            steps += [step.rpartition("@")[2] for step in speaker.branch.split(".")][-1:]
        return next((self._tools[step] for step in steps if step in self._tools), None)

    # -------------------------------------------------------------- tools and hand-overs

    def _call(self, item: fact.CallRequested, out: list[Fact]) -> None:
        around = self._seen.get(_key(item.speaker))
        place: _Place = around if around is not None else self._root
        start = _Start(item.name, "tool", "", item.speaker.branch, item.call)
        tool = self._begin(start, place, out)
        self._tools[item.call] = tool
        if item.adk_id:
            self._tools[item.adk_id] = tool

    def _hand_over(self, answered: _Node | None, out: list[Fact]) -> None:
        """End the agent that handed over: the one whose tool said so, else the last speaker."""
        node: _Place | None = answered.place if answered is not None else None
        if node is None and self._speaking is not None:
            node = self._seen.get(_key(self._speaking))
        if isinstance(node, _Node):
            self._finish(node, "finished", out)

    # -------------------------------------------------------------- starts and ends

    def _begin(self, start: _Start, place: _Place, out: list[Fact]) -> _Node:
        if start.kind != "tool":
            done = (n for n in place.inside.values() if _is_succeeded(n, start.branch))
            self._end_all(done, "finished", out)
            self._seen[start.key] = node = self._new(start, place)
        else:
            node = self._new(start, place)
        parent = place if isinstance(place, _Node) else None
        if parent is not None and parent.kind == "tool":
            start.call = parent.call
        out.append(start.began(node.id, parent.id if parent else "", place.starts[start.name]))
        return node

    def _new(self, start: _Start, place: _Place) -> _Node:
        self._count += 1
        node = _Node(f"d{self._count}", start, place)
        place.inside[node.id] = node
        place.starts[start.name] = place.starts.get(start.name, 0) + 1
        return node

    def _end_all(self, nodes: Iterable[_Node], status: NodeStatus, out: list[Fact]) -> None:
        for node in reversed(list(nodes)):
            self._finish(node, status, out)

    def _finish(self, node: _Node, status: NodeStatus, out: list[Fact], error: str = "") -> None:
        if not node.is_open:
            return
        self._end_all(node.inside.values(), status, out)
        node.is_open = False
        node.place.inside.pop(node.id, None)
        out.append(NodeFinished(node.id, status, error, {}, [], True))


def _key(speaker: Speaker) -> tuple[str, str]:
    return (speaker.path, "") if speaker.path else (speaker.author, speaker.branch)


def _paths(path: str) -> Iterator[str]:
    """Yield the path of each node on a path, outermost first."""
    end = path.find("/")
    while end >= 0:
        yield path[:end]
        end = path.find("/", end + 1)
    if path:
        yield path


def _is_succeeded(node: _Node, branch: str) -> bool:
    """Tell whether a node is over when another begins beside it in a branch."""
    if node.kind == "tool":
        return False
    return not branch or node.branch == branch or node.branch.startswith(f"{branch}.")
