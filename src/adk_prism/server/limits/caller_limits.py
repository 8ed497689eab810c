"""The limits of one caller, and their defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple, NoReturn

from adk_prism.errors import TooMany
from adk_prism.log.contract import LimitCheck, UsageLimits
from adk_prism.runs.session_locks import Refused

# ---------------------------------------------------------------------- token bucket
#
# A token bucket: a rate limit that allows bursts.
#
# Not the package `limits`: it counts hits in windows, and cannot charge bytes after they were sent
# (`docs/decisions/0060-kept-by-hand.md`).


class TokenBucket:
    """Refills by `rate` tokens per second, up to `size`. Its level may become negative."""

    __slots__ = ("_filled", "_level", "_rate", "_size")

    def __init__(self, rate: float, size: float, now: float) -> None:
        self._rate = rate
        self._size = size
        self._level = size
        self._filled = now

    def take(self, amount: float, now: float) -> None:
        """Take tokens, even if there are not enough."""
        self._fill(now)
        self._level -= amount

    def wait(self, amount: float, now: float) -> float:
        """Return in how many seconds there are enough tokens; 0: now."""
        self._fill(now)
        return max(0.0, (min(amount, self._size) - self._level) / self._rate)

    def is_full(self, now: float) -> bool:
        """Return whether the bucket is full."""
        self._fill(now)
        return self._level >= self._size

    def _fill(self, now: float) -> None:
        self._level = min(self._size, self._level + (now - self._filled) * self._rate)
        self._filled = now


# ---------------------------------------------------------------------- limits


class CallerLimits(NamedTuple):
    """The maximum of each; 0: unlimited."""

    runs: int = 0
    """Concurrent runs of one user."""
    requests: int = 0
    """Concurrent requests; a stream is one."""
    sockets: int = 0
    rate: int = 0
    """Requests per second."""
    bytes: int = 0
    """Bytes per second, sent and received together."""
    run_time: float = 0.0
    unwatched: float = 0.0
    """Seconds that a run may continue without a client."""


USUAL = CallerLimits(
    runs=20,
    requests=100,
    sockets=20,
    rate=100,
    bytes=32 * 1024**2,
    run_time=3600.0,
    unwatched=900.0,
)
"""The defaults with authentication: all windows of one busy person, and far less than a machine has."""

NONE = CallerLimits()


# ---------------------------------------------------------------------- usage
#
# What one caller has open and has used, checked against its limits.

BURST = 2
"""Seconds' worth of requests that may come at once: a page that loads sends many."""

AGAIN = 5.0
"""Seconds for `Retry-After` where it is not known when something ends."""

KEPT = 10_000
"""Callers that are remembered; above that, those that use nothing are dropped."""

Kind = Literal["http", "websocket"]


def allowed(limits: CallerLimits, kind: Kind) -> UsageLimits:
    """Return the limits of one caller for requests or sockets."""
    most = {"http": limits.requests, "websocket": limits.sockets}[kind]
    burst = limits.rate * BURST
    return UsageLimits(open=most, rate=limits.rate, burst=burst, bytes=limits.bytes)


def too_many(verdict: LimitCheck, limits: CallerLimits, kind: Kind, refused: Refused) -> TooMany:
    """Return the error for a caller who exceeds a limit, and count the refusal."""
    limit, most, what = {
        "http": ("requests", limits.requests, "requests and streams"),
        "websocket": ("sockets", limits.sockets, "sockets"),
    }[kind]
    texts = {
        "open": f"You have {most} {what} open; close one first.",
        "bytes": f"The limit is {limits.bytes} bytes per second, sent and received together.",
        "rate": f"The limit is {limits.rate} requests per second.",
    }
    refused(limit if verdict.exceeded == "open" else verdict.exceeded)
    return TooMany(texts[verdict.exceeded], verdict.seconds or AGAIN)


class CallerUsage:
    """What one caller has open and has used."""

    __slots__ = ("_bytes", "_limits", "_open", "_rate", "_refused")

    def __init__(self, limits: CallerLimits, now: float, refused: Refused) -> None:
        self._limits = limits
        self._refused = refused
        self._open: dict[Kind, int] = {"http": 0, "websocket": 0}
        self._rate = TokenBucket(limits.rate, limits.rate * BURST, now) if limits.rate else None
        self._bytes = TokenBucket(limits.bytes, limits.bytes, now) if limits.bytes else None

    @contextmanager
    def open(self, kind: Kind, now: float) -> Iterator[None]:
        """Count a request or socket inside the `with` block. Raise `TooMany` beyond a limit."""
        self._check(kind, now)
        self._open[kind] += 1
        try:
            yield
        finally:
            self._open[kind] -= 1

    def _check(self, kind: Kind, now: float) -> None:
        most = allowed(self._limits, kind).open
        if most and self._open[kind] >= most:
            self._refuse(LimitCheck("open"), kind)
        if self._bytes is not None and (delay := self._bytes.wait(0, now)):
            self._refuse(LimitCheck("bytes", delay), kind)
        if self._rate is None:
            return
        if delay := self._rate.wait(1, now):
            self._refuse(LimitCheck("rate", delay), kind)
        self._rate.take(1, now)

    def _refuse(self, verdict: LimitCheck, kind: Kind) -> NoReturn:
        raise too_many(verdict, self._limits, kind, self._refused)

    def use(self, amount: int, now: float) -> float:
        """Count bytes; return for how many seconds the next ones should wait."""
        if self._bytes is None or not amount:
            return 0.0
        self._bytes.take(amount, now)
        return self._bytes.wait(0, now)

    def is_idle(self, now: float) -> bool:
        """Return whether the caller uses nothing."""
        buckets = (bucket for bucket in (self._rate, self._bytes) if bucket is not None)
        return not any(self._open.values()) and all(bucket.is_full(now) for bucket in buckets)


class UsageByCaller:
    """The usage of every caller that uses something."""

    def __init__(
        self, limits: CallerLimits, clock: Callable[[], float], refused: Refused, kept: int = KEPT
    ) -> None:
        self._limits = limits
        self._refused = refused
        self._clock = clock
        self._kept = kept
        self._accounts: dict[str, CallerUsage] = {}
        self._next_look = kept

    def of(self, name: str) -> CallerUsage:
        """Return the usage of a caller."""
        account = self._accounts.get(name)
        if account is None:
            self._forget()
            account = self._accounts[name] = CallerUsage(self._limits, self._clock(), self._refused)
        return account

    def __len__(self) -> int:
        return len(self._accounts)

    def _forget(self) -> None:
        """Drop idle callers whenever there are twice as many as were left the last time."""
        if len(self._accounts) < self._next_look:
            return
        now = self._clock()
        idle = [name for name, account in self._accounts.items() if account.is_idle(now)]
        for name in idle:
            del self._accounts[name]
        self._next_look = max(self._kept, 2 * len(self._accounts))
