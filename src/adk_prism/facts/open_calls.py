"""Calls, their answers, and who they wait for: kept from the request to the answer.

Decides which answer belongs to which call: by ADK's id where there is one, else the oldest open call of
that name. A call is known to the outside by the id under which it was first seen; where a model adapter
gives the streamed preview another id than the confirmed call, the first one stays (`adk_id` is then the
one to answer with). An id names one call of a message, also after its answer.

Whatever is looked up per event has an index: ten thousand open calls cost an event no more than one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from adk_prism.facts.model import Speaker
from adk_prism.log.entry import Continues, Decision, Outcome


class OpenCall(Struct, eq=False):
    """A call without an answer."""

    call: str
    adk_id: str
    """Changed by `Calls.confirm` alone, which keeps the indexes."""
    name: str
    requested: bool = True
    """Its input is complete; before that only fragments of it have been seen."""
    provider: bool = False
    """The model's provider runs it: its answer comes with the model's output or never."""
    awaits: bool = False
    """Its answer comes from a person or from the client."""
    decided: bool = False
    """A person's decision about it was passed on: only the run that took it may answer."""
    delegates: bool = False
    """It runs an agent whose output is in the stream."""
    in_doubt: bool = False
    """It is in doubt after a takeover: an answer may come, or not."""

    def is_hopeless(self, outcome: Outcome) -> bool:
        """Return whether the call will get no answer, now that its run is over.

        A waiting run continues: with the person's answer, and with the agents it was delegated to. Of a
        finished run a client may answer calls; of any other one only what a person was asked stays.
        """
        if self.in_doubt or self.decided:
            return True
        if outcome == "finished":
            return self.provider or not self.requested
        return not self.awaits and not (self.delegates and outcome == "waiting")


class _Index:
    """Open calls under a key, the oldest first."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: dict[str, dict[str, OpenCall]] = {}

    def add(self, key: str, call: OpenCall) -> None:
        self._calls.setdefault(key, {})[call.call] = call

    def remove(self, key: str, call: OpenCall) -> None:
        calls = self._calls.get(key)
        if calls is not None and calls.pop(call.call, None) is not None and not calls:
            del self._calls[key]

    def oldest(self, key: str) -> OpenCall | None:
        calls = self._calls.get(key)
        return next(iter(calls.values())) if calls else None


class Calls:
    """The calls of one message."""

    def __init__(self) -> None:
        self._open: dict[str, OpenCall] = {}
        self._by_adk_id = _Index()
        self._by_name = _Index()
        self._nameless = _Index()
        """Those without an id of ADK's, by tool."""
        self._ids: dict[str, int] = {}
        """Every id in use, and how many were made of it."""
        self._answered: dict[str, OpenCall] = {}
        self._below: dict[str, list[OpenCall]] = {}
        """Calls of the agents that a call runs, by that call."""
        self._decisions: dict[str, Decision] = {}
        self._gated: dict[str, str] = {}
        """Approval id → call."""
        self._requests: set[str] = set()
        """Reserved calls (input, credential) that wait for a person."""
        self._left_behind: frozenset[str] = frozenset()
        """Calls without an answer when the user sent another message."""

    # -------------------------------------------------------------- opening

    def resume(self, continues: Continues) -> None:
        """Take over the open calls and the decisions of the message that continues.

        What is open waits for somebody or runs an agent, or its run would have abandoned it; a decision
        that is passed on to ADK ends the waiting.
        """
        delegated = frozenset(continues.delegated)
        for call, name in continues.open_calls.items():
            self._ids[call] = 1
            opened = OpenCall(call, continues.adk_ids.get(call, call), name)
            opened.decided = call in continues.decisions and not continues.held
            opened.delegates = call in delegated
            opened.awaits = not (opened.decided or opened.delegates)
            self.open(opened)
        self._decisions.update(continues.decisions)

    def new_id(self, wanted: str) -> str:
        """Return an id for a new call: the wanted one, unless the message had a call with it."""
        number = self._ids.get(wanted, 0) + 1
        call = wanted
        if number > 1:
            while (call := f"{wanted}~{number}") in self._ids:
                number += 1
            self._ids[call] = 1
        self._ids[wanted] = number
        return call

    def open(self, call: OpenCall) -> None:
        """Begin to wait for a call's answer."""
        self._open[call.call] = call
        self._index(call)

    def confirm(self, call: OpenCall, adk_id: str) -> None:
        """Take the id under which ADK made the call that was only streamed before."""
        self._unindex(call)
        call.adk_id, call.requested = adk_id, True
        self._index(call)

    def _index(self, call: OpenCall) -> None:
        if call.adk_id:
            self._by_adk_id.add(call.adk_id, call)
        if call.requested:  # A call that is still streaming can be answered only by its exact id.
            self._by_name.add(call.name, call)
            if not call.adk_id:
                self._nameless.add(call.name, call)

    def _unindex(self, call: OpenCall) -> None:
        self._by_name.remove(call.name, call)
        if call.adk_id:
            self._by_adk_id.remove(call.adk_id, call)
        else:
            self._nameless.remove(call.name, call)

    def running(self, speaker: Speaker) -> Iterator[OpenCall]:
        """Yield the open calls that run a speaker, the innermost first.

        Their ids end the steps of its branch, or of its path.
        """
        for step in (*reversed(speaker.path.split("/")), *reversed(speaker.branch.split("."))):
            call = self.by_adk_id(step.rpartition("@")[2]) if "@" in step else None
            if call is not None:
                yield call

    def nest(self, call: OpenCall, speaker: Speaker) -> None:
        """Note whose call it is: with the answer to the call that runs its speaker, it is over."""
        if len(self._open) < 2:
            return  # only the call itself is open: saves splitting the path of most calls
        outer = next(self.running(speaker), None)
        if outer is not None and outer is not call:
            self._below.setdefault(outer.call, []).append(call)

    def delegate(self, call: OpenCall) -> None:
        """Note that a call runs an agent: whatever it waited for has come."""
        call.delegates, call.awaits = True, False

    def doubt(self, calls: Iterable[str]) -> None:
        """Note that the run continued without these calls, or ran them again."""
        for name in calls:
            call = self._open.get(name)
            if call is not None:
                call.in_doubt, call.awaits = True, False

    def by_id(self, call: str) -> OpenCall | None:
        """Find an open call by the id clients know."""
        return self._open.get(call)

    def by_adk_id(self, adk_id: str) -> OpenCall | None:
        """Find an open call by the id ADK knows."""
        return self._by_adk_id.oldest(adk_id)

    # -------------------------------------------------------------- answering

    def match(self, adk_id: str, name: str) -> OpenCall | None:
        """Find the call that an answer is for, also one that was answered before."""
        if adk_id:
            found = self._by_adk_id.oldest(adk_id) or self._answered.get(adk_id)
            return found or self._nameless.oldest(name)
        return self._nameless.oldest(name) or self._by_name.oldest(name)

    def close(self, call: OpenCall) -> list[OpenCall]:
        """Note the answer. A later one for the same call is still matched to it.

        Return the open calls of the agents that it ran, which are over: their answers are not taken.
        """
        self._drop(call)
        self._answered[call.adk_id or call.call] = call
        if not self._below:
            return []
        return [left for inner in self._below.pop(call.call, ()) for left in self._orphans(inner)]

    def _orphans(self, call: OpenCall) -> Iterator[OpenCall]:
        for inner in self._below.pop(call.call, ()):
            yield from self._orphans(inner)
        if call.call in self._open:
            self._drop(call)
            yield call

    def _drop(self, call: OpenCall) -> None:
        if self._open.pop(call.call, None) is not None:
            self._unindex(call)

    # -------------------------------------------------------------- people

    def gate(self, approval: str, call: OpenCall) -> None:
        """Note that a person is asked about a call."""
        call.awaits, call.decided, call.in_doubt = True, False, False
        self._gated[approval] = call.call

    def is_asked(self, approval: str) -> bool:
        """Return whether the question has been asked before."""
        return approval in self._gated

    def decide(self, approval: str, approved: bool, reason: str = "") -> str | None:
        """Note a person's answer that is itself in the stream; return the call it is about."""
        call = self._gated.get(approval)
        if call is not None:
            self._decisions[call] = Decision(approval=approval, approved=approved, reason=reason)
            opened = self._open.get(call)
            if opened is not None:
                opened.awaits, opened.decided = False, True
        return call

    def undecided(self) -> list[tuple[str, OpenCall]]:
        """Return the unanswered questions, and the calls that they are about."""
        asked = [(approval, self._open.get(call)) for approval, call in self._gated.items()]
        return [(approval, call) for approval, call in asked if call is not None and call.awaits]

    def denial(self, call: OpenCall) -> Decision | None:
        """Return the decision by which a call was denied, if it was."""
        decision = self._decisions.get(call.call)
        return decision if decision is not None and not decision.approved else None

    def request(self, reserved: str) -> None:
        """Note that a reserved call waits for a person."""
        self._requests.add(reserved)

    def satisfy(self, reserved: str) -> None:
        """Note the answer to a reserved call."""
        self._requests.discard(reserved)

    # -------------------------------------------------------------- the end

    @property
    def awaiting(self) -> bool:
        """Return whether a person or the client is waited for."""
        return bool(self._requests) or any(call.awaits for call in self._open.values())

    @property
    def asks(self) -> bool:
        """Return whether a person is asked for something, and nothing but that is waited for."""
        return bool(self._requests) and not any(call.awaits for call in self._open.values())

    @property
    def answerable(self) -> bool:
        """Return whether there is a call or a question that a person or the client may still answer."""
        return bool(self._requests) or any(not call.delegates for call in self._open.values())

    def owed(self) -> list[OpenCall]:
        """Return the open calls whose answer is the run's own to give, but for agents at work."""
        return [
            call
            for call in self._open.values()
            if call.requested and not (call.awaits or call.delegates or call.provider)
        ]

    def go_on(self) -> None:
        """Note that the user sent another message: unanswered calls no longer keep the run waiting."""
        self._left_behind = frozenset(self._open)

    @property
    def owing(self) -> bool:
        """Return whether the run itself has to answer a call of the user's last turn."""
        return any(call.call not in self._left_behind for call in self.owed())

    def abandon(self, outcome: Outcome, *, all_of_them: bool = False) -> Iterator[OpenCall]:
        """Yield and forget the open calls that get no answer after such an end."""
        for call in list(self._open.values()):
            if all_of_them or call.is_hopeless(outcome):
                self._drop(call)
                yield call
