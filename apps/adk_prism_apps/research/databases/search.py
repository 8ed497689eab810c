"""One search: requests page after page, with retries, until there are enough papers.

Whatever happens, the answer is an `Outcome`: an error is in it as a `ServiceError`, beside the papers
that had come by then. Only cancellation is raised.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx

from .clock import Clock, SystemClock
from .curl import as_curl
from .database import AnyDatabase, BadAnswer, Database, LocalDatabase, Page
from .errors import ServiceError
from .fetch import fetch
from .limiter import Limiter
from .outcome import Outcome
from .paper import Paper, distinct
from .query import Query, lint
from .syntax import holds, parse


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long and how often. Waits that a service asks for are kept up to `longest_wait`."""

    pages: int = 10
    tries: int = 3
    timeout: float = 20.0
    budget: float = 90.0
    longest_wait: float = 60.0
    first_backoff: float = 1.0
    jitter: Callable[[], float] = random.random


async def search(
    database: AnyDatabase,
    query: Query,
    *,
    client: httpx.AsyncClient,
    limiter: Limiter,
    clock: Clock | None = None,
    policy: RetryPolicy | None = None,
) -> Outcome:
    """Search a database; a faulty query is not sent but answered with its faults."""
    time = clock or SystemClock()
    if faults := lint(query):
        detail = " ".join(fault.detail for fault in faults)
        error = ServiceError("malformed_query", f"lint.{faults[0].rule}", detail)
        return Outcome(error=error, mode=database.mode)
    began = time.now()
    if isinstance(database, LocalDatabase):
        gathered = _Gathered(query, page_count=1)
        gathered.take(database.find(query))
        return gathered.outcome(database, time.now() - began)
    gathered = _Gathered(query, warnings=dict.fromkeys(database.cannot(query)))
    session = _Session(database, client, limiter, time, policy or RetryPolicy(), began)
    await session.run(gathered)
    return gathered.outcome(database, time.now() - began)


@dataclass(slots=True)
class _Gathered:
    """What has come so far."""

    query: Query
    page_count: int = 0
    requests: int = 0
    papers: tuple[Paper, ...] = ()
    total: int | None = None
    repeated: int = 0
    left_out: int = 0
    unreadable: int = 0
    more: bool = False
    warnings: dict[str, None] = field(default_factory=dict)
    error: ServiceError | None = None
    curl: str = ""

    def take(self, page: Page) -> None:
        """Add a page. Papers of a service that counts loosely are checked against the query."""
        found = page.papers
        if page.counts_loosely:
            tree = parse(self.query.text)
            found = tuple(paper for paper in found if holds(tree, _searched(paper)))
            self.left_out += len(page.papers) - len(found)
        elif page.total is not None:
            self.total = page.total if self.total is None else max(self.total, page.total)
        merged = distinct((*self.papers, *found))
        self.repeated += len(self.papers) + len(found) - len(merged)
        self.unreadable += page.unreadable
        self.more = bool(page.next) or len(merged) > self.query.limit
        self.papers = merged[: self.query.limit]
        self.warnings.update(dict.fromkeys(page.warnings))

    @property
    def enough(self) -> bool:
        return len(self.papers) >= self.query.limit

    def outcome(self, database: AnyDatabase, seconds: float) -> Outcome:
        """Return what came, with what has to be said about it."""
        if self.left_out:
            self._warn(f"{self.left_out} records had only some of the words and were left out")
        if self.repeated:
            self._warn(f"{self.repeated} records came more than once")
        if self.unreadable:
            self._warn(f"{self.unreadable} records without a title were left out")
        return Outcome(
            papers=self.papers,
            total=self.total,
            pages=self.page_count,
            requests=self.requests,
            duration_ms=round(seconds * 1000),
            warnings=tuple(self.warnings),
            error=self.error,
            mode=database.mode,
            curl=self.curl,
            repeated=self.repeated,
            truncated=self.more or (self.total or 0) > len(self.papers) + self.repeated,
        )

    def _warn(self, text: str) -> None:
        self.warnings[text] = None


def _searched(paper: Paper) -> str:
    return f"{paper.title} {paper.venue} {paper.abstract}"


@dataclass(slots=True)
class _Session:
    """The pages of one search."""

    database: Database
    client: httpx.AsyncClient
    limiter: Limiter
    clock: Clock
    policy: RetryPolicy
    began: float

    async def run(self, gathered: _Gathered) -> None:
        token = ""
        for _ in range(self.policy.pages):
            page = await self._page(gathered, token)
            if page is None:
                return
            before = len(gathered.papers)
            gathered.take(page)
            gathered.page_count += bool(page.papers) or not page.next
            # Where papers come ranked by any word, a page without a match is followed by worse ones.
            spent = page.counts_loosely and len(gathered.papers) == before
            if not page.next or gathered.enough or spent:
                return
            token = page.next
        gathered.warnings[f"stopped after {self.policy.pages} requests of pages"] = None

    def _left(self) -> float:
        """Return the seconds that the search may still take."""
        return self.policy.budget - (self.clock.now() - self.began)

    async def _page(self, gathered: _Gathered, token: str) -> Page | None:
        """Request one page, with retries; return None and store the error if all fail."""
        request = self.database.build_request(gathered.query, token)
        gathered.curl = gathered.curl or as_curl(request)
        for attempt in range(self.policy.tries):
            page, error = await self._once(gathered, request)
            gathered.error = error
            if error is None:
                return page
            wait = self._wait(error, attempt)
            if wait is None or attempt + 1 == self.policy.tries or wait > self._left():
                return None
            self.limiter.hold(self.database.host, wait)
        return None

    async def _once(
        self, gathered: _Gathered, request: httpx.Request
    ) -> tuple[Page | None, ServiceError | None]:
        host, rate_limit = self.database.host, self.database.rate_limit
        if self.limiter.wait(host) > self._left():
            detail = f"{host} wants to be left alone for longer than the search may take"
            return None, ServiceError("rate_limited", "local.pace", detail)
        async with self.limiter.turn(host, rate_limit):
            gathered.requests += 1
            # The wait for the turn may have used the time up; then this ends as a timeout.
            answer = await fetch(
                self.client, request, max(0.0, min(self.policy.timeout, self._left()))
            )
        error = self.database.classify(answer)
        if error is not None or isinstance(answer, Exception):
            return None, error
        try:
            return self.database.parse(answer), None
        except BadAnswer as problem:
            return None, ServiceError(
                "service_error", "body.shape", str(problem), answer.status_code
            )

    def _wait(self, error: ServiceError, attempt: int) -> float | None:
        """Return the seconds until the next try; None if a retry cannot help."""
        if not error.passing:
            return None
        if error.retry_after is not None:
            asked = error.retry_after
            return asked if asked <= self.policy.longest_wait else None
        backoff = self.policy.first_backoff * 2.0**attempt
        return float(min(self.policy.longest_wait, backoff * (1 + self.policy.jitter())))
