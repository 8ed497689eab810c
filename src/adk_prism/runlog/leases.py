"""Who works on what, among all the processes that share a run log.

A run has one owner, a session one holder, an idempotency key one request. Each is a lease: a right that
is renewed, and that lapses when its process dies. Ownership of a run has an epoch, which is in the run's
log: whoever claims a run raises it, and from that moment the log takes nothing from the owner before.

A process can be stopped for longer than its leases last, and wake up without knowing. So a lease is *sure*
only for the time that its last renewal has promised, by the clock of this process that nobody sets; who is
about to do something asks for that first, and waits for a renewal where the time is over.

`LocalLeases` is for logs that belong to one process: there nobody else can ask.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Literal, Protocol

from adk_prism.errors import Fenced
from adk_prism.runlog.contract import RunLog, RunSummary
from adk_prism.runlog.entry import RunId
from adk_prism.runlog.notifier import Notifier

DEFAULT_TTL = 10.0
"""Seconds that a lease outlives its last renewal: longer than a restart of Redis or a pause of a busy
machine, and short enough for who waits for an answer."""

Word = Literal["stop", "cancel", "left"]
"""What processes tell each other: stop what holds this, cancel this run, this run has no owner now."""

Hear = Callable[[str], None]


class Lease:
    """A right that somebody in this process has."""

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
        """Tells this lease from any other of the same name."""
        self.epoch = epoch
        """Of a run: with what its entries are appended."""
        self.is_of_a_run = is_of_a_run
        self._until = until
        self._lost = False
        self._changed = Notifier()
        self.on_lost: Callable[[], None] | None = None
        """Called once, when somebody else has taken it."""

    @property
    def is_sure(self) -> bool:
        """Whether nobody else can have it now."""
        return not self._lost and time.monotonic() < self._until

    async def sure(self) -> None:
        """Wait until nobody else can have it. Raise `Fenced` if somebody has."""
        while not self.is_sure:
            if self._lost:
                raise Fenced(f"Another process has taken over {self.name[:60]!r}.")
            await self._changed.wait()

    def promise(self, until: float) -> None:
        """Note a renewal, from any thread: it counts at once, and who waits is woken by `extend`."""
        self._until = until

    def extend(self, until: float) -> None:
        """Note a renewal, and wake who waits for it."""
        if not self._lost:
            self._until = until
            self._changed.notify()

    def lose(self) -> None:
        """Note that somebody else has it; repeating it changes nothing."""
        if self._lost:
            return
        self._lost, self._until = True, -math.inf
        self._changed.notify()
        if self.on_lost is not None:
            self.on_lost()


OWNED: ContextVar[Lease | None] = ContextVar("adk_prism_owned", default=None)
"""The lease of the run that is being recorded: set in the task that records, and in all that it starts."""


async def still_owned() -> None:
    """Wait until nobody else can own the run that is being recorded. Raise `Fenced` if somebody does."""
    lease = OWNED.get()
    if lease is not None and not lease.is_sure:
        await lease.sure()


class Leases(Protocol):
    """The leases of one process."""

    is_shared: bool
    """Whether other processes may want the same."""

    async def open(self) -> None:
        """Make ready. Raise `LogError` where they are kept in a store that cannot be used."""

    async def close(self) -> None:
        """Give everything back."""

    async def has_others(self) -> bool:
        """Take no more work here; tell whether another process that does shares the log.

        False where that is not known. Never raises.
        """

    async def begin(self, run: RunId) -> Lease:
        """Own a run that is about to start. Raise `Conflict` if somebody does, `LogError`."""

    async def claim(self, summary: RunSummary) -> Lease | None:
        """Own a run whose owner is gone, with a new epoch. None while it has one, or has ended."""

    async def hold(self, name: str) -> Lease | None:
        """Hold something by its name. None while somebody does. Raise `LogError`."""

    async def is_held(self, name: str) -> bool:
        """Tell whether anybody holds something."""

    async def release(self, lease: Lease) -> None:
        """Give a lease back, so that nobody has to wait until it lapses. Never raises."""

    async def freed(self, name: str, seconds: float) -> None:
        """Wait until something may be free, at most so long."""

    async def ownerless(self, log: RunLog) -> Sequence[RunId]:
        """Return the runs of the log that have not ended, and that nobody owns."""

    def listen(self, word: Word, hear: Hear) -> None:
        """Have a function called with every name that the word is said of."""

    async def say(self, word: Word, name: str) -> None:
        """Tell every process, this one too. May be lost; who needs an effect says it again."""


class LocalLeases:
    """Leases where there is no other process: they are always given, and never lapse."""

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
        del name  # whoever asks knows who holds it
        return False

    async def release(self, lease: Lease) -> None:
        if lease.is_of_a_run:
            self._runs.discard(RunId(lease.name))

    async def freed(self, name: str, seconds: float) -> None:
        del name, seconds  # nobody waits: nobody else holds anything

    async def ownerless(self, log: RunLog) -> Sequence[RunId]:
        going_on = await log.list(unended=True)
        return [each.run for each in going_on if each.run not in self._runs]

    def listen(self, word: Word, hear: Hear) -> None:
        pass

    async def say(self, word: Word, name: str) -> None:
        pass
