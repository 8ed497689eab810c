"""A rewind as a run: what it took back, and the resulting state, are in the log like everything else.

The rewind happens before the first record, so that one that fails leaves no trace. Its events follow:
ADK's own, which restores the state, and ours, which fixes what ADK's leaves out.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

from google.adk.runners import Runner
from msgspec import Raw, Struct

from adk_prism.diagnostics import Report, ignore
from adk_prism.runlog.entry import Agent, AgentEvent, Origin, Record, RunStarted
from adk_prism.source.contract import Emit
from adk_prism.source.redaction import Serialiser, state_json
from adk_prism.source.sessions import Sessions
from adk_prism.version import VERSION


class Rewind(Struct, frozen=True):
    """What is taken back."""

    invocation: str
    """The first one; all after it go too."""
    state: Mapping[str, Raw] | None
    """The state before it, as it was recorded; None where nobody knows."""
    replaces: str
    """The first message that is void, empty if the log has none."""


class RewindSource:
    """One rewind of a session."""

    def __init__(
        self,
        runner: Runner,
        run: str,
        origin: Origin,
        plan: Callable[[], Awaitable[Rewind]],
        *,
        agents: Sequence[Agent] = (),
        report: Report = ignore,
    ) -> None:
        """Nothing happens yet. `plan` is asked when the session is held."""
        self._runner = runner
        self._run = run
        self._origin = origin
        self._plan = plan
        self._agents = list(agents)
        self._serialiser = Serialiser(report, run=run, app=origin.app)

    @property
    def correlation(self) -> str:
        """Empty: no agent runs, so nothing of it can fail."""
        return self._serialiser.correlation

    def cancel(self) -> None:
        """Do nothing: the rewind is over before anyone could stop it."""

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
