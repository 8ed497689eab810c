"""What the parts of one live run share: the driver, ADK's plugin callbacks, and the tools.

ADK starts tasks of its own for tools and for sending; they inherit `CURRENT_RUN` from the task that drives
the run.

*The request queue* of one live run has a limit for audio.
ADK's own queue grows without limit while a model is slow, and one invalid message in it ends ADK's sender
silently (google-adk 2.13). So only checked requests are put here, and audio is dropped while the queue is
full: it would arrive too late anyway.

Every method of ADK's class is overridden, so that nothing depends on its private queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any, Generic, Literal, TypeVar

from google.adk.agents import BaseAgent, InvocationContext, LiveRequest, LiveRequestQueue
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.tools.base_tool import BaseTool
from google.genai import types
from msgspec import Raw, Struct, json

from adk_prism.adk.app_environment import limit_of_model_calls, run_telemetry
from adk_prism.adk.internals.runner import find_tool
from adk_prism.adk.plain_json import storable
from adk_prism.adk.request import LiveCallWatcher
from adk_prism.errors import Conflict, NotFound
from adk_prism.log.entry import NOTHING, ApprovalAsked, ApprovalGiven, Decision, Origin, Record
from adk_prism.log.private_files import Recent

# ---------------------------------------------------------------------------
# The options of a live run, and ADK's `RunConfig` made from them.

Modality = Literal["audio", "text"]

APPROVAL_TIMEOUT = 30.0
"""Seconds a person has to decide: enough to read the question, short enough for a conversation."""
CLIENT_TIMEOUT = 10.0
"""Seconds a client has to run a tool: the model waits meanwhile."""
AUDIO_LOG_BYTES = 32 * 1024 * 1024
"""Bytes of audio that a run's log keeps: eleven minutes of speech; an hour would be 170 MB."""


class LiveOptions(Struct, frozen=True, kw_only=True):
    """What the client and the operator choose for a live run."""

    modality: Modality = "audio"
    """What the model answers in."""
    manual: bool = False
    """The client signals where speech starts and ends (push-to-talk); otherwise the model detects it."""
    proactive: bool | None = None
    """The model may speak unasked, or stay silent. None, here and below: the model's default."""
    affective: bool | None = None
    """The model reacts to the tone of voice."""
    explicit_activity: bool | None = None
    """The model signals when it detects that speech starts and ends."""
    transparent: bool | None = None
    """The model says which messages it has received, when a connection is resumed."""
    save_audio: bool = False
    """ADK saves the audio of both sides as artifacts."""
    approval_timeout: float = APPROVAL_TIMEOUT
    client_timeout: float = CLIENT_TIMEOUT
    audio_log_bytes: int = AUDIO_LOG_BYTES
    """Bytes of audio that the log keeps; beyond that, only number and size of the chunks."""
    max_llm_calls: int | None = None
    """Most model calls of the run; 0 or less: no limit; None: ADK's."""


class LiveCall(Struct, frozen=True, kw_only=True):
    """A request for one live run."""

    run: str
    origin: Origin
    invocation: str
    options: LiveOptions = LiveOptions()


def run_config(options: LiveOptions) -> RunConfig:
    """Return ADK's configuration, with session resumption, so that ADK reconnects by itself."""
    detection = types.AutomaticActivityDetection(disabled=True)
    spoken = types.RealtimeInputConfig(automatic_activity_detection=detection)
    return RunConfig(
        max_llm_calls=limit_of_model_calls(options.max_llm_calls),
        streaming_mode=StreamingMode.BIDI,
        response_modalities=[types.Modality(options.modality.upper())],
        realtime_input_config=spoken if options.manual else None,
        session_resumption=types.SessionResumptionConfig(transparent=options.transparent),
        proactivity=(
            None
            if options.proactive is None
            else types.ProactivityConfig(proactive_audio=options.proactive)
        ),
        enable_affective_dialog=options.affective,
        explicit_vad_signal=options.explicit_activity,
        save_live_blob=options.save_audio,
        telemetry=run_telemetry(),
    )


# ---------------------------------------------------------------------------
# The questions of one live run: approvals that a person gives, and results that the client returns.
#
# A question is recorded after the call that it is about.
#
# Clients know a call by the id that `facts.open_calls` gives it: ADK's id, with a number appended
# when the model uses an id again. Tools know it by ADK's id.

T = TypeVar("T")

MAX_ANSWERED = 256
"""Answered questions that are remembered, to recognise a second answer."""


class Waiter(Generic[T]):
    """The open questions of one kind: decisions, or results of tools that the client runs.

    The first answer counts. A question can be answered as soon as its call is seen, so an answer that
    arrives before the tool waits for it is not lost; an answer to an unknown question is refused.
    """

    def __init__(self, what: str, on_abandon: Callable[[str], T]) -> None:
        """`what` names a question in errors; `on_abandon` returns the answer of one without an answer."""
        self._what = what
        self._on_abandon = on_abandon
        self._open: dict[str, asyncio.Future[T]] = {}
        self._answered: Recent[str, None] = Recent(MAX_ANSWERED)

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


class ClientToolResult(Struct, frozen=True):
    """What a tool of the client returned."""

    value: Raw
    error: str = ""


def approval_id(call: str, number: int = 1) -> str:
    """Return the id of a call's approval; a tool may ask for more than one."""
    return f"approval-{call}" if number == 1 else f"approval-{call}~{number}"


def _denied(reason: str) -> Decision:
    return Decision(approval="", approved=False, reason=reason)


def _failed(reason: str) -> ClientToolResult:
    return ClientToolResult(Raw(b"null"), reason)


class PendingQuestions:
    """The questions of one live run."""

    def __init__(self, options: LiveOptions, write: Write) -> None:
        self._options = options
        self._write = write
        self._approvals: Waiter[Decision] = Waiter("Approval", _denied)
        self._results: Waiter[ClientToolResult] = Waiter("Call", _failed)
        self._asked: Recent[str, int] = Recent(MAX_LOGGED)
        """Approvals asked for a call, by the client's id."""
        self._payloads: dict[str, Raw] = {}
        """Payload samples of open approvals."""
        self._inputs: dict[str, Raw] = {}
        """Open `adk_request_input` calls."""
        self._logged: dict[str, asyncio.Event] = {}
        self._uses: dict[str, int] = {}
        """How often the model has used an ADK id for a call."""
        self._cancelled: Recent[str, None] = Recent(MAX_CANCELLED)
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

    async def ask(self, call: str, name: str, hint: str = "", payload: Raw = NOTHING) -> Decision:
        """Ask a person to approve a call, and wait for the decision.

        `hint` and `payload`, a sample of what it expects, are what a tool says that asks by itself.
        """
        await self.logged(call).wait()
        client_id = self._client_id(call)
        number = self._asked[client_id] = self._asked.get(client_id, 0) + 1
        approval = approval_id(client_id, number)
        if self._is_closed:
            return _denied(_SESSION_ENDED)
        self._payloads[approval] = payload
        asked = ApprovalAsked(approval=approval, call=call, name=name, hint=hint, payload=payload)
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

    def decide(self, decision: Decision) -> None:
        """Answer an approval; the first answer counts. Raise `Conflict`, `NotFound`, or `Unprocessable` for a
        payload that does not fit, which leaves the question open."""
        if decision.approved:
            # Imports jsonschema, a tenth of a second that a server's start need not take.
            from adk_prism.facts.pending import check_payload

            check_payload(self._payloads.get(decision.approval, NOTHING), decision.payload)
        self._approvals.answer(decision.approval, decision)

    def give_result(self, call: str, result: ClientToolResult) -> None:
        """Take a client's result; the first one counts. Raise `Conflict`, `NotFound`, or `Unprocessable` for
        an answer that does not fit its question, which stays open."""
        if call in self._inputs and not result.error:
            from adk_prism.facts.pending import fit_response

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


# ---------------------------------------------------------------------------

MAX_WAITING = 250
"""Requests: five seconds of audio in chunks of 20 ms."""


class RequestQueue(LiveRequestQueue):
    """The queue of one live run."""

    def __init__(self, is_cancelled: Callable[[str], bool]) -> None:
        """`is_cancelled` returns whether the model has cancelled a call: its response is not sent."""
        super().__init__()
        self.calls = LiveCallWatcher()
        """Notes what is sent."""
        self._is_cancelled = is_cancelled
        self._waiting: asyncio.Queue[LiveRequest] = asyncio.Queue()
        self._is_closed = False

    @property
    def closed(self) -> bool:
        """Whether the run was asked to end."""
        return self._is_closed

    def close(self) -> None:
        """End the run when everything before has been sent; repeating it changes nothing."""
        if not self._is_closed:
            self.send(LiveRequest(close=True))

    def send(self, req: LiveRequest) -> None:
        """Put a request."""
        self._is_closed = self._is_closed or req.close
        self._waiting.put_nowait(req)

    def send_content(self, content: types.Content, partial: bool = False) -> None:
        """Put content. ADK puts tool responses here; those of cancelled calls are left out."""
        parts = [part for part in content.parts or () if not self._is_unwanted(part)]
        if parts:
            wanted = content.model_copy(update={"parts": parts})
            self.send(LiveRequest(content=wanted, partial=partial))

    def _is_unwanted(self, part: types.Part) -> bool:
        response = part.function_response
        return response is not None and self._is_cancelled(response.id or "")

    def send_realtime(self, blob: types.Blob) -> None:
        """Put audio or an image."""
        self.send(LiveRequest(blob=blob))

    def send_activity_start(self) -> None:
        """Signal that the person starts to speak."""
        self.send(LiveRequest(activity_start=types.ActivityStart()))

    def send_activity_end(self) -> None:
        """Signal that the person has spoken."""
        self.send(LiveRequest(activity_end=types.ActivityEnd()))

    def send_audio_stream_end(self) -> None:
        """Signal that no more audio comes for now."""
        self.send(LiveRequest(audio_stream_end=True))

    def send_audio(self, pcm: bytes, media_type: str) -> bool:
        """Put a chunk of audio, or an image; return whether there was room."""
        if self._waiting.qsize() >= MAX_WAITING:
            return False
        self.send_realtime(types.Blob(data=pcm, mime_type=media_type))
        return True

    async def get(self) -> LiveRequest:
        """Give the next request to ADK's sender."""
        request = await self._waiting.get()
        self.calls.send(request)
        return request


class NonBlockingTools:
    """The tools of one Runner that are non-blocking now, so that the agent can speak while a call waits.

    google-adk 2.13 reads the next message of a live model only after the tools of the last one have
    answered, except for tools whose `behavior` is NON_BLOCKING. A tool that declares it from the start also
    declares it to the model, and not every model accepts that. So it is set when a call arrives, and
    restored when the call starts to run. All sessions of an app share the tools: the last call restores the
    original value.
    """

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], BaseTool] = {}
        """By invocation and call."""
        self._original: dict[int, types.Behavior | None] = {}
        """What tools declare themselves; by identity, which stays theirs while a call refers to them."""

    def add(self, invocation: str, call: str, tool: BaseTool) -> None:
        """Make a tool non-blocking for a call."""
        self._original.setdefault(id(tool), tool.behavior)
        self._calls.setdefault((invocation, call), tool)
        tool.behavior = types.Behavior.NON_BLOCKING

    def remove(self, invocation: str, call: str) -> None:
        """Restore the tool, now that the call runs, unless other calls wait. Unknown calls are ignored."""
        tool = self._calls.pop((invocation, call), None)
        if tool is not None and not any(each is tool for each in self._calls.values()):
            tool.behavior = self._original.pop(id(tool))

    def close(self, invocation: str) -> None:
        """Restore the tools of calls that never ran."""
        for owner, call in list(self._calls):
            if owner == invocation:
                self.remove(owner, call)


class LiveRunContext:
    """The shared state of one live run."""

    def __init__(
        self, invocation: str, options: LiveOptions, tools: NonBlockingTools, write: Write
    ) -> None:
        self.invocation = invocation
        self.questions = PendingQuestions(options, write)
        self.request_queue = RequestQueue(self.questions.is_cancelled)
        self._tools = tools
        self._agents: dict[str, InvocationContext] = {}
        """The InvocationContext of each agent that has run, the current one last."""

    def enter_agent(self, agent: str, context: InvocationContext) -> None:
        """Note that an agent starts to run."""
        self._agents.pop(agent, None)
        self._agents[agent] = context
        self.request_queue.calls.enter_agent()

    @property
    def agent(self) -> BaseAgent | None:
        """The agent that runs now."""
        context = next(reversed(self._agents.values()), None)
        found = context.agent if context is not None else None
        return found if isinstance(found, BaseAgent) else None

    def tool(self, agent: str, name: str) -> BaseTool | None:
        """Return the tool that a call of an agent will run."""
        context = self._agents.get(agent)
        return find_tool(context, name) if context is not None else None

    def expect_answer(self, call: str, tool: BaseTool, *, gated: bool) -> None:
        """Prepare for a call that waits for an approval, for the client, or for both."""
        self._tools.add(self.invocation, call, tool)
        if gated:
            self.questions.expect_approval(call)
        if tool.is_long_running:
            self.questions.expect_result(call)

    def close(self) -> None:
        """End all waiting, and release what ADK gave."""
        self.questions.close()
        self._tools.close(self.invocation)
        self._agents.clear()


CURRENT_RUN: ContextVar[LiveRunContext | None] = ContextVar("adk_prism_live_run", default=None)


def current_run(invocation: str) -> LiveRunContext | None:
    """Return the live run of this invocation; None elsewhere, also in a run that one of its tools starts."""
    run = CURRENT_RUN.get()
    return run if run is not None and run.invocation == invocation else None
