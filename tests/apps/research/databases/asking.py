"""What the tests of databases share: adapters that talk to a given address, a clock, one search."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import httpx

from adk_prism_apps.research.databases import Database, Limiter, Outcome, Query, RetryPolicy, search
from adk_prism_apps.research.databases.access import Access
from adk_prism_apps.research.databases.arxiv import ACCESS as ARXIV
from adk_prism_apps.research.databases.arxiv import arxiv
from adk_prism_apps.research.databases.crossref import ACCESS as CROSSREF
from adk_prism_apps.research.databases.crossref import acm, crossref, ieee
from adk_prism_apps.research.databases.openalex import ACCESS as OPENALEX
from adk_prism_apps.research.databases.openalex import openalex
from adk_prism_apps.research.databases.pubmed import ACCESS as PUBMED
from adk_prism_apps.research.databases.pubmed import pubmed
from adk_prism_apps.research.databases.semantic_scholar import ACCESS as SEMANTIC_SCHOLAR
from adk_prism_apps.research.databases.semantic_scholar import semantic_scholar

_MADE: Mapping[str, tuple[Access, Callable[[Access], Database]]] = {
    "semantic_scholar": (SEMANTIC_SCHOLAR, semantic_scholar),
    "arxiv": (ARXIV, arxiv),
    "openalex": (OPENALEX, openalex),
    "pubmed": (PUBMED, pubmed),
    "crossref": (CROSSREF, crossref),
    "acm": (CROSSREF, acm),
    "ieee": (CROSSREF, ieee),
}
KEYS = tuple(_MADE)
# Which service's recordings an adapter can be given.
SERVICE = {key: "crossref" if key in ("acm", "ieee") else key for key in KEYS}


def adapter(key: str, url: str = "", environment: Mapping[str, str] | None = None) -> Database:
    """Return a database at an address, with no key but those given."""
    access, make = _MADE[key]
    return make(replace(access, base=url or access.base, environment=environment or {}))


@dataclass
class Clock:
    """Goes forward by what is slept, at once; keeps what was slept."""

    time: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))
        self.time += seconds
        await asyncio.sleep(0)


async def ask(
    database: Database,
    query: Query,
    clock: Clock | None = None,
    policy: RetryPolicy | None = None,
) -> Outcome:
    """Search over real HTTP; waiting costs no time."""
    clock = clock or Clock()
    policy = policy or RetryPolicy(jitter=lambda: 0.0)
    async with httpx.AsyncClient(trust_env=False, verify=False) as client:
        limiter = Limiter(clock)
        return await search(
            database, query, client=client, limiter=limiter, clock=clock, policy=policy
        )
