"""Observes one run and writes records: starts and ends of nodes, and events of runs inside tools.

Decides the order. Everything enters one queue when it happens, and an event is yielded only when the queue
is empty, so the log has starts, ends and events in causal order. Callbacks wait until their records are
written. What cannot wait (a log line of ADK's node runner, a task that is being cancelled) is written in
the next turn of the event loop; if a blocking function delays that, with the time at which it happened.

Decides the state. A start or an end carries the difference between ADK's session state at that moment and
the state that the log adds up to (`facts.state`). So it includes what a node wrote and no event has
carried yet, and the log only grows with changes.

Observing never fails a run: errors here are reported to the operator. The exception is a log that cannot
be written: then the run is asked to stop, and its driver gets the error.

`Node` and `ObservedRun` know the nodes of a run while it runs, and how each will end as far as is known:
- **identity**: a node of ADK's newer runtime is identified by its path, and by its branch if several run
  under one path at once (a specialist that is called twice in a turn). A start in the place of an open
  node of that path is another attempt, after the first one failed;
- **parents**: the tool whose call runs the node, else the node in whose task it runs, else the node whose
  path is the beginning of its own. The last applies to a transfer: the agent that handed over has ended,
  and its successor is still below it;
- **ends**: open nodes inside a node end with it. A node that waits or fails passes that on to its parent,
  as ADK's runtime does without saying so. A tool does not fail with its agent, nor an agent with its tool:
  ADK reports each failure by itself;
- **kinds** are read from the app, for starts that only have a name. A name is looked up together with the
  node that it runs in, because two workflows may each have a `join`. Nodes that an app creates while it runs
  are not in the table: their kind is `node` until they turn out to be an agent or a tool.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

import msgspec
from google.adk.events.event import Event
from google.adk.sessions.session import Session
from google.adk.workflow import BaseNode
from msgspec import Raw, Struct

from adk_prism.adk import request as requests
from adk_prism.adk.agents import children_of, kind_of
from adk_prism.adk.redaction import Serialiser, safe_code, state_json
from adk_prism.adk.session_store import AppendedEvents
from adk_prism.adk.tools import InDoubt
from adk_prism.errors import CallNotRecorded, Diagnostic, Fenced, NotAnEvent, Report, cause_of
from adk_prism.facts.outcome import is_finish
from adk_prism.facts.state import Difference, StateFold
from adk_prism.log import entry as records

if TYPE_CHECKING:
    from adk_prism.adk.plugin import CompletedCalls

_ADK_KEYS = "_adk"
"""State that ADK keeps for itself, and does not pass on to an agent inside a tool."""

_HAS_DELTA = b'"stateDelta":{"'

LATE = 0.05
"""Seconds after which a record gets the time of what happened, not of the writing. Smaller delays are
normal on a busy loop."""


class _Actions(Struct, rename="camel"):
    state_delta: dict[str, Raw] = {}


class _Changed(Struct):
    actions: _Actions


_read_delta = msgspec.json.Decoder(_Changed).decode


class Scope(NamedTuple):
    """The current place in a run."""

    observer: RunObserver
    run: ObservedRun | None = None
    node: Node | None = None


SCOPE: ContextVar[Scope | None] = ContextVar("adk_prism_scope", default=None)
"""Set while a run is driven. Tasks that ADK creates inherit it: so one plugin serves many runs, and a run
inside a tool is assigned to that tool."""

_OBSERVED: WeakValueDictionary[str, RunObserver] = WeakValueDictionary()


def observer_of(invocation: str) -> RunObserver | None:
    """Return the observer of an invocation that is running, from any thread."""
    return _OBSERVED.get(invocation)


class RunObserver:
    """Observes one run."""

    def __init__(
        self,
        emit: requests.EmitRecord,
        started: records.RunStarted,
        serialiser: Serialiser,
        *,
        report: Report,
        stop: Callable[[], None],
        attempt: int = 0,
        doubts: Mapping[str, InDoubt] | None = None,
        watch_calls: requests.WatchCalls | None = None,
        tools: requests.ToolSubstitute | None = None,
        takes_payloads: bool = False,
    ) -> None:
        """`stop` ends a run that cannot be recorded. `attempt` makes node ids differ from those of an
        earlier one; `doubts` are the calls that it left without an answer. `watch_calls` is
        how model calls are observed; None: as the recording says. `tools` answers calls from a recording."""
        self._emit = emit
        self._name = started.run
        self._fold = StateFold(started.state)
        self._serialiser = serialiser
        self._report = report
        self._stop = stop
        recorder = requests.CALLS.get()
        watch = watch_calls or (recorder.watch if recorder is not None else None)
        self.calls = watch(self._put) if watch is not None else requests.CallWatcher()
        self._queue: deque[tuple[float, Node | records.Record | requests.SeenCall]] = deque()
        """What has not been written yet, and when it happened."""
        self._writing = asyncio.Lock()
        self._flushing: asyncio.Task[None] | None = None
        self._starts = 0
        self._nodes = f"n{attempt}-" if attempt else "n"
        self.is_resumed = attempt > 0
        """Another process began the run."""
        self.completed: CompletedCalls | None = None
        """Of a run that is resumed: the model calls that are not to be repeated."""
        self.appended = AppendedEvents(started.origin, self.calls.add_compaction)
        self.doubts = dict(doubts or {})
        """Calls that may have run before, and what to do about them; each counts once."""
        self.tools = tools
        self.takes_payloads = takes_payloads
        """A person gave more than yes or no to an approval."""
        self._failing: list[Node] = []
        """Failed nodes whose end waits until the events before it are out."""
        self._runs: dict[str, ObservedRun] = {}
        """By invocation."""
        self._loop = asyncio.get_running_loop()
        self._has_reported = False
        self.is_closed = False
        self.error: Exception | None = None
        """Why the log cannot be written any more."""
        self.not_an_event: NotAnEvent | None = None
        """What an agent yielded that is no event: ADK fails on it, without saying whose it is."""

    @property
    def is_inactive(self) -> bool:
        """Return whether nothing is observed any more: the run is over, or this is another event loop.

        ADK can run tools, and agents in them, in threads with their own loops; what happens there has no
        order relative to the records of this loop.
        """
        return self.is_closed or asyncio.get_running_loop() is not self._loop

    @property
    def has_pending(self) -> bool:
        """Return whether there is something to write, or writing has failed."""
        return bool(self._queue) or self.error is not None

    @property
    def unanswered(self) -> CallNotRecorded | None:
        """Return the call that the recording has no answer to: the run fails with it."""
        return self.tools.unanswered if self.tools is not None else None

    # ------------------------------------------------------------------ runs and their events

    def enter(self, run: ObservedRun, invocation: str) -> None:
        """Register the run of a Runner."""
        self._runs[invocation] = run
        _OBSERVED[invocation] = self

    def record_child(self, invocation: str, event: Event) -> None:
        """Record an event of a run inside a tool; those of the run itself are yielded."""
        run = self._runs.get(invocation)
        if run is None or run.owner is None:
            return
        self.expect(event)
        data = Raw(self._serialiser.event(event))
        self._put(records.ChildEvent(call=run.owner.call, node=run.owner.id, event=data))
        self.settle(event)

    def tell(self, event: Event) -> None:
        """Record a partial event of a run, or of one inside a tool, that its Runner does not yield."""
        run = self._runs.get(event.invocation_id)
        if run is None or self.is_closed:
            return
        data, owner = self._serialiser.event(event), run.owner
        if owner is None:
            self._put(records.AgentEvent(data))
        else:
            self._put(records.ChildEvent(call=owner.call, node=owner.id, event=Raw(data)))
        self.poke()

    def call_in_loop(self, function: Callable[..., None], *arguments: object) -> None:
        """Call a function in the event loop of the run, at once where this is it."""
        with suppress(RuntimeError):  # this is a thread without a loop
            if asyncio.get_running_loop() is self._loop:
                function(*arguments)
                return
        with suppress(RuntimeError):  # the loop has ended, and the run with it
            self._loop.call_soon_threadsafe(function, *arguments)

    def expect(self, event: Event) -> None:
        """Apply what a complete event says about nodes, before it is yielded."""
        run = self._runs.get(event.invocation_id)
        if run is None:
            return
        run.calls.update(call.id for call in event.get_function_calls() if call.id)
        for response in event.get_function_responses():
            tool = run.deferred.pop(response.id or "", None)
            if tool is not None:
                self.close(tool, run.session.state, "finished")
        path, branch = event.node_info.path, event.branch or ""
        node = run.at(path, branch) if path else run.spoken_by(event.author, branch)
        if node is None:
            return
        code = event.error_code or ""
        node.failure = safe_code(code) if code and not is_finish(code) else None
        if event.long_running_tool_ids and node.kind != "agent":
            node.waits = True

    def fold(self, event: bytes) -> None:
        """Apply an event's state change when the event is yielded."""
        if _HAS_DELTA in event:
            self._fold.change(_read_delta(event).actions.state_delta)

    def settle(self, event: Event) -> None:
        """End the nodes whose error this event was."""
        if event.error_code and self._failing:
            path = event.node_info.path
            for node in [node for node in self._failing if path and node.path == path]:
                self.close(node, node.run.session.state, "failed")
            self.poke()

    # ------------------------------------------------------------------ nodes

    def begin(self, node: Node, state: Mapping[str, Any]) -> None:
        """Queue a start. It includes what is learned about the node until it is written."""
        self._starts += 1
        node.id = f"{self._nodes}{self._starts}"
        node.found = self._differ(node, state)
        self._put(node)

    def close(
        self,
        node: Node,
        state: Mapping[str, Any],
        status: records.NodeStatus | None = None,
        *,
        derived: bool = False,
    ) -> None:
        """Record an end, after the ends of all that is open inside. Repeating it changes nothing.

        Without a status, the node ends as what is known of it says.
        """
        if not node.is_open:
            return
        self.calls.end_in(node, cancelled=status == "cancelled")
        for inner in reversed(list(node.inside.values())):
            ending = status if status == "cancelled" and inner.status == "finished" else None
            self.close(inner, state, ending, derived=inner not in self._failing)
        status = status or node.status
        error = node.failure or "" if status == "failed" else ""
        node.end(status, error)
        if node in self._failing:
            self._failing.remove(node)
        changed = self._differ(node, state)
        ended = records.NodeEnded(
            node=node.id,
            status=status,
            error=error,
            state=changed.state,
            gone=changed.gone,
            derived=derived,
        )
        self._put(ended)

    def hold(self, node: Node, error: str) -> None:
        """Note an error whose node ends once the events before it are out, or with the run."""
        node.failure = error
        self._failing.append(node)

    def _differ(self, node: Node, state: Mapping[str, Any]) -> Difference:
        now = state_json(state)
        if node.run.owner is not None:
            now |= {k: v for k, v in self._fold.items() if k.startswith(_ADK_KEYS) and k not in now}
        changed = self._fold.difference(now)
        # What tools write that run at the same time is theirs, and is recorded when they end.
        others = [tool for tool in node.run.tools.values() if tool not in node.enclosing()]
        theirs = {key for tool in others if tool.is_open for key in tuple(tool.written)}
        for key in theirs - node.written.keys():
            changed.state.pop(key, None)
        self._fold.change(*changed)
        return changed

    # ------------------------------------------------------------------ writing

    def _put(self, item: Node | records.Record | requests.SeenCall) -> None:
        self._queue.append((time.time(), item))

    async def flush(self) -> None:
        """Write the queue. It never raises: a failure is kept in `error`."""
        if not self._queue or self.error is not None:
            return
        async with self._writing:
            while self._queue and self.error is None:
                when, item = self._queue[0]
                record = item.started() if isinstance(item, Node) else item
                is_late = time.time() - when > LATE
                try:
                    if is_late and not isinstance(record, requests.SeenCall):
                        await self._emit(records.Entry(0, when, record))
                    else:
                        await self._emit(record)
                except Exception as error:  # the recorder raises it again
                    self.error = error
                    if not isinstance(
                        error, Fenced
                    ):  # the session has a new owner: do not write to it
                        self._stop()
                else:
                    # Only now: if this task is cancelled, the next flush writes the record.
                    self._queue.popleft()

    def poke(self) -> None:
        """Write the queue in the next turn of the event loop."""
        if self._queue and (self._flushing is None or self._flushing.done()):
            self._flushing = self._loop.create_task(self.flush())
            self._flushing.add_done_callback(self._flushed)

    def _flushed(self, task: asyncio.Task[None]) -> None:
        """Let go of a task that is done: its context holds ADK's, and what ADK holds does not end."""
        if self._flushing is task:
            self._flushing = None

    async def finish(self) -> None:
        """End the nodes that failed, write what is left, and stop observing."""
        if self.is_closed:
            return
        for node in list(self._failing):  # the innermost failed first
            self.close(node, node.run.session.state, "failed")
        self.calls.end_all()
        self.is_closed = True
        await self.flush()

    def report(self, error: Exception) -> None:
        """Report to the operator, once, that something could not be observed."""
        if not self._has_reported:
            self._has_reported = True
            self._report(Diagnostic(kind="node not seen", cause=cause_of(error), run=self._name))


def _read_kinds(root: BaseNode) -> dict[tuple[str, str], records.NodeKind]:
    """Return the kinds of an app's nodes: by the node around it and its own name, and by its name alone."""
    kinds: dict[tuple[str, str], records.NodeKind] = {}
    for parent, node in _walk(root):
        kinds[parent, node.name] = kind_of(node)
        kinds.setdefault(("", node.name), kinds[parent, node.name])
    return kinds


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


class Node:
    """One node that has started."""

    def __init__(
        self, run: ObservedRun, name: str, kind: records.NodeKind, parent: Node | None
    ) -> None:
        self.id = ""
        """Its number in the run; set when its start is recorded."""
        self.name = name
        self.kind: records.NodeKind = kind
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
        self.written: Mapping[str, Any] = {}
        """What a tool has written to the state so far: ADK's own object, which grows."""
        self.waits = False
        """Something in it waits for a person or the client."""
        self.failure: str | None = None
        """The code of the error that it is ending with."""
        self.inside: dict[int, Node] = {}
        """The open nodes that run in it, in the order of their starts."""
        self.starts: dict[str, int] = {}
        """How often nodes have started in it, by name."""
        around = parent if parent is not None else run
        self.iteration = around.starts[name] = around.starts.get(name, 0) + 1
        if parent is not None:
            parent.inside[id(self)] = self

    @property
    def status(self) -> records.NodeStatus:
        """How it ends if it ends now."""
        if self.failure is not None:
            return "failed"
        return "waiting" if self.waits else "finished"

    def end(self, status: records.NodeStatus, error: str) -> None:
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

    def started(self) -> records.NodeStarted:
        """Return the record of the start, which can no longer change."""
        self.is_noted = True
        return records.NodeStarted(
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
        self._kinds: dict[tuple[str, str], records.NodeKind] | None = None
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

    def _kind(self, parent: str, name: str) -> records.NodeKind:
        if self._kinds is None:
            self._kinds = _read_kinds(self._root)
        return self._kinds.get((parent, name)) or self._kinds.get(("", name), "node")

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
