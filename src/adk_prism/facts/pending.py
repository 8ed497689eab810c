"""What a message still waits for: the server's own table of open questions.

A fold over the facts of a message's runs, in order. Only what is in this table can be answered. Approvals,
questions and sign-ins are answered once. A long-running call may get several results:
its tool may have said that it has begun, and every update goes to the model. Answers that were given but
not yet passed on to ADK (because others of the same batch are missing) are held in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Raw, Struct

from adk_prism.facts.model import (
    ApprovalDecided,
    ApprovalRequested,
    CallAbandoned,
    CallAnswered,
    CallDelegated,
    CallDenied,
    CallFailed,
    CallRequested,
    Fact,
    InputRequested,
    MessageBegan,
)
from adk_prism.log.entry import NOTHING, Decision, to_raw

_NULL = Raw(b"null")


class PendingCall(Struct, frozen=True):
    """A call without its answer."""

    call: str
    adk_id: str
    name: str
    input: Raw
    long_running: bool
    node: str
    """Name of the node that made it."""
    provider_executed: bool = False


class PendingApproval(Struct, frozen=True):
    """A question to a person about a call."""

    approval: str
    call: PendingCall
    payload: Raw
    """A sample of what the tool wants with the approval; empty if it wants nothing."""


class PendingRequest(Struct, frozen=True):
    """A question to a person in its own right."""

    call: str
    kind: Literal["credential", "input"]
    request: Raw
    node: str


class Pending:
    """The open questions of one message."""

    def __init__(self) -> None:
        self._seen: dict[str, PendingCall] = {}
        self._open: dict[str, PendingCall] = {}
        self._late: dict[str, PendingCall] = {}
        """Long-running calls that have a result, and may have another one."""
        self._shown: dict[str, Raw] = {}
        """The last result of those, as a client shows it; without one where the call was abandoned."""
        self._delegated: set[str] = set()
        """Calls that run agents, answered ones included."""
        self.approvals: dict[str, PendingApproval] = {}
        self._asked: dict[str, list[str]] = {}
        """Approvals by the call they are about."""
        self.approvals_asked: set[str] = set()
        """Ids of all approvals that the message ever asked for."""
        self.requests: dict[str, PendingRequest] = {}
        self.held_decisions: dict[str, Decision] = {}
        """By approval id."""
        self.held_answers: dict[str, Raw] = {}
        """By call id."""

    def feed(self, facts: Iterable[Fact]) -> None:
        """Read the facts of an entry."""
        for fact in facts:
            match fact:
                case MessageBegan():
                    self._continue(fact)
                case CallRequested():
                    self._request(fact)
                case CallAnswered() | CallFailed() | CallDenied() | CallAbandoned():
                    self._settle(fact)
                case CallDelegated():
                    self._delegated.add(fact.call)
                case ApprovalRequested():
                    call = self._seen[fact.call]
                    asked = PendingApproval(fact.approval, call, fact.payload)
                    self.approvals[fact.approval] = asked
                    self.approvals_asked.add(fact.approval)
                    self._asked.setdefault(fact.call, []).append(fact.approval)
                case ApprovalDecided():
                    self.approvals.pop(fact.approval, None)
                case InputRequested():
                    self.requests[fact.call] = PendingRequest(
                        fact.call, fact.kind, fact.request, fact.speaker.node
                    )
                case _:
                    pass  # says nothing about who waits for whom

    def _continue(self, fact: MessageBegan) -> None:
        """Register the calls that a run continues, if the run that made them was not read."""
        for call, name in fact.open_calls.items():
            self._seen.setdefault(call, PendingCall(call, call, name, NOTHING, False, ""))

    def hold(self, decisions: Iterable[Decision], answers: dict[str, Raw]) -> None:
        """Keep answers until the others of their batch are there."""
        self.held_decisions.update((d.approval, d) for d in decisions)
        self.held_answers.update(answers)

    def pass_on(self, decisions: Iterable[Decision], answers: Iterable[str]) -> None:
        """Note that answers went to ADK."""
        for decision in decisions:
            self.held_decisions.pop(decision.approval, None)
            self.approvals.pop(decision.approval, None)
        for call in answers:
            self.held_answers.pop(call, None)
            self.requests.pop(call, None)

    def expire_held(self) -> None:
        """Forget the answers that were held: the conversation continued without the rest of their batch."""
        self.held_decisions.clear()
        self.held_answers.clear()

    def answered_elsewhere(self, ids: Iterable[str]) -> None:
        """Note that a later message answered approvals or requests."""
        for name in ids:
            self.approvals.pop(name, None)
            self.requests.pop(name, None)

    def _request(self, fact: CallRequested) -> None:
        call = PendingCall(
            fact.call,
            fact.adk_id,
            fact.name,
            fact.input,
            fact.long_running,
            fact.speaker.node,
            fact.provider_executed,
        )
        self._seen[fact.call] = call
        if not fact.provider_executed:
            self._open[fact.call] = call

    def _settle(self, fact: CallAnswered | CallFailed | CallDenied | CallAbandoned) -> None:
        self._open.pop(fact.call, None)
        made = self._seen.get(fact.call)
        if isinstance(fact, CallDenied):
            self._late.pop(fact.call, None)
        elif made is not None and made.long_running:
            self._late[fact.call] = made
            self._shown[fact.call] = _shown(fact)
        for approval in self._asked.pop(fact.call, ()):
            self.approvals.pop(approval, None)

    # -------------------------------------------------------------- questions about it

    @property
    def open_calls(self) -> dict[str, PendingCall]:
        """All calls without an answer, those of agents that still run included."""
        return dict(self._open)

    @property
    def delegated(self) -> list[str]:
        """The open calls that run agents."""
        return [name for name in self._open if name in self._delegated]

    @property
    def client_calls(self) -> dict[str, PendingCall]:
        """The calls that the client may answer: long-running, not gated, not answered."""
        gated = {a.call.call for a in self.approvals.values()}
        return {
            name: call
            for name, call in self._open.items()
            if call.long_running
            and name not in gated
            and name not in self.held_answers
            and name not in self._delegated
        }

    @property
    def late_calls(self) -> dict[str, PendingCall]:
        """Long-running calls that have a result and may be given another one."""
        return {name: call for name, call in self._late.items() if name not in self._delegated}

    def shown(self, call: str) -> Raw:
        """Return the last result of a long-running call; empty if it was abandoned."""
        return self._shown[call]

    @property
    def calls(self) -> Mapping[str, PendingCall]:
        """Every call of the message, by the id that clients know."""
        return self._seen

    def call(self, call: str) -> PendingCall | None:
        """Find a call that the message ever had."""
        return self._seen.get(call)

    def approval_of(self, call: str) -> PendingApproval | None:
        """Find the open question about a call."""
        asked = (self.approvals.get(approval) for approval in self._asked.get(call, ()))
        return next((approval for approval in asked if approval is not None), None)


def _shown(fact: CallAnswered | CallFailed | CallAbandoned) -> Raw:
    """Return a call's result as a client shows it; empty if there is none."""
    match fact:
        case CallAnswered():
            return fact.output if bytes(fact.output) else _NULL
        case CallFailed():
            return to_raw({"error": fact.error})
        case CallAbandoned():
            return NOTHING
