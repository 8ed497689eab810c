"""What a message still waits for: the server's own table of open questions.

A fold over the facts of a message's runs, in order. Only what is in this table can be answered, once; a
forged, late or second answer finds nothing here. Answers that were given but not yet passed on to ADK
(because others of the same batch are missing) are held in it.
"""

from __future__ import annotations

from collections.abc import Iterable
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
)
from adk_prism.runlog.entry import Decision


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
        """Long-running calls whose tool has said something, and whose real answer may still come."""
        self._delegated: set[str] = set()
        """Calls that run agents, answered ones included."""
        self.approvals: dict[str, PendingApproval] = {}
        self._asked: dict[str, list[str]] = {}
        """Approvals by the call they are about."""
        self.requests: dict[str, PendingRequest] = {}
        self.held_decisions: dict[str, Decision] = {}
        """By approval id."""
        self.held_answers: dict[str, Raw] = {}
        """By call id."""

    def feed(self, facts: Iterable[Fact]) -> None:
        """Take what an entry means."""
        for fact in facts:
            match fact:
                case CallRequested():
                    self._request(fact)
                case CallAnswered() | CallFailed() | CallDenied() | CallAbandoned():
                    self._settle(fact.call)
                case CallDelegated():
                    self._delegated.add(fact.call)
                case ApprovalRequested():
                    call = self._seen[fact.call]
                    self.approvals[fact.approval] = PendingApproval(fact.approval, call)
                    self._asked.setdefault(fact.call, []).append(fact.approval)
                case ApprovalDecided():
                    self.approvals.pop(fact.approval, None)
                case InputRequested():
                    asked = PendingRequest(fact.call, fact.kind, fact.request, fact.speaker.node)
                    self.requests[fact.call] = asked
                case _:
                    pass  # says nothing about who waits for whom

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
            self._late.pop(call, None)

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

    def _settle(self, call: str) -> None:
        settled = self._open.pop(call, None)
        if settled is not None and settled.long_running:
            self._late[call] = settled
        for approval in self._asked.pop(call, ()):
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
            if call.long_running and name not in gated and name not in self.held_answers
        }

    @property
    def late_calls(self) -> dict[str, PendingCall]:
        """Long-running calls that may be answered again: their tool only said that it has begun."""
        return dict(self._late)

    def knows(self, call: str) -> bool:
        """Tell whether the message ever had such a call."""
        return call in self._seen

    def approval_of(self, call: str) -> PendingApproval | None:
        """Find the open question about a call."""
        asked = (self.approvals.get(approval) for approval in self._asked.get(call, ()))
        return next((approval for approval in asked if approval is not None), None)
