"""Leases: which process works on what, among those that share a run log.

A run has one owner, a session one holder, an idempotency key one request. A lease is renewed while its
process lives and expires when the process dies. A run's lease has an epoch, which is in the run's log:
claiming a run raises it, and from then on the log refuses appends of the previous owner.

A process can be stopped for longer than its leases last, and continue without knowing. So a lease is *sure*
only until the time that its last renewal has promised, by the monotonic clock. Before an action, `sure` waits
for a renewal if that time is over.

`LocalLeases` is for logs that belong to one process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Literal, Protocol

from adk_prism.errors import Fenced
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.entry import RunId
from adk_prism.log.private_files import Notifier

DEFAULT_TTL = 10.0
"""Seconds from a lease's last renewal to its expiry: longer than a restart of Redis or a pause of a busy
machine, and short enough for a client that waits for an answer."""

Word = Literal["stop", "cancel", "left"]
"""Messages between processes: stop the holder of this, cancel this run, this run has no owner now."""

Hear = Callable[[str], None]


class Lease:
    """A lease of this process."""

    __slots__ = ("_changed", "_lost", "_until", "epoch", "is_of_a_run", "name", "on_lost", "token")

    def __init__(
        self,
        name: str,
        *,
        token: str = "",
        epoch: int = 0,
        is_of_a_run: bool = False,
        until: float = math.inf,
    ) -> None:
        self.name = name
        self.token = token
        """Distinguishes this lease from others of the same name."""
        self.epoch = epoch
        """Of a run: its entries are appended with it."""
        self.is_of_a_run = is_of_a_run
        self._until = until
        self._lost = False
        self._changed = Notifier()
        self.on_lost: Callable[[], None] | None = None
        """Called once, when another process has taken it."""

    @property
    def is_sure(self) -> bool:
        """Whether no other process can have it now."""
        return not self._lost and time.monotonic() < self._until

    async def sure(self) -> None:
        """Wait until no other process can have it. Raise `Fenced` if one has."""
        while not self.is_sure:
            if self._lost:
                raise Fenced(f"Another process has taken over {self.name[:60]!r}.")
            await self._changed.wait()

    def promise(self, until: float) -> None:
        """Note a renewal, from any thread. It counts at once; `extend` wakes waiting tasks."""
        self._until = until

    def extend(self, until: float) -> None:
        """Note a renewal, and wake waiting tasks."""
        if not self._lost:
            self._until = until
            self._changed.notify()

    def lose(self) -> None:
        """Note that another process has it. Calling it again changes nothing."""
        if self._lost:
            return
        self._lost, self._until = True, -math.inf
        self._changed.notify()
        if self.on_lost is not None:
            self.on_lost()


OWNED: ContextVar[Lease | None] = ContextVar("adk_prism_owned", default=None)
"""The lease of the run that is being recorded: set in the task that records, and in all that it starts."""


async def still_owned() -> None:
    """Wait until no other process can own the run that is being recorded. Raise `Fenced` if one does."""
    lease = OWNED.get()
    if lease is not None and not lease.is_sure:
        await lease.sure()


class Leases(Protocol):
    """The leases of one process."""

    is_shared: bool
    """Whether other processes may want the same leases."""

    async def open(self) -> None:
        """Get ready. Raise `LogError` if the store of the leases cannot be used."""

    async def close(self) -> None:
        """Release everything."""

    async def has_others(self) -> bool:
        """Announce that this process accepts no more work; return whether another one does.

        False if that is not known. Never raises.
        """

    async def begin(self, run: RunId) -> Lease:
        """Take the lease of a run that is about to start. Raise `Conflict` if it is taken, `LogError`."""

    async def claim(self, summary: RunSummary) -> Lease | None:
        """Take a run whose owner is gone, with a new epoch. None if it has an owner, or has ended."""

    async def hold(self, name: str) -> Lease | None:
        """Take the lease of a name. None while it is taken. Raise `LogError`."""

    async def is_held(self, name: str) -> bool:
        """Return whether the lease of a name is taken."""

    async def release(self, lease: Lease) -> None:
        """Release a lease, so that no process has to wait until it expires. Never raises."""

    async def freed(self, name: str, seconds: float) -> None:
        """Wait until the lease of a name may be free, at most so long."""

    async def ownerless(self, log: RunLog) -> Sequence[RunId]:
        """Return the runs of the log that have not ended and have no owner."""

    def listen(self, word: Word, hear: Hear) -> None:
        """Call a function with the name in every message of this kind."""

    async def say(self, word: Word, name: str) -> None:
        """Send a message to every process, this one too. It may be lost: repeat it until it has an effect."""


class LocalLeases:
    """Leases where there is no other process: they are always granted, and never expire."""

    is_shared = False

    def __init__(self) -> None:
        self._runs: set[RunId] = set()

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        self._runs.clear()

    async def has_others(self) -> bool:
        return False

    async def begin(self, run: RunId) -> Lease:
        self._runs.add(run)
        return Lease(run, is_of_a_run=True)

    async def claim(self, summary: RunSummary) -> Lease | None:
        if summary.run in self._runs or summary.outcome is not None:
            return None
        self._runs.add(summary.run)
        return Lease(summary.run, epoch=summary.epoch + 1, is_of_a_run=True)

    async def hold(self, name: str) -> Lease | None:
        return Lease(name)

    async def is_held(self, name: str) -> bool:
        del name  # only this process holds leases
        return False

    async def release(self, lease: Lease) -> None:
        if lease.is_of_a_run:
            self._runs.discard(RunId(lease.name))

    async def freed(self, name: str, seconds: float) -> None:
        del name, seconds  # no other process holds anything

    async def ownerless(self, log: RunLog) -> Sequence[RunId]:
        going_on = await log.list(unended=True)
        return [each.run for each in going_on if each.run not in self._runs]

    def listen(self, word: Word, hear: Hear) -> None:
        pass

    async def say(self, word: Word, name: str) -> None:
        pass
