"""The questions of one live run: approvals that a person gives, and results that the client returns.

A question is recorded after the call that it is about.

Clients know a call by the id that `facts.calls.open_calls` gives it: ADK's id, with a number appended when
the model uses an id again. Tools know it by ADK's id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Raw, Struct, json

from adk_prism.errors import Conflict, NotFound
from adk_prism.runlog.entry import NOTHING, ApprovalAsked, ApprovalGiven, Record
from adk_prism.source.live.options import LiveOptions
from adk_prism.source.plain_json import storable

T = TypeVar("T")

MAX_ANSWERED = 256
"""Answered questions that are remembered, to recognise a second answer."""


class AnswerWaiter(Generic[T]):
    """The open questions of one kind: decisions, or results of tools that the client runs.

    The first answer counts. A question can be answered as soon as its call is seen, so an answer that
    arrives before the tool waits for it is not lost; an answer to an unknown question is refused.
    """

    def __init__(self, what: str, on_abandon: Callable[[str], T]) -> None:
        """`what` names a question in errors; `on_abandon` returns the answer of one without an answer."""
        self._what = what
        self._on_abandon = on_abandon
        self._open: dict[str, asyncio.Future[T]] = {}
        self._answered: dict[str, None] = {}

    def expect(self, name: str) -> None:
        """Open a question, unless it is known."""
        if name not in self._open and name not in self._answered:
            self._open[name] = asyncio.get_running_loop().create_future()

    def answer(self, name: str, answer: T) -> None:
        """Answer a question. Raise `Conflict` if it has been answered, `NotFound` if it is unknown."""
        future = self._open.get(name)
        if future is not None and not future.done():
            future.set_result(answer)
            return
        if future is not None or name in self._answered:
            raise Conflict(f"{self._what} {name[:80]!r} has been answered already.")
        raise NotFound(f"{self._what} {name[:80]!r} is unknown: nothing asked for it.")

    async def wait(self, name: str, seconds: float) -> T:
        """Return the answer; after the timeout, the answer of an abandoned question."""
        self.expect(name)
        future = self._open[name]
        try:
            await asyncio.wait([future], timeout=seconds)
            self.abandon(name, f"No answer within {seconds:g} seconds.")
            return future.result()
        finally:
            del self._open[name]
            self._answered[name] = None
            if len(self._answered) > MAX_ANSWERED:
                del self._answered[next(iter(self._answered))]

    def abandon_all(self, reason: str) -> None:
        """Settle every open question without an answer."""
        for name in self._open:
            self.abandon(name, reason)

    def abandon(self, name: str, reason: str) -> None:
        """Settle a question without an answer, if it is open."""
        future = self._open.get(name)
        if future is not None and not future.done():
            future.set_result(self._on_abandon(reason))


MAX_CANCELLED = 256
"""Cancelled calls that are remembered: they may still run, or be answered."""

MAX_LOGGED = 4096
"""Calls of one run whose place in the log is remembered; a call runs right after it is logged."""

CANCELLED = "The model withdrew the call."
_SESSION_ENDED = "The session is over."

Write = Callable[[Record], Awaitable[None]]


class ApprovalDecision(Struct, frozen=True):
    """The answer to an approval."""

    approved: bool
    reason: str = ""
    by: str = ""
    """Who decided, where that is known."""
    payload: Raw = NOTHING
    """What the tool asked for beyond yes or no."""


class ClientToolResult(Struct, frozen=True):
    """What a tool of the client returned."""

    value: Raw
    error: str = ""


class ApprovalPrompt(Struct, frozen=True):
    """What a tool says about the approval that it asks for."""

    hint: str = ""
    payload: Raw = NOTHING
    """A sample of the payload that it expects."""


_NO_PROMPT = ApprovalPrompt()


def approval_id(call: str, number: int = 1) -> str:
    """Return the id of a call's approval; a tool may ask for more than one."""
    return f"approval-{call}" if number == 1 else f"approval-{call}~{number}"


def _denied(reason: str) -> ApprovalDecision:
    return ApprovalDecision(False, reason)


def _failed(reason: str) -> ClientToolResult:
    return ClientToolResult(Raw(b"null"), reason)


class PendingQuestions:
    """The questions of one live run."""

    def __init__(self, options: LiveOptions, write: Write) -> None:
        self._options = options
        self._write = write
        self._approvals: AnswerWaiter[ApprovalDecision] = AnswerWaiter("Approval", _denied)
        self._results: AnswerWaiter[ClientToolResult] = AnswerWaiter("Call", _failed)
        self._asked: dict[str, int] = {}
        """Approvals asked for a call, by the client's id."""
        self._payloads: dict[str, Raw] = {}
        """Payload samples of open approvals."""
        self._inputs: dict[str, Raw] = {}
        """Open `adk_request_input` calls."""
        self._logged: dict[str, asyncio.Event] = {}
        self._uses: dict[str, int] = {}
        """How often the model has used an ADK id for a call."""
        self._cancelled: dict[str, None] = {}
        self._is_closed = False

    # ------------------------------------------------------------------ calls

    def add_call(self, adk_id: str) -> None:
        """Note a new call: from now on this ADK id means that call."""
        self._uses[adk_id] = self._uses.get(adk_id, 0) + 1

    def _client_id(self, adk_id: str) -> str:
        """Return the id by which clients know the last call with this ADK id."""
        uses = self._uses.get(adk_id, 1)
        return adk_id if uses == 1 else f"{adk_id}~{uses}"

    def expect_approval(self, call: str) -> None:
        """Accept a decision about a call from now on."""
        self._approvals.expect(approval_id(self._client_id(call)))

    def expect_result(self, call: str) -> None:
        """Accept a client's result of a call from now on."""
        self._results.expect(self._client_id(call))

    def expect_input(self, call: str, request: Raw) -> None:
        """Note the arguments of an `adk_request_input` call: its answer must fit their schema."""
        self._inputs[self._client_id(call)] = request

    def logged(self, call: str) -> asyncio.Event:
        """Return the event that is set when the call is in the log."""
        if len(self._logged) > MAX_LOGGED:
            del self._logged[next(iter(self._logged))]
        return self._logged.setdefault(self._client_id(call), asyncio.Event())

    # ------------------------------------------------------------------ asking

    async def ask(
        self, call: str, name: str, prompt: ApprovalPrompt = _NO_PROMPT
    ) -> ApprovalDecision:
        """Ask a person to approve a call, and wait for the decision."""
        await self.logged(call).wait()
        client_id = self._client_id(call)
        number = self._asked.pop(client_id, 0) + 1
        self._asked[client_id] = number
        if len(self._asked) > MAX_LOGGED:
            del self._asked[next(iter(self._asked))]
        approval = approval_id(client_id, number)
        if self._is_closed:
            return _denied(_SESSION_ENDED)
        self._payloads[approval] = prompt.payload
        asked = ApprovalAsked(
            approval=approval, call=call, name=name, hint=prompt.hint, payload=prompt.payload
        )
        await self._write(asked)
        decision = await self._approvals.wait(approval, self._options.approval_timeout)
        del self._payloads[approval]
        given = ApprovalGiven(
            approval=approval, approved=decision.approved, reason=decision.reason, by=decision.by
        )
        await self._write(given)
        return decision

    async def wait_for_result(self, call: str) -> dict[str, Any]:
        """Wait for the client's result of a call, and return it as a tool response."""
        await self.logged(call).wait()
        if self._is_closed:
            return {"error": _SESSION_ENDED}
        client_id = self._client_id(call)
        result = await self._results.wait(client_id, self._options.client_timeout)
        self._inputs.pop(client_id, None)
        if result.error:
            return {"error": result.error}
        value = storable(json.decode(result.value))
        # ADK takes an empty response of a long-running tool for none.
        return value if isinstance(value, dict) and value else {"result": value}

    # ------------------------------------------------------------------ answering

    def decide(self, approval: str, decision: ApprovalDecision) -> None:
        """Answer an approval; the first answer counts. Raise `Conflict`, `NotFound`, or `Unprocessable` for a
        payload that does not fit, which leaves the question open."""
        if decision.approved:
            # Imports jsonschema, a tenth of a second that a server's start need not take.
            from adk_prism.facts.calls.answer_schema import check_payload

            check_payload(self._payloads.get(approval, NOTHING), decision.payload)
        self._approvals.answer(approval, decision)

    def give_result(self, call: str, result: ClientToolResult) -> None:
        """Take a client's result; the first one counts. Raise `Conflict`, `NotFound`, or `Unprocessable` for
        an answer that does not fit its question, which stays open."""
        if call in self._inputs and not result.error:
            from adk_prism.facts.calls.answer_schema import fit_response

            result = ClientToolResult(fit_response(self._inputs[call], result.value))
        self._results.answer(call, result)

    def give_result_by_adk_id(self, adk_id: str, result: ClientToolResult) -> None:
        """Take the result of the last call with this ADK id. Raise as `give_result` does."""
        self.give_result(self._client_id(adk_id), result)

    # ------------------------------------------------------------------ giving up

    def cancel_calls(self, calls: Sequence[str]) -> None:
        """Settle the questions about calls that the model has cancelled."""
        for call in calls:
            client_id = self._client_id(call)
            self._cancelled[client_id] = None
            self._approvals.abandon(approval_id(client_id), CANCELLED)
            self._results.abandon(client_id, CANCELLED)
        while len(self._cancelled) > MAX_CANCELLED:
            del self._cancelled[next(iter(self._cancelled))]

    def is_cancelled(self, call: str) -> bool:
        """Return whether the model has cancelled the last call with this ADK id."""
        return self._client_id(call) in self._cancelled

    def abandon_all(self, reason: str) -> None:
        """Deny all open approvals, and fail all calls that wait for the client."""
        self._approvals.abandon_all(reason)
        self._results.abandon_all(reason)

    def close(self) -> None:
        """Settle everything; later questions are settled at once."""
        self._is_closed = True
        self.abandon_all(_SESSION_ENDED)
        for logged in self._logged.values():
            logged.set()
