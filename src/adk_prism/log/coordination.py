"""What the processes that use one run log coordinate by: leases, values that expire, usage counters.

A log that one process uses alone has `LocalCoordination`: nothing is taken, nothing has to be counted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct

from adk_prism.errors import Fenced, TooMany
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.entry import RunId
from adk_prism.log.private_files import Notifier

# ---------------------------------------------------------------------------
# Leases: which process works on what, among those that share a run log.
#
# A run has one owner, a session one holder, an idempotency key one request. A lease is renewed while its
# process lives and expires when the process dies. A run's lease has an epoch, which is in the run's log:
# claiming a run raises it, and from then on the log refuses appends of the previous owner.
#
# A process can be stopped for longer than its leases last, and continue without knowing. So a lease is *sure*
# only until the time that its last renewal has promised, by the monotonic clock. Before an action, `sure`
# waits for a renewal if that time is over.
#
# `LocalLeases` is for logs that belong to one process.


DEFAULT_TTL = 10.0
"""Seconds from a lease's last renewal to its expiry: longer than a restart of their store or a pause of a
busy machine, and short enough for a client that waits for an answer."""

Word = Literal["stop", "cancel", "left"]
"""Messages between processes: stop the holder of this, cancel this run, this run has no owner now."""

Hear = Callable[[str], None]


@dataclass(eq=False, slots=True)
class Lease:
    """A lease of this process."""

    name: str
    token: str = ""
    """Distinguishes this lease from others of the same name."""
    epoch: int = 0
    """Of a run: its entries are appended with it."""
    is_of_a_run: bool = False
    until: float = math.inf
    """When it may be another process's, by the monotonic clock."""
    on_lost: Callable[[], None] | None = None
    """Called once, when another process has taken it."""
    _lost: bool = False
    _changed: Notifier = field(default_factory=Notifier)

    @property
    def is_sure(self) -> bool:
        """Whether no other process can have it now."""
        return not self._lost and time.monotonic() < self.until

    async def sure(self) -> None:
        """Wait until no other process can have it. Raise `Fenced` if one has."""
        while not self.is_sure:
            if self._lost:
                raise Fenced(f"Another process has taken over {self.name[:60]!r}.")
            await self._changed.wait()

    def promise(self, until: float) -> None:
        """Note a renewal, from any thread. It counts at once; `extend` wakes waiting tasks."""
        self.until = until

    def extend(self, until: float) -> None:
        """Note a renewal, and wake waiting tasks."""
        if not self._lost:
            self.until = until
            self._changed.notify()

    def lose(self) -> None:
        """Note that another process has it. Calling it again changes nothing."""
        if self._lost:
            return
        self._lost, self.until = True, -math.inf
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


# --------------------------------------------------------------------------- usage counters

# Counters of open connections, rates and bytes for each caller, shared by all processes of a store.
#
# The store measures the time. Counts that are not renewed expire: those of a dead process after `SECONDS`.
# Such counters exist only if processes share a store; otherwise each process counts alone.

SECONDS = 30.0
"""How long something counts as open without a renewal."""

Exceeded = Literal["", "open", "rate", "bytes"]


class UsageLimits(Struct, frozen=True):
    """The limits; 0 is no limit."""

    open: int = 0
    rate: float = 0.0
    """A second."""
    burst: float = 0.0
    """At once."""
    bytes: float = 0.0
    """A second."""


class LimitCheck(Struct, frozen=True):
    """Whether something is within the limits."""

    exceeded: Exceeded = ""
    seconds: float = 0.0
    """Until it would be, if that is known."""


class Member(Struct, frozen=True):
    """Something open: its caller, its id and its kind. Each kind is counted separately."""

    name: str
    member: str
    kind: str


class UsageCounters(Protocol):
    """Counters that processes share. Every method raises `LogError` if their store is not reachable."""

    async def open(self) -> None:
        """Get ready."""

    async def close(self) -> None:
        """Disconnect."""

    async def enter(self, wanted: Member, allowed: UsageLimits) -> LimitCheck:
        """Count something that opens, if it is within the limits."""

    async def renew(self, members: Iterable[Member]) -> None:
        """Keep things counted as open."""

    async def leave(self, member: Member) -> None:
        """Stop counting something as open."""

    async def use(self, used: Sequence[tuple[str, int, float]]) -> Sequence[float]:
        """Count bytes: of which caller, how many, and how many a second it may use. Return for how many
        seconds each should wait."""


# --------------------------------------------------------------------------- sums of a day

Sums = Mapping[str, int]
"""By name."""


class Charge(Struct, frozen=True):
    """What to add to the sums of an account."""

    account: str
    amounts: Sums
    most: Sums = {}
    """Sums that must be less than this before."""


class OverSum(NamedTuple):
    """A sum that has reached its most."""

    account: str
    name: str


class DaySums(Protocol):
    """Sums by account and day, which are kept for a day at least.

    Every method but `open` and `close` raises `LogError` if their store is not reachable.
    """

    async def open(self) -> None:
        """Get ready."""

    async def close(self) -> None:
        """Disconnect."""

    async def charge(self, day: str, charges: Sequence[Charge], once: str = "") -> OverSum | None:
        """Add all amounts and return None; or none of them, and return a sum that has reached its most.

        A charge with the same `once` is made only once a day, where processes share the sums.
        """

    async def read(self, day: str, accounts: Sequence[str]) -> Sequence[Sums]:
        """Return the sums of accounts."""


# ---------------------------------------------------------------------------
# Values that expire, by name.

MOST_OF_ONE, MOST_VALUES = 64, 10_000
"""Values that a process keeps for one caller, and in all: a few megabytes."""


class ExpiringValues(Protocol):
    """Small values by name, with a time to live."""

    async def open(self) -> None:
        """Get ready."""

    async def close(self) -> None:
        """Disconnect."""

    async def put(self, name: str, value: bytes, seconds: float, by: str = "") -> None:
        """Store a value of a caller. Raise `TooMany` or `LogError`."""

    async def take(self, name: str) -> bytes | None:
        """Remove a value and return it; None if there is none (any more). Raise `LogError`."""


class _Value(NamedTuple):
    until: float
    by: str
    value: bytes


class LocalValues:
    """The values of one process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._values: dict[str, _Value] = {}

    def __len__(self) -> int:
        return len(self._values)

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        self._values.clear()

    async def put(self, name: str, value: bytes, seconds: float, by: str = "") -> None:
        now = self._clock()
        self._values = {key: each for key, each in self._values.items() if each.until > now}
        of_one = sum(each.by == by for each in self._values.values())
        if of_one >= MOST_OF_ONE or len(self._values) >= MOST_VALUES:
            raise TooMany("Too many values are stored; try again later.", seconds)
        self._values[name] = _Value(now + seconds, by, value)

    async def take(self, name: str) -> bytes | None:
        found = self._values.pop(name, None)
        return found.value if found is not None and found.until > self._clock() else None


# ---------------------------------------------------------------------------


class Coordination(Protocol):
    """What the processes that use one run log coordinate by. Nothing is open yet."""

    is_shared: bool
    """Whether there may be other processes."""

    def leases(self, ttl: float = DEFAULT_TTL) -> Leases:
        """Return the leases of this process, which expire so many seconds after their last renewal."""

    def values(self) -> ExpiringValues:
        """Return values that expire."""

    def counters(self) -> UsageCounters | None:
        """Return what counts for all processes; None where this process counts alone."""

    def sums(self) -> DaySums | None:
        """Return the sums of all processes; None where this process has its log alone."""


class LocalCoordination:
    """Of a log that one process uses alone."""

    is_shared = False

    def leases(self, ttl: float = DEFAULT_TTL) -> Leases:
        del ttl  # they never expire
        return LocalLeases()

    def values(self) -> ExpiringValues:
        return LocalValues()

    def counters(self) -> UsageCounters | None:
        return None

    def sums(self) -> DaySums | None:
        return None
