"""A live run of an in-process ADK Runner as a source of records.

Decides how google-adk 2.13's `Runner.run_live` is driven: one task drives the run, and each turn of the model
is a model call (`model_calls`). After an interruption the model is notified in the way that it understands.

`close` ends the run: the model is notified, and ADK has half a second to end.

A live run belongs to the server like any other, and a session has one client. A client that disconnects has
some seconds to reconnect to the same run, which continues meanwhile; then the run is ended. A client that
joins while another is connected takes over or is refused, as the operator has set.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable
from uuid import uuid4

from google.adk.agents import BaseAgent, InvocationContext, LiveRequest, LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.events.event import Event
from google.adk.models import BaseLlm, Gemini
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.tools import BaseTool, ToolContext
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types
from msgspec import json

from adk_prism.adk.agents import list_agents
from adk_prism.adk.apps import Apps
from adk_prism.adk.client_tools import is_client_tool
from adk_prism.adk.internals.log_lines import CANCEL_CALLS, watch_cancellations
from adk_prism.adk.internals.runner import agent_context
from adk_prism.adk.plain_json import storable
from adk_prism.adk.plugin import tool_failure
from adk_prism.adk.redaction import state_json
from adk_prism.adk.request import CALLS, Emit, EventSource, LiveCallWatcher, SeenCall
from adk_prism.adk.served_app import ServedApp
from adk_prism.adk.sessions import load_session
from adk_prism.adk.tools import APPROVAL_PLUGIN
from adk_prism.errors import Conflict, Diagnostic, Report, cause_of, ignore
from adk_prism.facts.adk_event import INPUT
from adk_prism.log import entry as log_entry
from adk_prism.runs.branches import SessionBranches
from adk_prism.runs.runs import Runs
from adk_prism.runs.session_locks import SessionLocks
from adk_prism.server.settings import Settings
from adk_prism.version import VERSION
from adk_prism.voice import run_context
from adk_prism.voice.conversation import MICROPHONE_TYPE, Listener, LiveConversation, PcmChunk

# ---------------------------------------------------------------------------
# The ADK plugin of live runs: calls that wait for a person or the client.
#
# google-adk 2.13 has no approvals in live runs: a tool that needs one is refused without asking. Here
# the call waits, in the background (`run_context`), and then runs or is refused, as in any other run.
# An exception of a tool is answered with an error: for a background call ADK would only log it and
# the model would wait for ever; for any other it would end the conversation.
#
# It also sets the invocation id, which ADK generates by itself in live runs.

NAME = "adk_prism_live"

MAX_QUESTIONS = 8
"""Approvals that one call may ask for, one after the other."""

ALWAYS_BLOCKING = frozenset({"transfer_to_agent", "task_completed"})
"""ADK acts on their responses only in its receiving loop."""


def live_plugin(runner: Runner, report: Report) -> LivePlugin:
    """Return the Runner's plugin for live runs; add it behind those that come before it if it is missing."""
    manager = runner.plugin_manager
    known = manager.get_plugin(NAME)
    if isinstance(known, LivePlugin):
        return known
    plugin = LivePlugin(report)
    before = ("adk_prism_nodes", APPROVAL_PLUGIN)
    first = sum(each.name in before for each in manager.plugins[: len(before)])
    manager.plugins.insert(first, plugin)
    return plugin


class LivePlugin(BasePlugin):
    """Serves every live run of one Runner; it ignores other runs."""

    def __init__(self, report: Report) -> None:
        super().__init__(name=NAME)
        self.nonblocking_tools = run_context.NonBlockingTools()
        self._report = report

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        run = run_context.CURRENT_RUN.get()
        if run is not None and invocation_context.live_request_queue is run.request_queue:
            invocation_context.invocation_id = run.invocation

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        run = run_context.current_run(callback_context.invocation_id)
        context = agent_context(callback_context)
        if run is not None and context is not None:
            run.enter_agent(agent.name, context)

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> None:
        """Prepare for calls before ADK runs them."""
        run = run_context.current_run(invocation_context.invocation_id)
        if run is None or event.partial:
            return
        for call in event.get_function_calls():
            run.questions.add_call(call.id or "")
            tool = run.tool(event.author, call.name or "")
            if tool is None or not call.id or tool.name in ALWAYS_BLOCKING:
                continue
            if run.questions.is_cancelled(call.id):
                continue
            context = ToolContext(invocation_context, function_call_id=call.id)
            gated = await self._is_gated(tool, dict(call.args or {}), context)
            if gated or tool.is_long_running:
                run.expect_answer(call.id, tool, gated=gated)
            if tool.name == INPUT:
                run.questions.expect_input(
                    call.id, log_entry.to_raw(storable(dict(call.args or {})))
                )

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Wait for the approval, or for the client's result; respond for a call that must not run here."""
        run = run_context.current_run(tool_context.invocation_id)
        call = tool_context.function_call_id
        if run is None or not call:
            return None
        CANCEL_CALLS.set(None)
        self.nonblocking_tools.remove(run.invocation, call)
        if run.questions.is_cancelled(call):
            return {"error": run_context.CANCELLED}
        if await self._is_gated(tool, tool_args, tool_context):
            decision = await run.questions.ask(call, tool.name)
            if not decision.approved:
                reason = f" Reason: {decision.reason}" if decision.reason else ""
                return {"error": f"This tool call is rejected.{reason}"}
            tool_context.tool_confirmation = _confirmation(decision)
        return await run.questions.wait_for_result(call) if is_client_tool(tool) else None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """Ask for the approval that the tool itself asks for; wait for the client's result of a long-running
        tool that returned nothing."""
        run = run_context.current_run(tool_context.invocation_id)
        call = tool_context.function_call_id
        if run is None or not call:
            return None
        if call in tool_context.actions.requested_tool_confirmations:
            return await self._confirmed(run.questions, tool, tool_args, tool_context)
        is_pending = tool.is_long_running and not result
        return await run.questions.wait_for_result(call) if is_pending else None

    async def _confirmed(
        self,
        questions: run_context.PendingQuestions,
        tool: BaseTool,
        args: dict[str, Any],
        context: ToolContext,
    ) -> dict[str, Any]:
        """Run a tool again with the decision, as ADK does in other runs; it may ask once more."""
        call = context.function_call_id or ""
        result: Any = None
        for _ in range(MAX_QUESTIONS):
            asked = context.actions.requested_tool_confirmations.pop(call, None)
            if asked is None:
                return result if isinstance(result, dict) else {"result": result}
            payload = (
                log_entry.NOTHING
                if asked.payload is None
                else log_entry.to_raw(storable(asked.payload))
            )
            decision = await questions.ask(call, tool.name, asked.hint, payload)
            context.tool_confirmation = _confirmation(decision)
            try:
                result = await tool.run_async(args=args, tool_context=context)
            except Exception as error:  # an exception of a callback would end the conversation
                context.actions.requested_tool_confirmations.pop(call, None)
                return tool_failure(tool, error, self._report)
        context.actions.requested_tool_confirmations.pop(call, None)
        return {"error": f"The tool asked for more than {MAX_QUESTIONS} approvals."}

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Any
    ) -> dict[str, Any] | None:
        """Respond for a tool that raised: the model gets an error, the operator the cause."""
        del tool_args
        if run_context.current_run(tool_context.invocation_id) is None or not isinstance(
            error, Exception
        ):
            return None
        return tool_failure(tool, error, self._report)

    async def _is_gated(self, tool: BaseTool, args: dict[str, Any], context: ToolContext) -> bool:
        # As in ADK's own check: anything but True lets the call through.
        try:
            return await tool.check_require_confirmation(args, context) is True
        except Exception as error:  # the app's own function: ask a person to be safe
            self._report(Diagnostic(kind="gate failed", detail=tool.name, cause=cause_of(error)))
            return True


def _confirmation(decision: log_entry.Decision) -> ToolConfirmation:
    payload = None if log_entry.is_absent(decision.payload) else json.decode(decision.payload)
    return ToolConfirmation(confirmed=decision.approved, payload=payload)


# ---------------------------------------------------------------------------

_IGNORES_CONTENT = re.compile(r"(?:.*/)?gemini-3")
"""Models that refuse content in the middle of a session, and can be interrupted by speech only."""


class LiveSource(LiveConversation):
    """One live run."""

    def __init__(
        self,
        runner: Runner,
        call: run_context.LiveCall,
        *,
        agents: Sequence[log_entry.Agent] | None = None,
        report: Report = ignore,
    ) -> None:
        """Prepare a run; `records` starts it."""
        super().__init__(call, report)
        self._report = report
        self._runner = runner
        self._agents = list_agents(runner.agent) if agents is None else list(agents)
        tools = live_plugin(runner, report).nonblocking_tools
        self._run = run_context.LiveRunContext(
            call.invocation, call.options, tools, self._records.put
        )
        self._calls = LiveCallWatcher()
        self._is_active = False
        """The model was notified that the person is speaking."""

    @property
    def questions(self) -> run_context.PendingQuestions:
        """The open questions of the run."""
        return self._run.questions

    # ------------------------------------------------------------------ the run

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[log_entry.Record, None]:
        """Run until the client or the model ends it. Raise `NotFound` for an unknown session."""
        yield await self._started()
        if emit is not None and (recorder := CALLS.get()) is not None:
            self._calls = self._run.request_queue.calls = recorder.watch_live(
                self._runner, lambda: self._run.agent, self._model_name, self._report
            )
        self._driver = asyncio.create_task(self._drive(), name=f"live {self._call.run}")
        try:
            # Everything goes through one queue.
            while (record := await self._records.get()) is not None:
                if not isinstance(record, SeenCall):
                    yield record
                elif emit is not None:
                    await emit(record)
        finally:
            await self._end(self._driver)
            self._run.close()
        self._raise_failure(self._driver)

    async def _started(self) -> log_entry.RunStarted:
        origin = self._call.origin
        session = await load_session(self._runner, origin)
        return log_entry.RunStarted(
            run=self._call.run,
            origin=origin,
            invocation=self._call.invocation,
            live=True,
            agents=self._agents,
            state=state_json(session.state),
            labels=log_entry.labels(log_entry.WRITTEN_BY(VERSION)),
        )

    async def _drive(self) -> None:
        run_context.CURRENT_RUN.set(self._run)
        events = self._runner.run_live(
            user_id=self._call.origin.user,
            session_id=self._call.origin.session,
            live_request_queue=self._run.request_queue,
            run_config=run_context.run_config(self._call.options),
        )
        try:
            with watch_cancellations(self._run.questions.cancel_calls):
                async with aclosing(events):
                    async for event in events:
                        await self._take(event)
        finally:
            self._run.close()
            await self._write_audio()
            self._calls.close()
            await self._write_calls()
            await self._records.put(None)

    async def _write_calls(self) -> None:
        for call in self._calls.take():
            await self._records.put(call)

    async def _take(self, event: Event) -> None:
        await self._write_calls()
        await self._record(event)

    async def _record(self, event: Event) -> bool:
        if not await super()._record(event):
            return False
        self._calls.read(event)
        await self._write_calls()
        for call in event.get_function_calls() if not event.partial else ():
            self._run.questions.logged(call.id or "").set()
        return True

    def _play(
        self, author: str, chunks: list[PcmChunk], event: Callable[[], Event]
    ) -> Sequence[log_entry.AgentEvent]:
        self._calls.play(author)
        return super()._play(author, chunks, event)

    # ------------------------------------------------------------------ from the client

    def _send(self, request: LiveRequest) -> None:
        self._run.request_queue.send(request)

    def send_audio(self, pcm: bytes, media_type: str = MICROPHONE_TYPE) -> bool:
        """Send a chunk of the microphone's audio, or an image; return whether there was room for it."""
        return self._run.request_queue.send_audio(pcm, media_type)

    def signal_activity(self, *, starts: bool) -> None:
        """Signal to the model that the person starts or stops speaking, in any mode."""
        super().signal_activity(starts=starts)
        self._is_active = starts

    def start_speech(self) -> None:
        """Handle that the person starts to speak; a model that does not detect it gets a signal."""
        if self._call.options.manual and not self._is_active:
            self.signal_activity(starts=True)

    def end_speech(self) -> None:
        """Handle that the person has stopped speaking, or switched the microphone off."""
        if not self._call.options.manual:
            self.end_audio()
        elif self._is_active:
            self.signal_activity(starts=False)

    def _interrupt_model(self) -> None:
        """Interrupt the model in the way that it supports."""
        if self._call.options.manual:
            self.start_speech()
            return
        model = self._model()
        if isinstance(model, Gemini):
            if _IGNORES_CONTENT.match(model.model) is None:
                self._send(LiveRequest(content=types.UserContent(" "), partial=True))
        else:
            super().signal_activity(starts=True)

    def _model(self) -> object:
        agent = self._run.agent or self._runner.agent
        return agent.canonical_live_model if isinstance(agent, LlmAgent) else None

    def _model_name(self) -> str:
        model = self._model()
        return model.model if isinstance(model, BaseLlm) else ""

    # ------------------------------------------------------------------ the end

    @property
    def _is_closing(self) -> bool:
        return self._run.request_queue.closed

    def _ask_to_end(self) -> None:
        self._run.questions.abandon_all("The session is over.")
        self._run.request_queue.close()


# ---------------------------------------------------------------------------
# Live runs and their clients.

DisconnectReason = Literal["taken over", "shutdown"]

MAX_WITHOUT_CLIENT = 64
"""Runs that wait for their client to reconnect; beyond that, the one that has waited longest is ended."""

DRAIN_SHARE = 0.9
"""The share of the drain time in which live runs may end by themselves; the rest is for ending them."""

OnDisconnect = Callable[[DisconnectReason], None]
"""Notifies a client that it is no longer connected to the run."""


@dataclass(eq=False)
class LiveRun:
    """A live run, and the client that is connected to it."""

    runs: LiveRuns
    origin: log_entry.Origin
    id: log_entry.RunId
    source: LiveConversation

    def __post_init__(self) -> None:
        self._on_disconnect: OnDisconnect | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def has_client(self) -> bool:
        """Whether a client is connected."""
        return self._on_disconnect is not None

    def connect(self, on_disconnect: OnDisconnect, listener: Listener) -> None:
        """Connect a client; one that is connected is disconnected."""
        if self._on_disconnect is not None:
            self._on_disconnect("taken over")
        self._stop_timer()
        self._on_disconnect, self.source.listener = on_disconnect, listener

    def disconnect(self, on_disconnect: OnDisconnect) -> None:
        """Disconnect a client, unless another one is connected; it may reconnect within the grace period."""
        if self._on_disconnect != on_disconnect:
            return
        self._on_disconnect = self.source.listener = None
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self.runs.grace, self.end)
        self.runs.wait_for_client(self)

    def end(self) -> None:
        """End the run; repeating it changes nothing."""
        self._stop_timer()
        self.source.close()

    def shut_down(self) -> None:
        """End the run because the server shuts down."""
        if self._on_disconnect is not None:
            self._on_disconnect("shutdown")
        self.end()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class LiveRuns:
    """The live runs of one server."""

    def __init__(
        self, apps: Apps, runs: Runs, branches: SessionBranches, settings: Settings, report: Report
    ) -> None:
        self._apps = apps
        self._runs = runs
        self._branches = branches
        self._report = report
        self._chat_busy = settings.chat_busy
        self.options = run_context.LiveOptions(
            approval_timeout=settings.approval_timeout,
            client_timeout=settings.client_tool_timeout,
            audio_log_bytes=settings.live_sound_limit if settings.live_sound == "keep" else 0,
            max_llm_calls=settings.max_llm_calls,
        )
        self.grace = settings.live_grace
        self._second = settings.live_busy
        """What a second client of a session does to the first."""
        self._running: dict[log_entry.Origin, LiveRun] = {}
        self._without_client: dict[log_entry.RunId, LiveRun] = {}
        self._joining = SessionLocks()
        self._watching: set[asyncio.Task[None]] = set()

    def is_running(self, origin: log_entry.Origin) -> bool:
        """Return whether a session has a live run."""
        run = self._running.get(origin)
        return run is not None and not run.source.is_over

    async def join(
        self,
        origin: log_entry.Origin,
        options: run_context.LiveOptions,
        on_disconnect: OnDisconnect,
        listener: Listener,
    ) -> LiveRun:
        """Connect a client to the live run of its session, which is started if there is none.

        Raise `Conflict` where another client is connected and may stay, `Draining` during shutdown, and
        whatever kept the run from starting.
        """
        async with self._joining.held(origin):
            run = self._running.get(origin)
            if run is not None and run.source.is_over:
                await self._runs.wait(run.id)
                run = None
            if run is None:
                run = await self._start(origin, options)
            elif run.has_client and self._second == "refuse":
                raise Conflict("Another client is connected to this session; disconnect it first.")
            self._without_client.pop(run.id, None)
            run.connect(on_disconnect, listener)
            return run

    async def _start(self, origin: log_entry.Origin, options: run_context.LiveOptions) -> LiveRun:
        app = self._apps.app(origin.app)
        await self._apps.sessions(origin.app).ensure(origin)
        sources: list[LiveConversation] = []

        def make(run: log_entry.RunId) -> EventSource:
            call = run_context.LiveCall(
                run=run, origin=origin, invocation=f"e-{uuid4()}", options=options
            )
            sources.append(_conversation(app, call, self._report))
            return sources[0]

        await self._branches.settle(origin, self._chat_busy)
        run_id = await self._runs.start(origin, self._chat_busy, make)
        run = self._running[origin] = LiveRun(self, origin, run_id, sources[0])
        watching = asyncio.create_task(self._watch(run), name=f"watch {run_id}")
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)
        return run

    async def _watch(self, run: LiveRun) -> None:
        """Forget a run that has ended."""
        await self._runs.wait(run.id)
        run.end()
        self._without_client.pop(run.id, None)
        if self._running.get(run.origin) is run:
            del self._running[run.origin]

    def wait_for_client(self, run: LiveRun) -> None:
        """Note that a run waits for its client to reconnect."""
        if run.source.is_over:
            return
        self._without_client[run.id] = run
        if len(self._without_client) > MAX_WITHOUT_CLIENT:
            self._without_client.pop(next(iter(self._without_client))).end()

    async def drain(self, patience: float) -> None:
        """Let conversations continue for some seconds, then disconnect their clients and end the runs."""
        if patience and self._watching:
            await asyncio.wait(self._watching, timeout=patience * DRAIN_SHARE)
        for run in list(self._running.values()):
            run.shut_down()


@runtime_checkable
class SpokenToElsewhere(Protocol):
    """An app whose live runs are not of this process."""

    def live(self, call: run_context.LiveCall, report: Report) -> LiveConversation:
        """Return a live run of the app. Raise `NotSupported`."""


def _conversation(app: ServedApp, call: run_context.LiveCall, report: Report) -> LiveConversation:
    if isinstance(app, SpokenToElsewhere):
        return app.live(call, report)
    return LiveSource(app.runner("live"), call, agents=app.agents(), report=report)
