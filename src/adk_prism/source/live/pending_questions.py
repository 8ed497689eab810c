"""Where the tools of one live run wait for people and clients.

Decides what is asked, in which order it enters the log, and what a tool is told. A question about a call is
told only after the call itself is in the log.

Clients know a call by the id that facts give it: ADK's, and with a number when a model uses one again
(`facts.calls.open_calls`). Tools know it by ADK's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.tools.base_tool import BaseTool
from msgspec import Raw, Struct, json

from adk_prism.facts.calls.answer_schema import check_payload, fit_response
from adk_prism.runlog.entry import NOTHING, ApprovalAsked, ApprovalGiven, Record
from adk_prism.source.live.answer_waiter import AnswerWaiter
from adk_prism.source.live.audio_bypass import AudioBypass
from adk_prism.source.live.nonblocking_tools import NonBlockingCalls, NonBlockingTools
from adk_prism.source.live.options import LiveOptions
from adk_prism.source.live.request_queue import RequestQueue
from adk_prism.source.plain_json import storable

MAX_CANCELLED = 256
"""Calls that a model has withdrawn and that may still come, or be answered."""

MAX_LOGGED = 4096
"""Calls of one run whose events are remembered as written; a call runs at once after it."""

CANCELLED = "The model withdrew the call."

Write = Callable[[Record], Awaitable[None]]


class ApprovalDecision(Struct, frozen=True):
    """What became of an approval."""

    approved: bool
    reason: str = ""
    by: str = ""
    """Who decided, where that is known."""
    payload: Raw = NOTHING
    """What the tool asked for beyond yes or no."""


class ClientToolResult(Struct, frozen=True):
    """What a client's tool gave."""

    value: Raw
    error: str = ""


class ApprovalPrompt(Struct, frozen=True):
    """What a tool says of the approval that it wants."""

    hint: str = ""
    payload: Raw = NOTHING
    """A sample of what is to be given with it."""


PLAIN = ApprovalPrompt()


def approval_id(call: str, number: int = 1) -> str:
    """Return the id of the question about a call; a tool may ask more than one."""
    return f"approval-{call}" if number == 1 else f"approval-{call}~{number}"


class PendingQuestions:
    """The questions of one live run."""

    def __init__(
        self,
        invocation: str,
        options: LiveOptions,
        nonblocking_tools: NonBlockingTools,
        write: Write,
    ) -> None:
        self.invocation = invocation
        self.request_queue = RequestQueue(self.is_cancelled)
        self.root: InvocationContext | None = None
        """Of the run itself, which ADK gives to plugins."""
        self.audio_bypass: AudioBypass | None = None
        """The short way of the run's sound, where it may have one."""
        self.nonblocking_calls = NonBlockingCalls(nonblocking_tools)
        self.contexts: dict[str, InvocationContext] = {}
        """Of each agent that has run: there ADK keeps the very tools that it will call."""
        self._options = options
        self._write = write
        self._approvals: AnswerWaiter[ApprovalDecision] = AnswerWaiter(
            "Approval", lambda w: ApprovalDecision(False, w)
        )
        self._results: AnswerWaiter[ClientToolResult] = AnswerWaiter(
            "Call", lambda w: ClientToolResult(Raw(b"null"), w)
        )
        self._asked: dict[str, int] = {}
        """Questions about a call, by the id that clients know."""
        self._payloads: dict[str, Raw] = {}
        """Samples of what is to be given with an approval, while it is waited for."""
        self._inputs: dict[str, Raw] = {}
        """Questions that agents ask a person, while they are waited for."""
        self._seen: dict[str, asyncio.Event] = {}
        self._uses: dict[str, int] = {}
        """How often a model has used an id of ADK's for a call."""
        self._cancelled: dict[str, None] = {}
        self._is_closed = False

    # ------------------------------------------------------------------ calls

    def see(self, adk_id: str) -> None:
        """Note that a model makes a call: what is asked by this id is now about that."""
        self._uses[adk_id] = self._uses.get(adk_id, 0) + 1

    def _name(self, adk_id: str) -> str:
        """Return the id by which clients know the last call of this id."""
        uses = self._uses.get(adk_id, 1)
        return adk_id if uses == 1 else f"{adk_id}~{uses}"

    def enter(self, agent: str, context: InvocationContext) -> None:
        """Note that an agent begins to run; it is the last one now, also if it has run before."""
        self.contexts.pop(agent, None)
        self.contexts[agent] = context

    def tool(self, agent: str, name: str) -> BaseTool | None:
        """Find the tool that a call of an agent will run."""
        context = self.contexts.get(agent)
        tools = (context.canonical_tools_cache if context is not None else None) or []
        return next((tool for tool in tools if tool.name == name), None)

    def expect(self, call: str, tool: BaseTool, *, gated: bool) -> None:
        """Note that a call will wait: for a person, for the client, or first one and then the other."""
        self.nonblocking_calls.on(call, tool)
        if gated:
            self._approvals.expect(approval_id(self._name(call)))
        if tool.is_long_running:
            self._results.expect(self._name(call))

    def expect_input(self, call: str, request: Raw) -> None:
        """Note that a call asks a person something, and how the answer has to be."""
        self._inputs[self._name(call)] = request

    def seen(self, call: str) -> asyncio.Event:
        """Return the event that is set when the call is in the log."""
        if len(self._seen) > MAX_LOGGED:
            del self._seen[next(iter(self._seen))]
        return self._seen.setdefault(self._name(call), asyncio.Event())

    # ------------------------------------------------------------------ asking

    async def ask(self, call: str, name: str, wanted: ApprovalPrompt = PLAIN) -> ApprovalDecision:
        """Ask a person about a call and wait for the answer."""
        await self.seen(call).wait()
        known = self._name(call)
        number = self._asked.pop(known, 0) + 1
        self._asked[known] = number
        if len(self._asked) > MAX_LOGGED:
            del self._asked[next(iter(self._asked))]
        approval = approval_id(known, number)
        if self._is_closed:
            return ApprovalDecision(False, "The session is over.")
        self._payloads[approval] = wanted.payload
        asked = ApprovalAsked(
            approval=approval, call=call, name=name, hint=wanted.hint, payload=wanted.payload
        )
        await self._write(asked)
        decision = await self._approvals.wait(approval, self._options.approval_timeout)
        del self._payloads[approval]
        given = ApprovalGiven(
            approval=approval, approved=decision.approved, reason=decision.reason, by=decision.by
        )
        await self._write(given)
        return decision

    async def fetch(self, call: str) -> dict[str, Any]:
        """Wait for the client's result of a call, and return it as a tool's answer."""
        await self.seen(call).wait()
        if self._is_closed:
            return {"error": "The session is over."}
        result = await self._results.wait(self._name(call), self._options.client_timeout)
        self._inputs.pop(self._name(call), None)
        if result.error:
            return {"error": result.error}
        value = storable(json.decode(result.value))
        # ADK takes an empty answer of a long-running tool for none.
        return value if isinstance(value, dict) and value else {"result": value}

    # ------------------------------------------------------------------ answering

    def decide(self, approval: str, decision: ApprovalDecision) -> None:
        """Answer an approval; the first answer counts. Raise `Conflict`, `NotFound`, or `Unprocessable`
        for one without the payload that the tool asks for: then the question stays open."""
        if decision.approved:
            check_payload(self._payloads.get(approval, NOTHING), decision.payload)
        self._approvals.answer(approval, decision)

    def give_result(self, call: str, result: ClientToolResult) -> None:
        """Give a client's result; the first one counts. Raise `Conflict`, `NotFound`, or `Unprocessable`
        for an answer that does not fit its question, which stays open."""
        if call in self._inputs and not result.error:
            result = ClientToolResult(fit_response(self._inputs[call], result.value))
        self._results.answer(call, result)

    def give_result_by_adk_id(self, adk_id: str, result: ClientToolResult) -> None:
        """Give the result of the last call of ADK's id. Raise `Conflict` or `NotFound`."""
        self.give_result(self._name(adk_id), result)

    def cancel_calls(self, calls: Sequence[str]) -> None:
        """Note that the model no longer wants calls: who waits for them waits in vain."""
        for call in calls:
            name = self._name(call)
            self._cancelled[name] = None
            self._approvals.abandon(approval_id(name), CANCELLED)
            self._results.abandon(name, CANCELLED)
        while len(self._cancelled) > MAX_CANCELLED:
            del self._cancelled[next(iter(self._cancelled))]

    def is_cancelled(self, call: str) -> bool:
        """Tell whether the model no longer wants the last call of this id."""
        return self._name(call) in self._cancelled

    def abandon_all(self, why: str) -> None:
        """Deny what waits for a person, and fail what waits for the client."""
        self._approvals.abandon_all(why)
        self._results.abandon_all(why)

    def close(self) -> None:
        """Let nobody wait any more."""
        self._is_closed = True
        self.abandon_all("The session is over.")
        for seen in self._seen.values():
            seen.set()
        self.nonblocking_calls.close()
        self.contexts.clear()
        self.root = None


CURRENT_QUESTIONS: ContextVar[PendingQuestions | None] = ContextVar(
    "adk_prism_live_run", default=None
)
"""Set in the task that drives a live run; ADK's own tasks, which it starts there, take it over."""
