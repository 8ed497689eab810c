"""Changes of a session as runs: a rewind, a state-only update, stored answers. No model is called.

So they are in the log like everything else: what a rewind took back, and the resulting state.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

from google.adk.runners import Runner
from msgspec import Raw, Struct, structs

from adk_prism.diagnostics import Report, ignore
from adk_prism.runlog.entry import Agent, AgentEvent, Origin, Record, RunStarted
from adk_prism.source.agents import list_agents
from adk_prism.source.answers import answer_events
from adk_prism.source.contract import Emit
from adk_prism.source.history import live_events
from adk_prism.source.redaction import Serialiser, redacted_continues, state_json
from adk_prism.source.request import RunRequest
from adk_prism.source.sessions import Sessions, load_session, new_state_event
from adk_prism.version import VERSION


class _SessionChange:
    """A change of one session. No agent runs, so nothing can be cancelled or fail halfway."""

    def __init__(
        self,
        runner: Runner,
        request: RunRequest,
        *,
        agents: Sequence[Agent] | None = None,
        report: Report = ignore,
    ) -> None:
        """Nothing happens yet. `agents` saves reading them from the Runner."""
        self._runner = runner
        self._request = request
        self._run = request.run
        self._origin = request.origin
        self._agents = list_agents(runner.agent) if agents is None else list(agents)
        self._serialiser = Serialiser(report, run=request.run, app=request.origin.app)

    @property
    def correlation(self) -> str:
        """Empty, unless an event of the session held an exception's text."""
        return self._serialiser.correlation

    def cancel(self) -> None:
        """Do nothing: the change is over before anyone could stop it."""


class Rewind(Struct, frozen=True):
    """What is rewound."""

    invocation: str
    """The first one; all after it go too."""
    state: Mapping[str, Raw] | None
    """The state before it, as it was recorded; None if unknown."""
    replaces: str
    """The first message that is void, empty if the log has none."""


class RewindSource(_SessionChange):
    """One rewind of a session.

    The rewind happens before the first record, so that one that fails leaves no trace. Its events follow:
    ADK's own, which restores the state, and ours, which fixes what ADK's leaves out.
    """

    def __init__(
        self,
        runner: Runner,
        run: str,
        origin: Origin,
        plan: Callable[[], Awaitable[Rewind]],
        *,
        agents: Sequence[Agent] | None = None,
        report: Report = ignore,
    ) -> None:
        """`plan` is called when the session is locked."""
        request = RunRequest(run=run, origin=origin)
        super().__init__(runner, request, agents=agents, report=report)
        self._plan = plan

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record, None]:
        """Rewind, then yield `RunStarted` and the events that it took. Raise `NotFound`, `Conflict`."""
        del emit  # no node runs
        sessions = Sessions(self._runner.session_service)
        plan = await self._plan()
        before = await sessions.get(self._origin)
        await sessions.rewind(self._runner, self._origin, plan.invocation, plan.state)
        known = {event.id for event in before.events}
        added = [e for e in (await sessions.get(self._origin)).events if e.id not in known]
        yield RunStarted(
            run=self._run,
            origin=self._origin,
            invocation=added[0].invocation_id,
            agents=self._agents,
            state=state_json(before.state),
            kind="rewind",
            replaces=plan.replaces,
            version=VERSION,
        )
        for event in added:
            yield AgentEvent(self._serialiser.event(event))


class StateUpdateSource(_SessionChange):
    """A state-only update: one event of the user.

    Of the request only `state_delta`, `origin`, `run` and `streaming` are used.
    """

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record, None]:
        """Yield `RunStarted`, append the change, yield its event. Raise `NotFound` before."""
        del emit  # no node runs
        session = await load_session(self._runner, self._origin)
        event = new_state_event(self._request.state_delta)
        yield RunStarted(
            run=self._run,
            origin=self._origin,
            invocation=event.invocation_id,
            streaming=self._request.streaming,
            agents=self._agents,
            state=state_json(session.state),
            kind="state",
            version=VERSION,
        )
        stored = await self._runner.session_service.append_event(session, event)
        yield AgentEvent(self._serialiser.event(stored))


class StoredAnswersSource(_SessionChange):
    """Results of calls that the client ran, stored for the model to read with the next message.

    Of the request only `answers`, `continues`, `origin`, `run` and `invocation` are used.
    """

    def __init__(
        self,
        runner: Runner,
        request: RunRequest,
        *,
        note: Callable[[RunStarted], Awaitable[None]],
        agents: Sequence[Agent] | None = None,
        report: Report = ignore,
    ) -> None:
        """`note` is called with the start of the run before the session changes."""
        super().__init__(runner, request, agents=agents, report=report)
        self._note = note

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record, None]:
        """Append the answers, yield `RunStarted`, which has them. Raise `NotFound`, `Conflict` before."""
        del emit  # no node runs
        session = await Sessions(self._runner.session_service).get(self._origin)
        events = answer_events(live_events(session), self._request.responses())
        continues = redacted_continues(self._request.continues)
        assert continues is not None, "results continue a message"
        started = RunStarted(
            run=self._run,
            origin=self._origin,
            invocation=self._request.invocation,
            agents=self._agents,
            state=state_json(session.state),
            continues=structs.replace(continues, unasked=True),
            version=VERSION,
        )
        await self._note(started)
        for event in events:
            await self._runner.session_service.append_event(session, event)
        yield started
