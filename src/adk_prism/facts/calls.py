"""Calls, their answers, and who they wait for: kept from the request to the answer.

Decides which answer belongs to which call: by ADK's id where there is one, else the oldest open call of
that name. A call is known to the outside by the id under which it was first seen; where a model adapter
gives the streamed preview another id than the confirmed call, the first one stays (`adk_id` is then the
one to answer with).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from adk_prism.runlog.entry import Continues, Decision


class OpenCall:
    """A call without an answer."""

    __slots__ = ("adk_id", "awaits", "call", "delegates", "name", "requested")

    def __init__(self, call: str, adk_id: str, name: str, *, requested: bool = True) -> None:
        self.call = call
        self.adk_id = adk_id
        self.name = name
        self.requested = requested
        """Its input is complete; before that only fragments of it have been seen."""
        self.awaits = False
        """Its answer comes from a person or from the client."""
        self.delegates = False
        """It runs an agent whose output is in the stream."""


class Calls:
    """The calls of one message."""

    def __init__(self) -> None:
        self._open: dict[str, OpenCall] = {}
        self._answered: dict[str, OpenCall] = {}
        self._decisions: dict[str, Decision] = {}
        self._gated: dict[str, str] = {}
        """Approval id → call."""
        self._requests: set[str] = set()
        """Reserved calls (input, credential) that wait for a person."""

    # -------------------------------------------------------------- opening

    def resume(self, continues: Continues) -> None:
        """Take over the open calls and the decisions of the message that goes on."""
        for call, name in continues.open_calls.items():
            self._open[call] = OpenCall(call, continues.adk_ids.get(call, call), name)
        self._decisions.update(continues.decisions)

    def free_id(self, wanted: str) -> str:
        """Return an id for a new call: the wanted one, unless a call with it is still open."""
        call, number = wanted, 2
        while call in self._open:
            call, number = f"{wanted}~{number}", number + 1
        return call

    def open(self, call: OpenCall) -> None:
        """Begin to wait for a call's answer."""
        self._open[call.call] = call

    def by_id(self, call: str) -> OpenCall | None:
        """Find an open call by the id clients know."""
        return self._open.get(call)

    def by_adk_id(self, adk_id: str) -> OpenCall | None:
        """Find an open call by the id ADK knows."""
        call = self._open.get(adk_id)
        if call is not None and call.adk_id == adk_id:
            return call
        return next((c for c in self._open.values() if c.adk_id == adk_id), None)

    # -------------------------------------------------------------- answering

    def match(self, adk_id: str, name: str) -> OpenCall | None:
        """Find the call that an answer is for, also one that was answered before."""
        if adk_id:
            call = self.by_adk_id(adk_id) or self._answered.get(adk_id)
            if call is not None:
                return call
        return next((c for c in self._open.values() if c.name == name and not c.adk_id), None) or (
            None if adk_id else next((c for c in self._open.values() if c.name == name), None)
        )

    def close(self, call: OpenCall) -> None:
        """Note the answer. A later one for the same call is still matched to it."""
        self._open.pop(call.call, None)
        self._answered[call.adk_id or call.call] = call

    # -------------------------------------------------------------- people

    def gate(self, approval: str, call: OpenCall) -> None:
        """Note that a person is asked about a call."""
        call.awaits = True
        self._gated[approval] = call.call

    def decide(self, approval: str, approved: bool, reason: str = "") -> None:
        """Note a person's answer that is itself in the stream (a capture of a session)."""
        call = self._gated.get(approval)
        if call is not None:
            self._decisions[call] = Decision(approval=approval, approved=approved, reason=reason)

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
        """Tell whether a person or the client is waited for."""
        return bool(self._requests) or any(call.awaits for call in self._open.values())

    def abandon(self) -> Iterator[OpenCall]:
        """Yield and forget the open calls that nobody will answer."""
        for call in list(self._open.values()):
            if not call.awaits and not call.delegates:
                del self._open[call.call]
                yield call

    def unconfirmed(self) -> Iterator[OpenCall]:
        """Yield and forget the calls of which only fragments have been seen."""
        for call in list(self._open.values()):
            if not call.requested:
                del self._open[call.call]
                yield call


# --------------------------------------------------------------------------- answers

_decode = msgspec.json.decode


def failure(response: Raw) -> str | None:
    """Return the error text of a failed tool's response, None for a success.

    A failure is `success: false`, or an `error` without a `result`. Where the response says more
    than its error, all of it is the text: nothing is dropped.
    """
    raw = bytes(response)
    if b'"error"' not in raw and b'"success"' not in raw:
        return None
    tree: Any = _decode(raw)
    if not isinstance(tree, Mapping):
        return None
    error = tree.get("error")
    if tree.get("success") is not False and (error in (None, "", False) or "result" in tree):
        return None
    if isinstance(error, str) and error and not tree.keys() - {"error", "success"}:
        return error
    return raw.decode()
