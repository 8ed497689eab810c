"""The nodes of one run while it runs: their parents, and how each will end as far as is known.

Knows no ADK callback and writes no record (`run_observer` does). Decides:
- **identity**: a node of ADK's newer runtime is identified by its path, and by its branch if several run
  under one path at once (a specialist that is called twice in a turn). A start in the place of an open
  node of that path is another attempt, after the first one failed;
- **parents**: the tool whose call runs the node, else the node in whose task it runs, else the node whose
  path is the beginning of its own. The last applies to a transfer: the agent that handed over has ended,
  and its successor is still below it;
- **ends**: open nodes inside a node end with it. A node that waits or fails passes that on to its parent,
  as ADK's runtime does without saying so. A tool does not fail with its agent, nor an agent with its tool:
  ADK reports each failure by itself.

The *kind* of a node is read from the app, for starts that only have a name.
A name is looked up together with the node that it runs in, because two workflows may each have a `join`.
Nodes that an app creates while it runs are not in the table: their kind is `node` until they turn out to
be an agent or a tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.sessions.session import Session
from google.adk.workflow import BaseNode, FunctionNode, JoinNode, Workflow

from adk_prism.adk.agents import children_of
from adk_prism.facts.state import Difference
from adk_prism.log.entry import NodeKind, NodeStarted, NodeStatus

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


class Counter(Protocol):
    """Counts the nodes that start in it."""

    starts: dict[str, int]
    """How often, by name."""


class Node:
    """One node that has started."""

    def __init__(self, run: ObservedRun, name: str, kind: NodeKind, parent: Node | None) -> None:
        self.id = ""
        """Its number in the run; set when its start is recorded."""
        self.name = name
        self.kind: NodeKind = kind
        self.run = run
        self.parent = parent
        self.path = ""
        self.branch = ""
        self.call = ""
        self.outer: Node | None = None
        """The node that is current in its task again when it has ended."""
        self.found = Difference({}, [])
        """How the state before it differed from the log."""
        self.is_open = True
        self.is_noted = False
        """Its start is in the log and can no longer change."""
        self.is_signalled = False
        """ADK's node runner logs its end; otherwise the plugin's callbacks report it."""
        self.waits = False
        """Something in it waits for a person or the client."""
        self.failure: str | None = None
        """The code of the error that it is ending with."""
        self.inside: dict[int, Node] = {}
        """The open nodes that run in it, in the order of their starts."""
        self.starts: dict[str, int] = {}
        around: Counter = parent if parent is not None else run
        self.iteration = around.starts[name] = around.starts.get(name, 0) + 1
        if parent is not None:
            parent.inside[id(self)] = self

    @property
    def status(self) -> NodeStatus:
        """How it ends if it ends now."""
        if self.failure is not None:
            return "failed"
        return "waiting" if self.waits else "finished"

    def end(self, status: NodeStatus, error: str) -> None:
        """Record the end, and what it means for the parent."""
        self.is_open = False
        around = self.parent
        if around is None:
            return
        around.inside.pop(id(self), None)
        if status == "waiting":
            around.waits = True
        elif status == "failed" and around.is_signalled and self._takes_down():
            around.failure = error

    def _takes_down(self) -> bool:
        """Return whether its parent fails with it; a failed tool is answered by its agent."""
        return self.is_signalled or self.kind != "tool"

    def enclosing(self) -> Iterator[Node]:
        """Yield the node and its ancestors, innermost first."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent

    def started(self) -> NodeStarted:
        """Return the record of the start, which can no longer change."""
        self.is_noted = True
        return NodeStarted(
            node=self.id,
            name=self.name,
            kind=self.kind,
            path=self.path,
            branch=self.branch,
            call=self.call,
            parent=self.parent.id if self.parent is not None else "",
            iteration=self.iteration,
            state=self.found.state,
            gone=self.found.gone,
        )


class ObservedRun:
    """One call of a Runner: the run itself, or one hidden inside a tool."""

    def __init__(self, root: BaseNode, session: Session, owner: Node | None) -> None:
        self._root = root
        self._kinds: Kinds | None = None
        self.session = session
        """ADK's own object, whose state changes while nodes run."""
        self.owner = owner
        """The node that hides the run, mostly a tool; None for the run itself."""
        self.tools: dict[str, Node] = {}
        """The open tools, by call."""
        self.deferred: dict[str, Node] = {}
        """Tools that have returned, and are answered by an agent that runs in their place."""
        self.calls: set[str] = set()
        """Every call that was made, by ADK's id."""
        self.starts: dict[str, int] = {}
        self._by_path: dict[str, list[Node]] = {}
        """Those that are open, or else the last one."""
        self._older: dict[str, list[Node]] = {}
        """The open nodes of agents whose events name no path, by the agent's name."""

    def add_older(self, node: Node) -> None:
        """Note a node of an agent whose events name no path."""
        others = (other for other in self._older.get(node.name, ()) if other.is_open)
        self._older[node.name] = [*others, node]

    def spoken_by(self, author: str, branch: str = "") -> Node | None:
        """Return the open node of an agent whose events name no path: in that branch, else the last one."""
        found = [node for node in self._older.get(author, ()) if node.is_open]
        exact = (node for node in found if node.branch == branch)
        return next(exact, found[-1] if found else None)

    def at(self, path: str, branch: str = "") -> Node | None:
        """Return the open node of a path: in that branch, if several are; else the last one."""
        found = [node for node in self._by_path.get(path, ()) if node.is_open]
        exact = (node for node in found if node.branch == branch)
        return next(exact, found[-1] if found else None)

    def place(self, path: str, outer: Node | None) -> Node:
        """Make the node that starts under a path, in the task of `outer`."""
        above, _, last = path.rpartition("/")
        name, _, number = last.partition("@")
        kind = self._kind(above.rpartition("/")[2].partition("@")[0], name)
        parent = self._parent(above, number, outer)
        node = Node(self, name, kind, parent)
        node.path, node.outer, node.is_signalled = path, outer, True
        if parent is not None and parent.kind == "tool":
            node.call = parent.call
        elif number in self.calls:
            node.call = number
        others = (other for other in self._by_path.get(path, ()) if other.is_open)
        self._by_path[path] = [*others, node]
        return node

    def retry(self, failed: Node) -> None:
        """Clear the parent's failure: the failed node is tried again."""
        if failed.parent is not None:
            failed.parent.failure = None

    def _kind(self, parent: str, name: str) -> NodeKind:
        if self._kinds is None:
            self._kinds = Kinds(self._root)
        return self._kinds.of(parent, name)

    def _parent(self, above: str, number: str, outer: Node | None) -> Node | None:
        # Beside a plain count, ADK numbers a node's runs by the calls that they answer.
        if not number.isdigit():
            tool = self.tools.get(number) or self.deferred.get(number)
            if tool is not None:
                return tool
        for node in outer.enclosing() if outer is not None else ():
            if node.is_open and (node.kind == "tool" or node.path == above):
                return node
        return self._by_path[above][-1] if above in self._by_path else self.owner
