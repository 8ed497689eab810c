"""How much one caller may have at a time, so that others have the rest.

A request beyond a limit is refused before it is read, with 429 and `Retry-After`. Bytes are counted both
ways; a caller that used too many waits before it gets more, or before its next WebSocket message is read (a
body is bounded, and is accepted). That delays this caller only: a run never waits for its clients.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple, NoReturn, TypeVar

from starlette.types import Message, Receive, Scope, Send

from adk_prism.errors import Busy, Diagnostic, LogError, Report, TooMany, cause_of
from adk_prism.log.coordination import SECONDS, LimitCheck, Member, UsageCounters, UsageLimits
from adk_prism.log.entry import Origin
from adk_prism.log.private_files import cancel_task
from adk_prism.runs.session_locks import AGAIN, Refused
from adk_prism.server.identity.caller import Caller, account, of_scope

# ---------------------------------------------------------------------- token bucket
#
# A token bucket: a rate limit that allows bursts.
#
# Not the package `limits`: it counts hits in windows, and cannot charge bytes after they were sent
# (`docs/decisions/0060-kept-by-hand.md`).


class TokenBucket:
    """Refills by `rate` tokens per second, up to `size`; it may be in debt. A rate of 0 is no limit."""

    __slots__ = ("_full", "_rate", "_size")

    def __init__(self, rate: float, size: float, now: float) -> None:
        self._rate = rate
        self._size = size
        self._full = now
        """When it is full, if nothing more is taken."""

    def take(self, amount: float, now: float) -> None:
        """Take tokens, even if there are not enough."""
        if self._rate:
            self._full = max(self._full, now) + amount / self._rate

    def wait(self, amount: float, now: float) -> float:
        """Return in how many seconds there are enough tokens; 0: now."""
        if not self._rate:
            return 0.0
        spare = self._size - min(amount, self._size)
        return max(0.0, self._full - now - spare / self._rate)

    def is_full(self, now: float) -> bool:
        """Return whether the bucket is full."""
        return now >= self._full


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
        self._rate = TokenBucket(limits.rate, limits.rate * BURST, now)
        self._bytes = TokenBucket(limits.bytes, limits.bytes, now)

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
        if delay := self._bytes.wait(0, now):
            self._refuse(LimitCheck("bytes", delay), kind)
        if delay := self._rate.wait(1, now):
            self._refuse(LimitCheck("rate", delay), kind)
        self._rate.take(1, now)

    def _refuse(self, verdict: LimitCheck, kind: Kind) -> NoReturn:
        raise too_many(verdict, self._limits, kind, self._refused)

    def use(self, amount: int, now: float) -> float:
        """Count bytes; return for how many seconds the next ones should wait."""
        self._bytes.take(amount, now)
        return self._bytes.wait(0, now) if amount else 0.0

    def is_idle(self, now: float) -> bool:
        """Return whether the caller uses nothing."""
        is_full = self._rate.is_full(now) and self._bytes.is_full(now)
        return is_full and not any(self._open.values())


@dataclass(eq=False)
class UsageByCaller:
    """The usage of every caller that uses something."""

    limits: CallerLimits
    clock: Callable[[], float]
    refused: Refused
    kept: int = KEPT

    def __post_init__(self) -> None:
        self._accounts: dict[str, CallerUsage] = {}
        self._next_look = self.kept

    def of(self, name: str) -> CallerUsage:
        """Return the usage of a caller."""
        account = self._accounts.get(name)
        if account is None:
            self._forget()
            account = self._accounts[name] = CallerUsage(self.limits, self.clock(), self.refused)
        return account

    def __len__(self) -> int:
        return len(self._accounts)

    def _forget(self) -> None:
        """Drop idle callers whenever there are twice as many as were left the last time."""
        if len(self._accounts) < self._next_look:
            return
        now = self.clock()
        idle = [name for name, account in self._accounts.items() if account.is_idle(now)]
        for name in idle:
            del self._accounts[name]
        self._next_look = max(self.kept, 2 * len(self._accounts))


# ---------------------------------------------------------------------- all replicas
#
# The same, counted for all processes that share a run log.
#
# The common counters are asked about callers who are within the limits of this process. A store that is
# down or slow does
# not block requests: after a short timeout, and for some seconds from then on, this process counts alone, and
# reports it.

BOUND = 0.25
"""Seconds that a request waits for the common counters: many times the usual response time."""

ALONE = 5.0
"""Seconds for which they are not asked again after a timeout."""

FLUSH = 0.5
"""Seconds between two updates of the byte counts; sending does not wait for them."""

_Answer = TypeVar("_Answer")


class SharedLimits:
    """Counts for all processes; where that is not possible, everything is allowed."""

    def __init__(self, counts: UsageCounters, report: Report) -> None:
        self._counts = counts
        self._report = report
        self._process = uuid.uuid4().hex
        self._number = 0
        self._open: set[Member] = set()
        self._used: Counter[tuple[str, float]] = Counter()
        """Bytes used since the last update, by caller and its bytes per second."""
        self._waits: dict[str, float] = {}
        """Until when a caller that used too much waits."""
        self._alone_until = 0.0
        self._is_alone = False

    @asynccontextmanager
    async def counting(self) -> AsyncIterator[None]:
        """Renew open members and update byte counts inside the `async with` block."""
        await self._counts.open()
        tasks = [asyncio.create_task(each) for each in (self._renew(), self._flush())]
        try:
            yield
        finally:
            for task in tasks:
                await cancel_task(task)
            for member in list(self._open):
                await self.leave(member)
            await self._counts.close()

    async def enter(
        self, name: str, kind: str, allowed: UsageLimits, member: str = ""
    ) -> LimitCheck | Member:
        """Count a request, socket or run; return the exceeded limit, or the member to `leave` with."""
        self._number += 1
        wanted = Member(name, member or f"{self._process}:{self._number}", kind)
        verdict = await self._ask(lambda: self._counts.enter(wanted, allowed))
        if verdict is not None and verdict.exceeded:
            return verdict
        if allowed.open:
            self._open.add(wanted)
        return wanted

    async def leave(self, member: Member) -> None:
        """Stop counting a member; if the counters cannot be reached, the member expires."""
        if member in self._open:
            self._open.discard(member)
            await self._ask(lambda: self._counts.leave(member))

    def use(self, name: str, amount: int, rate: float) -> float:
        """Count bytes; return for how many seconds the next ones should wait."""
        if not amount or not rate:
            return 0.0
        self._used[name, rate] += amount
        return max(0.0, self._waits.get(name, 0.0) - asyncio.get_running_loop().time())

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(SECONDS / 3)
            if self._open:
                await self._ask(lambda: self._counts.renew(list(self._open)))

    async def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(FLUSH)
            self._waits = {name: end for name, end in self._waits.items() if end > loop.time()}
            if not self._used:
                continue
            used = [(name, amount, rate) for (name, rate), amount in self._used.items()]
            self._used.clear()
            waits = await self._ask(lambda used=used: self._counts.use(used))  # type: ignore[misc] # bound now
            for (name, _, _), seconds in zip(used, waits or (), strict=False):
                if seconds:
                    self._waits[name] = loop.time() + seconds

    async def _ask(self, question: Callable[[], Awaitable[_Answer]]) -> _Answer | None:
        """Ask the common counters; return None after a timeout, now or in the last seconds."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._alone_until:
            return None
        try:
            async with asyncio.timeout(BOUND):
                answer = await question()
        except (LogError, TimeoutError) as error:
            self._alone_until = loop.time() + ALONE
            if not self._is_alone:
                text = "callers' limits are counted by this process alone until the run log's store answers"
                self._report(
                    Diagnostic(kind="limits not shared", detail=text, cause=cause_of(error))
                )
            self._is_alone = True
            return None
        self._is_alone = False
        return answer


_ANY_NUMBER = 2**31


class SharedRunCount:
    """How many runs a user has, counted for all replicas.

    A session has one run at a time, so sessions are counted. Where another replica takes over the run of a
    session, or interrupts it, both count it for a moment as one.
    """

    def __init__(self, shared: SharedLimits, most: int, refused: Refused) -> None:
        self._shared = shared
        self._most = most
        self._refused = refused
        self._here: Counter[Origin] = Counter()
        self._members: dict[Origin, Member] = {}

    async def enter(self, origin: Origin, *, must: bool = False) -> None:
        """Count a run that is about to start. Raise `TooMany` for one too many, unless it `must`."""
        if not self._most:
            return
        allowed = UsageLimits(open=_ANY_NUMBER if must else self._most)
        name = hashlib.sha256(f"{origin.app}\0{origin.session}".encode()).hexdigest()[:32]
        answer = await self._shared.enter(f"user {origin.user}", "runs", allowed, name)
        if isinstance(answer, LimitCheck):
            self._refused("runs")
            text = (
                f"You already have {self._most} active runs, the limit; wait for one, or stop it."
            )
            raise TooMany(text, AGAIN)
        self._members[origin] = answer
        self._here[origin] += 1

    async def leave(self, origin: Origin) -> None:
        """Count a run that is over no more."""
        if not self._here[origin]:
            del self._here[origin]
            return
        self._here[origin] -= 1
        if not self._here[origin]:
            del self._here[origin]
            await self._shared.leave(self._members.pop(origin))


# ---------------------------------------------------------------------- heavy work
#
# How many large runs are computed at a time: views, films, shared files, messages, threads, comparisons,
# eval cases.
#
# What is computed of a run takes time and memory in proportion to it, and one caller, perhaps with a share
# link, could ask for a large one a hundred times. So of large runs each caller has one at a time and the
# process two; a few requests wait, and any more are refused: 429 to a caller who asks for too much, 503 if
# it is the server that has too much to do, both with `Retry-After`. Small runs, nearly all, are not
# counted.

HEAVY = 1024**2
"""Bytes of runs that are large: below, an answer takes a tenth of a second at most."""
AT_A_TIME = 2
"""In one process: each takes some times its run's size in memory, and they share one interpreter."""
WAITING_OF_CALLER = 4
"""A page asks for the film, the messages and an entry or two of what it opens."""
WAITING = 32
"""Of all callers together: a wait of some ten seconds."""

_LATER = 2.0
"""Seconds after which it is worth asking again."""


class _Own:
    """What one caller is doing."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.count = 0


class HeavyWork:
    """Admits requests that compute something of large runs."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(AT_A_TIME)
        self._by_caller: dict[str, _Own] = {}
        self._count = 0

    @asynccontextmanager
    async def slot(self, caller: Caller, size: int) -> AsyncIterator[None]:
        """Wait until work on so many bytes of runs may begin. Raise `TooMany` or `Busy`."""
        if size < HEAVY:
            yield
            return
        name = account(caller)
        own = self._by_caller.get(name) or _Own()
        if own.count > WAITING_OF_CALLER:
            raise TooMany(
                "Other large runs are being computed for you; ask again when they are done.", _LATER
            )
        if self._count > AT_A_TIME + WAITING:
            raise Busy("The server is computing other large runs; ask again in a moment.")
        self._by_caller[name] = own
        own.count, self._count = own.count + 1, self._count + 1
        try:
            async with own.lock, self._slots:
                yield
        finally:
            own.count, self._count = own.count - 1, self._count - 1
            if not own.count:
                del self._by_caller[name]


# ---------------------------------------------------------------------- middleware

LONGEST_WAIT = 5.0
"""Seconds that one message waits: far less than the time after which a reader counts as stalled."""

Use = Callable[[int], float]
"""Counts bytes; returns for how long the next ones should wait."""

_SENT = {"http.response.body": ("body",), "websocket.send": ("text", "bytes")}
_RECEIVED = {"http.request": ("body",), "websocket.receive": ("text", "bytes")}


@dataclass(eq=False)
class LimitEnforcer:
    """Enforces the limits of callers."""

    limits: CallerLimits
    refused: Refused
    clock: Callable[[], float] = time.monotonic
    shared: SharedLimits | None = None
    """With it, the limits hold for all replicas together."""

    def __post_init__(self) -> None:
        self._accounts = UsageByCaller(self.limits, self.clock, self.refused)

    @asynccontextmanager
    async def counting(
        self, scope: Scope, receive: Receive, send: Send
    ) -> AsyncIterator[tuple[Receive, Send]]:
        """Count a request or socket while the block serves it, with its bytes. Raise `TooMany`."""
        if not any(self.limits):
            yield receive, send
            return
        name = account(of_scope(scope))
        own = self._accounts.of(name)
        with own.open(scope["type"], self.clock()):
            async with self._shared_open(name, scope["type"]):
                if self.limits.bytes:
                    use = self._use(name, own)
                    receive, send = self._received(use, receive), self._sent(use, send)
                yield receive, send

    @asynccontextmanager
    async def _shared_open(self, name: str, kind: Kind) -> AsyncIterator[None]:
        """Count a request or socket for all replicas. Raise `TooMany`."""
        if self.shared is None:
            yield
            return
        answer = await self.shared.enter(name, kind, allowed(self.limits, kind))
        if isinstance(answer, LimitCheck):
            raise too_many(answer, self.limits, kind, self.refused)
        try:
            yield
        finally:
            await self.shared.leave(answer)

    def _use(self, name: str, own: CallerUsage) -> Use:
        def use(amount: int) -> float:
            delay = own.use(amount, self.clock())
            if self.shared is None:
                return delay
            return max(delay, self.shared.use(name, amount, self.limits.bytes))

        return use

    def _sent(self, use: Use, send: Send) -> Send:
        async def send_counted(message: Message) -> None:
            await send(message)
            await self._wait(use(_size(message, _SENT)))

        return send_counted

    def _received(self, use: Use, receive: Receive) -> Receive:
        async def receive_counted() -> Message:
            message = await receive()
            delay = use(_size(message, _RECEIVED))
            if message["type"] == "websocket.receive":
                await self._wait(delay)
            return message

        return receive_counted

    @staticmethod
    async def _wait(delay: float) -> None:
        if delay:
            await asyncio.sleep(min(delay, LONGEST_WAIT))


def _size(message: Message, kinds: dict[str, tuple[str, ...]]) -> int:
    return sum(len(message.get(key) or b"") for key in kinds.get(message["type"], ()))
