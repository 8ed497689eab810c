"""Locks on sessions: one run per session at a time.

ADK's persistent session services fail a run when anyone else writes to its session, and the in-memory one
lets two runs interleave. So every run, state change, rewind and deletion locks its session first: with an
asyncio lock within this process, and with a lease among all processes that share a log.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

import msgspec
from msgspec import Struct

from adk_prism.errors import Conflict
from adk_prism.log.coordination import Lease, Leases, LocalLeases
from adk_prism.log.entry import Origin

Policy = Literal["interrupt", "refuse", "wait"]
"""A second message while a run is active: stops that run, is refused, or waits for its end."""

Claim = Literal["stop", "interrupt"]
"""Why a run is to end: somebody stops it, or a newer message takes its place."""

SettleOrphans = Callable[[Origin, Claim | None], Awaitable[bool]]
"""Called with a session whose lock was just taken, where processes share a log: a dead process may have left
an open run in it, which is to end for this reason, or to be left. Returns whether the session is free."""

LOOK = 1.0
"""Seconds between two attempts while another process has the session: messages between processes can get
lost."""

_BUSY = "This session is running. Wait until it finishes, stop it, or use another session."


class _Slot(Struct, eq=False):
    """One session that is locked or waited for."""

    lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    hold: Lease | None = None
    """The lease of the holder."""
    stop: Callable[[], None] | None = None
    impatient: int = 0
    """Waiters that interrupt the holder, also one that got the lock before them."""
    interest: int = 0
    """Holder and waiters; at zero the slot is dropped, so idle sessions cost nothing."""


@dataclass(eq=False)
class SessionLocks:
    """One lock per session, shared by all processes that share the leases."""

    leases: Leases = field(default_factory=LocalLeases)
    kind: str = "session"
    """Part of the leases' names: locks of different kinds do not block each other."""
    settle: SettleOrphans | None = None

    def __post_init__(self) -> None:
        self._slots: dict[str, _Slot] = {}
        self.leases.listen("stop", self._hear_stop)

    def _name(self, origin: Origin) -> str:
        return "\0".join((self.kind, origin.app, origin.user, origin.session))

    async def acquire(self, origin: Origin, policy: Policy, stop: Callable[[], None]) -> None:
        """Hold a session for a run that `stop` stops. Raise `Conflict` where policy refuses.

        Every `acquire` is followed by one `release`.
        """
        slot = self._slots.setdefault(self._name(origin), _Slot())
        refuses = policy == "refuse"
        if refuses and slot.lock.locked():
            raise Conflict(_BUSY)
        impatient = policy == "interrupt"
        if impatient and slot.stop is not None:
            slot.stop()
        slot.impatient += impatient
        try:
            await self._acquire(origin, slot, refuses=refuses)
        finally:
            slot.impatient -= impatient
        slot.stop = stop
        if slot.impatient:
            stop()

    async def try_acquire(self, origin: Origin, stop: Callable[[], None]) -> bool:
        """Lock a session for a run if it is free; return whether it was."""
        name = self._name(origin)
        if name in self._slots:
            return False
        slot = self._slots[name] = _Slot()
        slot.interest += 1
        try:
            await slot.lock.acquire()
            slot.hold = await self.leases.hold(name)
        finally:
            if slot.hold is None:
                self._let_go(name, slot)
        slot.stop = stop
        return slot.hold is not None

    async def release(self, origin: Origin) -> None:
        """Let go of a session."""
        name = self._name(origin)
        slot = self._slots[name]
        slot.stop = None
        hold, slot.hold = slot.hold, None
        try:
            if hold is not None:
                await self.leases.release(hold)
        finally:
            self._let_go(name, slot)

    @asynccontextmanager
    async def held(self, origin: Origin) -> AsyncIterator[None]:
        """Hold a session while no run is active on it, after the one that is."""
        slot = self._slots.setdefault(self._name(origin), _Slot())
        await self._acquire(origin, slot)
        try:
            yield
        finally:
            await self.release(origin)

    async def stop(self, origin: Origin) -> bool:
        """Stop the active run, if there is one, and wait for its end; return whether there was one."""
        name = self._name(origin)
        slot = self._slots.get(name)
        if slot is None:
            if not await self.leases.is_held(name):
                return False
            slot = self._slots.setdefault(name, _Slot())
        if slot.stop is not None:
            slot.stop()
        await self._acquire(origin, slot, stops=True)
        await self.release(origin)
        return True

    def is_held(self, origin: Origin) -> bool:
        """Return whether anyone in this process holds the session."""
        slot = self._slots.get(self._name(origin))
        return slot is not None and slot.lock.locked()

    async def _acquire(
        self, origin: Origin, slot: _Slot, *, refuses: bool = False, stops: bool = False
    ) -> None:
        slot.interest += 1
        try:
            await slot.lock.acquire()
        except BaseException:
            self._lose_interest(self._name(origin), slot)
            raise
        try:
            slot.hold = await self._hold(origin, slot, refuses, stops)
        except BaseException:
            self._let_go(self._name(origin), slot)
            raise

    async def _hold(self, origin: Origin, slot: _Slot, refuses: bool, stops: bool) -> Lease:
        """Take the session among all processes. Raise `Conflict` if it is not to be had at once."""
        name = self._name(origin)
        while True:
            hold = await self.leases.hold(name)
            if hold is not None:
                claim: Claim | None = "interrupt" if slot.impatient else None
                if await self._is_free(origin, hold, "stop" if stops else claim):
                    return hold
                await self.leases.release(hold)
            if refuses:
                raise Conflict(_BUSY)
            if stops or slot.impatient:
                await self.leases.say("stop", name)
            await self.leases.freed(name, LOOK)

    async def _is_free(self, origin: Origin, hold: Lease, claim: Claim | None) -> bool:
        if self.settle is None or not self.leases.is_shared:
            return True
        try:
            return await self.settle(origin, claim)
        except BaseException:
            await self.leases.release(hold)
            raise

    def _hear_stop(self, name: str) -> None:
        slot = self._slots.get(name)
        if slot is not None and slot.stop is not None:
            slot.stop()

    def _let_go(self, name: str, slot: _Slot) -> None:
        slot.lock.release()
        self._lose_interest(name, slot)

    def _lose_interest(self, name: str, slot: _Slot) -> None:
        slot.interest -= 1
        if not slot.interest:
            del self._slots[name]
