"""A live run of an in-process ADK Runner as a source of records.

Decides how google-adk 2.13's `Runner.run_live` is driven: one task drives the run, and each turn of the model
is a model call (`model_calls`). After an interruption the model is notified in the way that it understands.

`close` ends the run: the model is notified, and ADK has half a second to end.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import ExitStack, aclosing, contextmanager

from google.adk.agents.live_request_queue import LiveRequest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.genai import types

from adk_prism.diagnostics import Report, ignore
from adk_prism.runlog.entry import Agent, AgentEvent, Record, RunStarted
from adk_prism.source.adk.live_call_cancellation import watch_cancellations
from adk_prism.source.adk.live_connect_request import watch_requests
from adk_prism.source.adk.live_stock_flow import has_event_plugins, is_stock_runner, process_event
from adk_prism.source.agents import list_agents
from adk_prism.source.contract import Emit
from adk_prism.source.live.audio_bypass import AudioBypass
from adk_prism.source.live.audio_log import PcmChunk
from adk_prism.source.live.conversation import MICROPHONE_TYPE, LiveConversation
from adk_prism.source.live.model_calls import LiveCalls, has_model_callbacks
from adk_prism.source.live.options import LiveCall, run_config
from adk_prism.source.live.pending_questions import PendingQuestions
from adk_prism.source.live.plugin import NAME, live_plugin
from adk_prism.source.live.run_context import CURRENT_RUN, LiveRunContext
from adk_prism.source.model_calls.seen_call import DETAIL, SeenCall
from adk_prism.source.plugin import NAME as NODES
from adk_prism.source.redaction import state_json
from adk_prism.source.sessions import load_session
from adk_prism.version import VERSION

_IGNORES_CONTENT = re.compile(r"(?:.*/)?gemini-3")
"""Models that refuse content in the middle of a session, and can be interrupted by speech only."""


class LiveSource(LiveConversation):
    """One live run."""

    def __init__(
        self,
        runner: Runner,
        call: LiveCall,
        *,
        agents: Sequence[Agent] | None = None,
        report: Report = ignore,
    ) -> None:
        """Prepare a run; `records` starts it."""
        super().__init__(call, report)
        self._report = report
        self._runner = runner
        self._agents = list_agents(runner.agent) if agents is None else list(agents)
        tools = live_plugin(runner, report).nonblocking_tools
        self._run = LiveRunContext(call.invocation, call.options, tools, self._records.put)
        self._calls: LiveCalls | None = None
        self._is_active = False
        """The model was notified that the person is speaking."""

    @property
    def questions(self) -> PendingQuestions:
        """The open questions of the run."""
        return self._run.questions

    # ------------------------------------------------------------------ the run

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record, None]:
        """Run until the client or the model ends it. Raise `NotFound` for an unknown session."""
        yield await self._started()
        detail = DETAIL.get()
        if emit is not None and detail != "off":
            self._calls = self._run.request_queue.calls = LiveCalls(
                detail,
                lambda: has_model_callbacks(self._runner, self._run.agent),
                self._report,
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

    async def _started(self) -> RunStarted:
        origin = self._call.origin
        session = await load_session(self._runner, origin)
        return RunStarted(
            run=self._call.run,
            origin=origin,
            invocation=self._call.invocation,
            live=True,
            agents=self._agents,
            state=state_json(session.state),
            version=VERSION,
        )

    async def _drive(self) -> None:
        CURRENT_RUN.set(self._run)
        if self._call.options.audio_bypass:
            self._run.audio_bypass = AudioBypass(
                self._play_direct,
                self._records.put,
                notify=self._notify if has_event_plugins(self._runner, (NAME, NODES)) else None,
                is_stock_runner=is_stock_runner(self._runner),
            )
        events = self._runner.run_live(
            user_id=self._call.origin.user,
            session_id=self._call.origin.session,
            live_request_queue=self._run.request_queue,
            run_config=run_config(self._call.options),
        )
        try:
            with self._watching():
                async with aclosing(events):
                    async for event in events:
                        await self._take(event)
        finally:
            self._run.close()
            await self._write_audio()
            await self._write_calls(is_over=True)
            await self._records.put(None)

    @contextmanager
    def _watching(self) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(watch_cancellations(self._run.questions.cancel_calls))
            if self._calls is not None:
                stack.enter_context(watch_requests(self._calls.connect))
            yield

    async def _write_calls(self, *, is_over: bool = False) -> None:
        if self._calls is None:
            return
        if is_over:
            self._calls.close()
        for call in self._calls.take():
            await self._records.put(call)

    async def _take(self, event: Event) -> None:
        await self._write_calls()
        await self._record(event)
        if self._run.audio_bypass is not None:
            self._run.audio_bypass.event_left()

    async def _record(self, event: Event) -> bool:
        if not await super()._record(event):
            return False
        if self._calls is not None:
            self._calls.read(event)
            await self._write_calls()
        for call in event.get_function_calls() if not event.partial else ():
            self._run.questions.logged(call.id or "").set()
        return True

    def _play_direct(
        self, author: str, response: LlmResponse, chunks: list[PcmChunk]
    ) -> Sequence[AgentEvent]:
        """Take audio of the audio bypass."""
        return self._play(author, chunks, lambda: self._event(author, response))

    async def _notify(self, author: str, response: LlmResponse) -> None:
        """Take audio of the audio bypass after the app's plugins have seen it."""
        assert self._run.root is not None
        event = self._event(author, response)
        await self._take(await process_event(self._runner, event, self._run.root))

    def _event(self, author: str, response: LlmResponse) -> Event:
        """Return the event that ADK makes of a response (`flows/llm_flows/core/_finalizer.py`)."""
        fields = {name: getattr(response, name) for name in LlmResponse.model_fields}
        said = {name: value for name, value in fields.items() if value is not None}
        event = Event(id=Event.new_id(), invocation_id=self._call.invocation, author=author)
        return event.model_copy(update=said)

    def _play(
        self, author: str, chunks: list[PcmChunk], event: Callable[[], Event]
    ) -> Sequence[AgentEvent]:
        if self._calls is not None:
            self._calls.play(author, chunks)
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

    # ------------------------------------------------------------------ the end

    @property
    def _is_closing(self) -> bool:
        return self._run.request_queue.closed

    def _ask_to_end(self) -> None:
        self._run.questions.abandon_all("The session is over.")
        self._run.request_queue.close()
