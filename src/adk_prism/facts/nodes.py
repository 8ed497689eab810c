"""Node bounds for runs that were not watched: captures, and logs without node records.

ADK's events name neither starts nor ends, so both are inferred from who speaks, and marked `derived`:
- a speaker's node begins with the first thing it says, and so do the nodes on its path that have said
  nothing themselves. Its state is what the events so far add up to;
- it ends when the node around it speaks again, or another node begins there that does not run side by
  side with it (their branches tell), when it hands over, fails or, at last, with the run. Whoever
  speaks after that begins again, as the next iteration. A loop around a single agent is not seen;
- an error fails its speaker's node, once, when its event is over, and with a failed run the nodes around
  it; what runs beside it is cancelled;
- a tool begins with its call and ends with the answer. An agent that a call runs, known by the call's id
  in its path or branch, stands below the tool and ends no later;
- a turn of the user ends everything.
What a node is cannot always be known: one that only others speak for is a `node`, and who says nothing
at all is not seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from adk_prism.facts import model as fact
from adk_prism.facts.model import Fact, NodeBegan, NodeFinished, Speaker
from adk_prism.log import entry as records

USER = "user"

_Key = tuple[str, str]
"""A path and the call that runs it, or for lack of a path an author and a branch."""

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

_ANSWERS: dict[type, records.NodeStatus] = {
    fact.CallAnswered: "finished",
    fact.CallFailed: "failed",
    fact.CallDenied: "cancelled",
    fact.CallAbandoned: "cancelled",
}


class _Place:
    """Something in which nodes run: the run itself, or a node."""

    def __init__(self) -> None:
        self.inside: dict[str, _Node] = {}
        """The nodes that run now, by id, in the order of their starts."""
        self.speakers: dict[str, _Node] = {}
        """Those of them that are not tools; each event of a speaker looks through them."""
        self.starts: dict[str, int] = {}
        """How many have started, by name."""


class _Node(_Place):
    """A node that was inferred."""

    def __init__(self, began: NodeBegan, place: _Place) -> None:
        super().__init__()
        self.id = began.node
        self.kind = began.kind
        self.branch = began.branch
        self.call = began.call
        self.place = place
        self.is_open = True


class DerivedNodes:
    """Infers the nodes of one run."""

    def __init__(self, agents: Sequence[records.Agent] = ()) -> None:
        """`agents` are those of the app, where they are known."""
        self._agents = {agent.name for agent in agents}
        self._root = _Place()
        self._count = 0
        self._seen: dict[_Key, _Node] = {}
        """The last node of each."""
        self._tools: dict[str, _Node] = {}
        """Those without an answer, by the call's id, ours and ADK's."""
        self._calls: set[str] = set()
        """Every call's id."""
        self._speaking: Speaker | None = None
        self._failed: _Node | None = None
        """The last that failed, unless it started again."""

    def feed(self, facts: list[Fact]) -> list[Fact]:
        """Return what an event means, with the starts and ends that it implies."""
        if len(facts) == 1 and type(facts[0]) is fact.BlockGrew:
            return facts
        out: list[Fact] = []
        answered: _Node | None = None
        errors: list[fact.ErrorRaised] = []
        for item in facts:
            if isinstance(item, _SPOKEN) and item.speaker.author != USER:
                self._speak(item.speaker, out)
            out.append(item)
            if isinstance(item, fact.ErrorRaised):
                errors.append(item)
            answered = self._follow(item, answered, out)
        for error in errors:
            self._fail(error, out)
        return out

    def _fail(self, error: fact.ErrorRaised, out: list[Fact]) -> None:
        node = self._seen.get(self._key(error.speaker))
        if node is not None:
            self._failed = node
            self._finish(node, "failed", out, error.code)

    def end(self, outcome: records.Outcome) -> list[Fact]:
        """Return the ends of all that still runs: as the run ended."""
        out: list[Fact] = []
        around = list(self._around(self._failed)) if outcome == "failed" and self._failed else []
        for node in around:
            self._end_all(node.inside.values(), "cancelled", out)
            self._finish(node, "failed", out)
        rest: records.NodeStatus = "cancelled" if around else outcome
        self._end_all(self._root.inside.values(), rest, out)
        return out

    def _around(self, node: _Node) -> Iterator[_Node]:
        """Yield the open nodes that a node ran in, innermost first."""
        place = node.place
        while isinstance(place, _Node):
            if place.is_open:
                yield place
            place = place.place

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
            case fact.UserSpoke():
                self._end_all(self._root.inside.values(), "finished", out)
            case _:
                pass  # says nothing of starts and ends
        return answered

    # -------------------------------------------------------------- speakers

    def _speak(self, speaker: Speaker, out: list[Fact]) -> None:
        self._speaking = speaker
        node = self._seen.get(self._key(speaker))
        if node is None or not node.is_open:
            node = self._begin_speaker(speaker, out)
        self._end_all(node.speakers.values(), "finished", out)

    def _key(self, speaker: Speaker) -> _Key:
        """Return what identifies a speaker: two runs of one path differ by their calls."""
        if not speaker.path:
            return speaker.author, speaker.branch
        return speaker.path, self._call_in(speaker.branch)

    def _call_in(self, branch: str) -> str:
        """Return the innermost call that a branch is named after."""
        numbers = (step.rpartition("@")[2] for step in reversed(branch.split(".")))
        return next((number for number in numbers if number in self._calls), "")

    def _begin_speaker(self, speaker: Speaker, out: list[Fact]) -> _Node:
        """Start a speaker's node, and the nodes around it that have not started."""
        key = self._key(speaker)
        if self._failed is not None and self._seen.get(key) is self._failed:
            self._failed = None
        place: _Place = self._root
        for path in _paths_above(speaker.path):
            node = self._seen.get((path, key[1])) or self._seen.get((path, ""))
            place = node or self._begin_silent(path, speaker, place, out)
        name = _name_of(speaker.path) or speaker.author
        kind: records.NodeKind = "node"
        if name == speaker.author and (not self._agents or name in self._agents):
            kind = "agent"
        place = self._tool_around(speaker, place) or place
        node = self._seen[key] = self._begin(
            place, out, name=name, kind=kind, path=speaker.path, branch=speaker.branch
        )
        return node

    def _begin_silent(self, path: str, speaker: Speaker, place: _Place, out: list[Fact]) -> _Node:
        """Begin a node around a speaker that has said nothing itself."""
        name = _name_of(path)
        # A workflow is named as the author of what the nodes in it give.
        kind: records.NodeKind = "workflow" if name == speaker.author else "node"
        place = self._tools.get(_number_of(path)) or place
        node = self._seen[path, ""] = self._begin(
            place, out, name=name, kind=kind, path=path, branch=speaker.branch
        )
        return node

    def _tool_around(self, speaker: Speaker, place: _Place) -> _Node | None:
        """Find the tool that runs a speaker: its call numbers the path, or names the branch."""
        tool = self._tools.get(_number_of(speaker.path))
        if tool is not None:
            return tool
        tool = self._tools.get(self._call_in(speaker.branch))
        # Further down inside the tool, the branch is still named after its call.
        is_caller = tool is not None and (not speaker.path or tool.place is place)
        return tool if is_caller else None

    # -------------------------------------------------------------- tools and hand-overs

    def _call(self, item: fact.CallRequested, out: list[Fact]) -> None:
        around = self._seen.get(self._key(item.speaker))
        place: _Place = around if around is not None else self._root
        branch = item.speaker.branch
        tool = self._begin(place, out, name=item.name, kind="tool", branch=branch, call=item.call)
        for name in (item.call, item.adk_id):
            if name:
                self._tools[name] = tool
                self._calls.add(name)

    def _hand_over(self, answered: _Node | None, out: list[Fact]) -> None:
        """End the agent that handed over: the one whose tool said so, else the last speaker."""
        node: _Place | None = answered.place if answered is not None else None
        if node is None and self._speaking is not None:
            node = self._seen.get(self._key(self._speaking))
        if isinstance(node, _Node):
            self._finish(node, "finished", out)

    # -------------------------------------------------------------- starts and ends

    def _begin(
        self,
        place: _Place,
        out: list[Fact],
        *,
        name: str,
        kind: records.NodeKind,
        branch: str,
        path: str = "",
        call: str = "",
    ) -> _Node:
        if kind != "tool":
            done = (n for n in place.speakers.values() if _is_succeeded(n, branch))
            self._end_all(done, "finished", out)
        parent = place if isinstance(place, _Node) else None
        if parent is not None and parent.kind == "tool":
            call = parent.call
        count = place.starts[name] = place.starts.get(name, 0) + 1
        self._count += 1
        id, above = f"d{self._count}", parent.id if parent else ""
        began = NodeBegan(id, name, kind, path, branch, call, above, count, {}, [], True)
        # Below an agent that has handed over and ended, a node is its own.
        place = self._root if parent is not None and not parent.is_open else place
        node = place.inside[id] = _Node(began, place)
        if kind != "tool":
            place.speakers[id] = node
        out.append(began)
        return node

    def _end_all(self, nodes: Iterable[_Node], status: records.NodeStatus, out: list[Fact]) -> None:
        for node in reversed(list(nodes)):
            self._finish(node, status, out)

    def _finish(
        self, node: _Node, status: records.NodeStatus, out: list[Fact], error: str = ""
    ) -> None:
        if not node.is_open:
            return
        self._end_all(node.inside.values(), status, out)
        node.is_open = False
        node.place.inside.pop(node.id, None)
        node.place.speakers.pop(node.id, None)
        out.append(NodeFinished(node.id, status, error, {}, [], True))


def _paths_above(path: str) -> Iterator[str]:
    """Yield the paths of the nodes around a node, outermost first."""
    end = path.find("/")
    while end >= 0:
        yield path[:end]
        end = path.find("/", end + 1)


def _name_of(path: str) -> str:
    return path.rpartition("/")[2].partition("@")[0]


def _number_of(path: str) -> str:
    return path.rpartition("/")[2].partition("@")[2]


def _is_succeeded(node: _Node, branch: str) -> bool:
    """Return whether a node is over when another begins beside it in a branch.

    Side by side run only branches of which neither grew from the other.
    """
    older, newer = sorted((node.branch, branch), key=len)
    return not older or newer == older or newer.startswith(f"{older}.")


# ---------------------------------------------------------------------------
# The nodes that run at a point of the log, so that each start has one end.
#
# A node without an end, because it was not reported or its process died, ends with its run, in the
# same way. A second start of a running node, or an end of one that does not run, is ignored.

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

    def end(self, outcome: records.Outcome) -> list[Fact]:
        """Return the ends of all that still run, innermost first."""
        ends: list[Fact] = [
            NodeFinished(node, outcome, "", {}, [], True) for node in reversed(self._nodes)
        ]
        self._nodes.clear()
        return ends


def node_ends(entries: Iterable[records.Entry]) -> list[records.Record]:
    """Return an end for each node that has none, innermost first."""
    running: dict[str, None] = {}
    for entry in entries:
        if isinstance(entry.record, records.NodeStarted):
            running[entry.record.node] = None
        elif isinstance(entry.record, records.NodeEnded):
            running.pop(entry.record.node, None)
    return [
        records.NodeEnded(node=node, status="cancelled", derived=True) for node in reversed(running)
    ]
