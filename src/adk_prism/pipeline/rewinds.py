"""A rewind without a new message, recorded as a run.

Which messages it voids is read from the session, since ADK rewinds invocations and not messages; the
chat then knows it from the log, as after any other message that was rewound.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from adk_prism.diagnostics import Report
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.runs import Runs
from adk_prism.pipeline.session_branches import SessionBranches
from adk_prism.pipeline.turns import Turn, first_recorded
from adk_prism.runlog.entry import Origin, RunId
from adk_prism.source.apps import Apps
from adk_prism.source.contract import EventSource
from adk_prism.source.session_changes import Rewind, RewindSource


class Rewinds:
    """The rewinds of one server."""

    def __init__(
        self, apps: Apps, runs: Runs, chats: Chats, branches: SessionBranches, report: Report
    ) -> None:
        self._apps = apps
        self._runs = runs
        self._chats = chats
        self._branches = branches
        self._report = report

    async def rewind(self, origin: Origin, invocation: str) -> RunId:
        """Take back an invocation and all after it, when no run is active on the session.

        Raise `NotFound` for no session, `Conflict` for an invocation that is not there (any more) or
        that ADK cannot rewind separately.
        """
        # Not found: said now, not after a wait.
        await self._apps.sessions(origin.app).state(origin)
        await self._apps.open(origin.app)

        def make(run: RunId) -> EventSource:
            return RewindSource(
                self._apps.runner(origin.app, "rewind"),
                run,
                origin,
                partial(self._plan, run, origin, invocation),
                agents=self._apps.agents(origin.app),
                report=self._report,
            )

        run = await self._runs.start(origin, "wait", make)
        await self._runs.wait(run)
        return run

    async def _plan(self, run: RunId, origin: Origin, invocation: str) -> Rewind:
        await self._branches.settle_locked(origin)
        turns = await self._chats.turns(origin)
        first = next(
            (r.summary.run for t in turns for r in t.runs if r.summary.invocation == invocation),
            None,
        )
        state = await self._chats.state_before(first) if first is not None else None
        sessions = self._apps.sessions(origin.app)
        void = await sessions.invocations_from(origin, invocation)
        if void:
            last = (await sessions.get(origin)).events[-1].id
            await self._branches.begin(origin, run, last, invocation, first or "")
        return Rewind(invocation, state, _first_void(turns, void))


def _first_void(turns: Sequence[Turn], invocations: Sequence[str]) -> str:
    void = frozenset(invocations)
    return first_recorded([t for t in turns if any(r.summary.invocation in void for r in t.runs)])
