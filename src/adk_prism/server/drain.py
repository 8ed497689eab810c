"""What happens to streams, sockets and runs when the server goes down.

A stream continues until its run ends or the grace period is over. It is cut early only where another process
that takes new work shares the run log: its client comes back there, and misses nothing. A stream whose run
ends while the server drains gets its end like any other.

Live runs cannot be continued by another process. Where there is one, a client can begin again there, so it
is sent away at once; elsewhere it may talk on for as long as the grace period lasts.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from adk_prism.pipeline.broadcast import Broadcaster
from adk_prism.pipeline.film_cache import Films
from adk_prism.pipeline.live_runs import LiveRuns
from adk_prism.pipeline.runs import Runs
from adk_prism.runlog.leases import Leases
from adk_prism.server.open_sockets import Sockets

LAST_FRAMES = 1.0
"""Seconds in which viewers may take the end of a run that was stopped; less of a short grace period."""
LAST_FRAMES_SHARE = 0.4
"""Of the time that runs had: with it, all steps fit into the grace period."""


@dataclass(frozen=True, slots=True)
class Drain:
    """Ends the work of one server, in order."""

    leases: Leases
    runs: Runs
    live: LiveRuns
    broadcaster: Broadcaster
    films: Films
    sockets: Sockets

    async def __call__(self, patience: float) -> None:
        """Take no new runs; let runs end within `patience` seconds, then stop them or hand them over."""
        self.runs.refuse_new()
        has_others = await self.leases.has_others()
        if has_others:
            self._cut()
        else:
            self.sockets.close_idle()
        until = asyncio.get_running_loop().time() + patience
        try:
            talking = self.live.drain(0.0 if has_others else patience)
            await asyncio.gather(talking, self.runs.drain(patience))
            await self._show_ends(until, patience)
        finally:
            self._cut()

    async def _show_ends(self, until: float, patience: float) -> None:
        """Wait for viewers of runs that have ended: they are owed the end."""
        left = until - asyncio.get_running_loop().time()
        seconds = max(left, min(LAST_FRAMES, patience * LAST_FRAMES_SHARE))
        await asyncio.gather(self.broadcaster.finished(seconds), self.sockets.finished(seconds))

    def _cut(self) -> None:
        self.broadcaster.leave_all()
        self.films.leave_all()
        self.sockets.close_all()
