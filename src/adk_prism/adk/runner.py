"""A run of an in-process ADK Runner as a source of records.

Decides how google-adk 2.13's `Runner.run_async` is called so that a run can be named, repeated,
continued and rewound:
- the invocation id is ours, so `RunStarted` knows it and a repeated start is one start. A workflow
  whose task agent waits for a reply keeps ADK's choice: under another id it would run again from
  its first node. A resumable legacy root takes an id only if its session has an event: it gets one.
- a state change is an event of its own before the run, so it outlives a rewind of the message.
- results of client-run tools that come together with approvals are stored first: ADK hides the
  message that holds an approval from the model, results and all.

Events are serialised on receipt, because ADK continues to change the objects that it has yielded.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from dataclasses import KW_ONLY, dataclass
from uuid import uuid4

import pydantic
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.session import Session
from google.genai import types
from msgspec import Struct, structs

from adk_prism.adk import request as requests
from adk_prism.adk.agents import list_agents, root_kind
from adk_prism.adk.app_environment import limit_of_model_calls, run_telemetry
from adk_prism.adk.client_tools import declared_tools
from adk_prism.adk.errors import first_cause
from adk_prism.adk.internals.runner import paused_task_invocation
from adk_prism.adk.plugin import watch_nodes
from adk_prism.adk.redaction import Serialiser
from adk_prism.adk.run_observer import SCOPE, RunObserver, Scope
from adk_prism.adk.session_store import APPENDED, SessionStore, live_events
from adk_prism.adk.sessions import load_session, new_state_event
from adk_prism.adk.stored_events import restored_invocations
from adk_prism.adk.tools import NO_TIMEOUTS, InDoubt, ToolTimeouts, thread_pool
from adk_prism.errors import Conflict, FailedAsRecorded, Report, Unprocessable, ignore
from adk_prism.log import entry as log_entry

# ---------------------------------------------------------------------------
# A Runner's events as records, with or without observation of what happens between them.
#
# Events are serialised on receipt, because ADK continues to change the objects that it has yielded.
#
# Each step of an observed Runner runs with `run_observer.SCOPE` set. It is set for one step, not for
# the whole run: an older agent runs in the task that asks for its events, and that task may drive
# other runs too. The next step continues with the scope that the last one left.


async def serialised(
    events: AsyncGenerator[Event, None], serialiser: Serialiser
) -> AsyncGenerator[log_entry.AgentEvent, None]:
    """Yield a Runner's events. Raise what it raises."""
    async with aclosing(events):
        async for event in events:
            yield serialiser.record(event)


async def observed(
    events: AsyncGenerator[Event, None], observer: RunObserver, serialiser: Serialiser
) -> AsyncGenerator[log_entry.AgentEvent, None]:
    """Yield a Runner's events. Raise what it raises, or what kept the observer from writing."""
    driven = _Driven(events, observer)
    try:
        while (event := await driven.step()) is not None:
            record = serialiser.record(event)
            if event.partial:  # by far the most
                if observer.has_pending:
                    await observer.flush()
                    _check(observer)
                yield record
                continue
            if isinstance(observer.unanswered, FailedAsRecorded) and event.get_function_responses():
                raise observer.unanswered  # In the recording the run ended here, without an answer.
            observer.expect(event)
            await observer.flush()
            _check(observer)
            observer.fold(record.event)
            yield record
            observer.settle(event)
            if observer.unanswered is not None and event.get_function_responses():
                raise observer.unanswered
    except Exception as error:
        if observer.error is not None and observer.error is not error:
            raise observer.error from error
        raise
    finally:
        await driven.close()
        await observer.finish()
    _check(observer)


def _check(observer: RunObserver) -> None:
    if observer.error is not None:
        raise observer.error
    if observer.is_closed and observer.unanswered is not None:
        raise observer.unanswered


class _Driven:
    """A Runner whose events are requested one by one, with those that its agents store themselves."""

    def __init__(self, events: AsyncGenerator[Event, None], observer: RunObserver) -> None:
        self._events = events
        self._scope = Scope(observer)
        self._appended = observer.appended
        self._waiting: deque[Event] = deque()
        self._failure: Exception | None = None
        """What the Runner raised, once all that was stored before has been given."""

    async def step(self) -> Event | None:
        """Return the next event, or None after the last. Raise what the Runner raises."""
        while not self._waiting:
            if self._failure is not None:
                raise self._failure
            event = None
            token, noting = SCOPE.set(self._scope), APPENDED.set(self._appended)
            try:
                event = await anext(self._events, None)
            except Exception as error:
                self._failure = error
            finally:
                APPENDED.reset(noting)
                self._scope = SCOPE.get() or self._scope
                SCOPE.reset(token)
            if event is not None and event.partial:
                return event
            self._waiting.extend(self._appended.take(event))
            if event is not None and not self._appended.is_recorded(event):
                self._waiting.append(event)
            elif event is None and not self._waiting and self._failure is None:
                return None
        return self._waiting.popleft()

    async def close(self) -> None:
        """Stop the Runner, if it still runs."""
        token = SCOPE.set(self._scope)
        try:
            await self._events.aclose()
        finally:
            SCOPE.reset(token)


# ---------------------------------------------------------------------------


class _Call(Struct, frozen=True):
    """The arguments of one `run_async` call, and what is stored before it."""

    invocation: str
    message: types.Content | None
    named: bool = True
    """Whether the id is passed to ADK; otherwise ADK finds the same one."""
    answers: requests.MatchedResponses | None = None


@dataclass(eq=False)
class RunnerSource:
    """One run of a Runner."""

    runner: Runner
    request: requests.RunRequest
    _: KW_ONLY
    agents: Sequence[log_entry.Agent] | None = None
    """Saves reading them from the Runner."""
    report: Report = ignore
    nodes: bool = False
    """The recorder also gets the starts and ends of nodes, and the events of agents that tools hide; the
    Runner gets a plugin for it."""
    attempt: int = 0
    """Counts from 1 where a run is taken over."""
    doubts: Mapping[str, InDoubt] | None = None
    """The calls, by ADK's id, that a run which is taken over left without an answer."""
    tool_threads: int = 0
    """Shared by synchronous tools; 0: they are called on the event loop."""
    tool_timeouts: ToolTimeouts = NO_TIMEOUTS
    max_llm_calls: int | None = None
    """Takes the place of ADK's own limit."""
    tools: requests.ToolSubstitute | None = None
    """Answers calls from a recording."""

    def __post_init__(self) -> None:
        self._agents = list_agents(self.runner.agent) if self.agents is None else list(self.agents)
        self._abort = asyncio.Event()
        self._serialiser = Serialiser(
            self.report, run=self.request.run, app=self.request.origin.app
        )

    @property
    def correlation(self) -> str:
        """Of the last exception text that was kept from the log; empty if there was none."""
        return self._serialiser.correlation

    def cancel(self) -> None:
        """Set ADK's abort signal: the run answers its open calls with an error and ends."""
        self._abort.set()

    async def records(
        self, emit: requests.Emit | None = None
    ) -> AsyncGenerator[log_entry.Record, None]:
        """Run the agent; yield `RunStarted`, then one `AgentEvent` per event of ADK.

        Before the first record, raise `NotFound`, `Conflict` or `Unprocessable` for a request that
        cannot run; nothing has changed then. Afterwards raise what the agent raised. Close the
        generator to stop the run without an answer to its open calls.
        """
        config = self._run_config()
        if (message := self.request.message) is not None:
            # On the older runtime ADK refuses a message without parts after the run has begun.
            is_legacy = root_kind(self.runner.agent) == "legacy"
            may_be_empty = self.request.may_be_empty and not is_legacy
            checked = requests.checked_message(message, may_be_empty=may_be_empty)
            self.request = structs.replace(self.request, message=checked)
        session = await self._load()
        call = self._plan(session)
        await self._before(session)
        started = requests.run_started(
            self.request, self._agents, session.state, invocation=call.invocation
        )
        yield started
        if call.answers is not None:
            service = self.runner.session_service
            await call.answers.store_early(service, session, again=self.attempt > 0)
        running = self._run(call, config)
        observer = self._observer(emit, started) if emit is not None and self.nodes else None
        events = (
            observed(running, observer, self._serialiser)
            if observer is not None
            else serialised(running, self._serialiser)
        )
        try:
            with self._client_tools(call.invocation):
                async with aclosing(events):
                    async for event in events:
                        yield event
        except BaseExceptionGroup as group:
            raise first_cause(group) from group
        except Exception as error:
            if observer is not None and observer.not_an_event is not None:
                raise observer.not_an_event from error
            raise

    def _client_tools(self, invocation: str) -> AbstractContextManager[None]:
        """Give the client's tools to the agents, if the app allows it."""
        tools, declared = self.request.client_tools, declared_tools(self.runner)
        return declared.brought(invocation, tools) if tools and declared else nullcontext()

    def _observer(self, emit: requests.Emit, started: log_entry.RunStarted) -> RunObserver:
        watch_nodes(self.runner, self.tool_timeouts, self.report)
        payloads = (decision.payload for decision in self.request.decisions)
        return RunObserver(
            emit,
            started,
            self._serialiser,
            report=self.report,
            stop=self.cancel,
            attempt=self.attempt,
            doubts=self.doubts,
            tools=self.tools,
            takes_payloads=not all(map(log_entry.is_absent, payloads)),
        )

    def _run(self, call: _Call, config: RunConfig) -> AsyncGenerator[Event, None]:
        return self.runner.run_async(
            user_id=self.request.origin.user,
            session_id=self.request.origin.session,
            invocation_id=call.invocation if call.named else None,
            new_message=call.message,
            run_config=config,
            abort_signal=self._abort,
        )

    # ------------------------------------------------------------------ before the run

    def _run_config(self) -> RunConfig:
        request = self.request
        try:
            return RunConfig(
                streaming_mode=StreamingMode.SSE if request.streaming else StreamingMode.NONE,
                custom_metadata=dict(request.custom_metadata) or None,
                telemetry=run_telemetry(),
                get_session_config=self._short_session(),
                tool_thread_pool_config=thread_pool(self.tool_threads),
                max_llm_calls=limit_of_model_calls(self.max_llm_calls),
            )
        except pydantic.ValidationError as error:
            raise Unprocessable(f"The run cannot be set up: {error.errors()[0]['msg']}.") from None

    def _short_session(self) -> GetSessionConfig | None:
        """Return a config for the last events only: for a run with a message, if the app asks for it."""
        request = self.request
        if request.message is None or request.invocation or request.responses():
            return None
        store = self.runner.session_service
        return store.config_of_new_turn(self.runner) if isinstance(store, SessionStore) else None

    async def _load(self) -> Session:
        """Load the session with as many events as planning needs."""
        request, origin, kind = self.request, self.request.origin, root_kind(self.runner.agent)
        resumes = request.message is None or request.invocation or request.responses()
        needs_all = resumes or kind == "workflow"
        # Only of a legacy root it matters whether there is an event; to find the last takes a while.
        needed = GetSessionConfig(num_recent_events=1 if kind == "legacy" else 0)
        return await load_session(self.runner, origin, None if needs_all else needed)

    def _plan(self, session: Session) -> _Call:
        request = self.request
        if responses := request.responses():
            answers = requests.MatchedResponses.find(session, responses)
            _check_happened_here(session, answers.invocation)
            return _Call(answers.invocation, answers.message, named=False, answers=answers)
        if request.message is None:
            self._check_resume(session, request.invocation)
            return _Call(request.invocation, None)
        if request.invocation:
            _check_happened_here(session, request.invocation)
            return _Call(request.invocation, request.message)
        if root_kind(self.runner.agent) == "workflow" and (
            paused := paused_task_invocation(session)
        ):
            return _Call(paused, request.message, named=False)
        return _Call(f"e-{uuid4()}", request.message)

    def _check_resume(self, session: Session, invocation: str) -> None:
        """Raise `Conflict` for an invocation that was rewound or never existed: ADK would run the model."""
        if not invocation:
            raise Unprocessable("A run needs a message, answers, or an invocation to resume.")
        if not any(event.invocation_id == invocation for event in live_events(session)):
            raise Conflict(
                f"There is no invocation {invocation[:60]!r} to resume in this session (any more)."
            )
        _check_happened_here(session, invocation)
        if root_kind(self.runner.agent) == "legacy" and not self._is_resumable():
            raise Conflict("This app cannot resume: it has no ResumabilityConfig. Send a message.")

    async def _before(self, session: Session) -> None:
        """Apply the state change; give a resumable legacy root's session its first event."""
        delta = self.request.state_delta
        opens = root_kind(self.runner.agent) == "legacy" and self._is_resumable()
        if delta or (opens and not session.events):
            await self.runner.session_service.append_event(session, new_state_event(delta))

    def _is_resumable(self) -> bool:
        config = self.runner.resumability_config
        return config is not None and config.is_resumable


def _check_happened_here(session: Session, invocation: str) -> None:
    """Raise `Conflict` for an invocation that was restored from elsewhere and did not run here."""
    if invocation in restored_invocations(session):
        raise Conflict(
            f"The invocation {invocation[:60]!r} was restored from elsewhere: this server did not run it, "
            "and does not resume it. Send a new message."
        )
