"""Calls of a remote live run that wait for the client: long-running tools, and requests for an approval.

ADK's own server asks for no approval in a live run; another server of ours does. An answer is the call's
response, in a message of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
from google.adk.events.event import Event
from google.genai import types

from adk_prism.errors import Conflict, NotFound
from adk_prism.facts.adk_event import CONFIRMATION
from adk_prism.runlog.entry import is_absent
from adk_prism.source.live.pending_questions import ApprovalDecision, ClientToolResult

MOST_CALLS = 256
"""Calls that are remembered."""

_NUMBERED = re.compile(r"~\d+$")
"""What is appended where a model uses an id again (`facts.calls.open_calls`)."""

Answer = Callable[[types.FunctionResponse], None]


class RemoteQuestions:
    """The calls of one run that wait for the client."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._open: dict[str, str] = {}
        """Names of calls, by id."""
        self._answered: dict[str, None] = {}

    def note(self, event: Event) -> None:
        """Learn which calls of an event wait."""
        waiting = event.long_running_tool_ids or ()
        for call in event.get_function_calls() if waiting and not event.partial else ():
            if call.id is not None and call.id in waiting:
                self._open[call.id] = call.name or ""
        for response in event.get_function_responses():
            self._open.pop(response.id or "", None)
        while len(self._open) > MOST_CALLS:
            del self._open[next(iter(self._open))]

    def decide(self, approval: str, decision: ApprovalDecision) -> None:
        """Answer an approval. Raise `Conflict` or `NotFound`."""
        given: dict[str, Any] = {"confirmed": decision.approved}
        if not is_absent(decision.payload):
            given["payload"] = msgspec.json.decode(decision.payload)
        self._give(approval, given, is_approval=True)

    def give_result(self, call: str, result: ClientToolResult) -> None:
        """Take the client's result of a call. Raise `Conflict` or `NotFound`."""
        value = msgspec.json.decode(result.value)
        given = value if isinstance(value, dict) and value else {"result": value}
        self._give(call, {"error": result.error} if result.error else given, is_approval=False)

    def give_result_by_adk_id(self, adk_id: str, result: ClientToolResult) -> None:
        """Take the result of the last call with this id. Raise `Conflict` or `NotFound`."""
        self.give_result(adk_id, result)

    def abandon_all(self, reason: str) -> None:
        """Leave them open: the remote does not wait for them."""

    def _give(self, call: str, given: dict[str, Any], *, is_approval: bool) -> None:
        call = _NUMBERED.sub("", call)
        if call in self._answered:
            raise Conflict(f"{call[:80]!r} has been answered already.")
        name = self._open.get(call)
        if name is None or (name == CONFIRMATION) != is_approval:
            raise NotFound(f"{call[:80]!r} is unknown: nothing asked for it.")
        del self._open[call]
        self._answered[call] = None
        if len(self._answered) > MOST_CALLS:
            del self._answered[next(iter(self._answered))]
        self._answer(types.FunctionResponse(id=call, name=name, response=given))
