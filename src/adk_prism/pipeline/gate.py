"""One run per session at a time: who may work on a session now, and what a second comer gets.

ADK's persistent session services fail a run when anyone else writes to its session, and the in-memory one
lets two runs interleave. So every run, state change, rewind and deletion holds its session here first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Literal

from adk_prism.errors import Conflict
from adk_prism.runlog.entry import Origin

Policy = Literal["interrupt", "refuse", "wait"]
"""A second message while a run is active: stops that run, is refused, or waits for its end."""


class _Slot:
    """One session that somebody holds or waits for."""

    __slots__ = ("impatient", "interest", "lock", "stop")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.stop: Callable[[], None] | None = None
        self.impatient = 0
        """Waiters that interrupt whoever holds the session, also one that came before them."""
        self.interest = 0
        """Holders and waiters; at zero the slot is forgotten, so idle sessions cost nothing."""


class Gate:
    """All sessions of one process."""

    def __init__(self) -> None:
        self._slots: dict[Origin, _Slot] = {}

    async def enter(self, origin: Origin, policy: Policy, stop: Callable[[], None]) -> None:
        """Hold a session for a run that `stop` stops. Raise `Conflict` where policy refuses.

        Every entry is followed by one `leave`.
        """
        slot = self._slots.setdefault(origin, _Slot())
        if policy == "refuse" and slot.lock.locked():
            raise Conflict(
                "This session is busy with a run. Wait for its end, stop it, or use another session."
            )
        impatient = policy == "interrupt"
        if impatient and slot.stop is not None:
            slot.stop()
        slot.impatient += impatient
        try:
            await self._acquire(origin, slot)
        finally:
            slot.impatient -= impatient
        slot.stop = stop
        if slot.impatient:
            stop()

    def leave(self, origin: Origin) -> None:
        """Let go of a session."""
        slot = self._slots[origin]
        slot.stop = None
        slot.lock.release()
        self._lose_interest(origin, slot)

    @asynccontextmanager
    async def quiet(self, origin: Origin) -> AsyncIterator[None]:
        """Hold a session while no run is active on it, after the one that is."""
        slot = self._slots.setdefault(origin, _Slot())
        await self._acquire(origin, slot)
        try:
            yield
        finally:
            self.leave(origin)

    async def stop(self, origin: Origin) -> None:
        """Stop the active run, if there is one, and wait for its end."""
        slot = self._slots.get(origin)
        if slot is None:
            return
        if slot.stop is not None:
            slot.stop()
        async with self.quiet(origin):
            pass

    def busy(self, origin: Origin) -> bool:
        """Tell whether anyone holds the session."""
        slot = self._slots.get(origin)
        return slot is not None and slot.lock.locked()

    async def _acquire(self, origin: Origin, slot: _Slot) -> None:
        slot.interest += 1
        try:
            await slot.lock.acquire()
        except BaseException:
            self._lose_interest(origin, slot)
            raise

    def _lose_interest(self, origin: Origin, slot: _Slot) -> None:
        slot.interest -= 1
        if not slot.interest:
            del self._slots[origin]
