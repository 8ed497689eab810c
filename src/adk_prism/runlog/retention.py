"""Which ended runs are removed: the same decision for every backend.

Knows no storage. A run is removed completely or not at all, and only after its end. A backend remembers the
ids of the runs removed last, so that it can answer *gone* and not *not found*.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Iterable

from msgspec import Struct

from adk_prism.runlog.contract import Retention, TrimmedRun
from adk_prism.runlog.entry import Origin, RunId

MAX_TOMBSTONES = 100_000
"""Ids of removed runs that are remembered, some MB in all. After that many later removals the answer is
*not found*, which is true as well."""


class EndedRun(Struct, frozen=True, gc=False):
    """What the decision needs to know of a run."""

    run: RunId
    ended: float
    """By this server's clock: what a client says about its runs does not count."""
    bytes: int
    origin: Origin

    @property
    def owner(self) -> str:
        return self.origin.user


def runs_to_trim(
    candidates: Iterable[EndedRun], total: int, retention: Retention, now: float
) -> list[TrimmedRun]:
    """Return the ended runs to remove: those that are too old, the longest ended first; then, for their size,
    always the longest ended of the user who has most.

    So one user's runs never push out those of another who has less. `total` is the size of all runs together,
    also of those that have not ended.
    """
    runs = sorted(candidates, key=lambda run: run.ended)
    left = math.inf if retention.most_aged is None else retention.most_aged
    chosen: list[TrimmedRun] = []
    kept: dict[str, deque[EndedRun]] = {}
    for run in runs:
        if now - run.ended > retention.max_age and left > 0:
            left -= 1
            total -= run.bytes
            chosen.append(TrimmedRun(run.run, run.origin, run.bytes, "age"))
        else:
            kept.setdefault(run.owner, deque()).append(run)
    return chosen + _for_their_size(kept, total - retention.max_bytes)


def _for_their_size(kept: dict[str, deque[EndedRun]], excess: float) -> list[TrimmedRun]:
    """Return the runs whose removal frees so many bytes."""
    if excess <= 0:
        return []
    # Who has equally much goes by who ended a run first.
    sizes = [
        (-sum(run.bytes for run in runs), runs[0].ended, owner) for owner, runs in kept.items()
    ]
    heapq.heapify(sizes)
    chosen: list[TrimmedRun] = []
    while excess > 0 and sizes:
        size, _, owner = heapq.heappop(sizes)
        run = kept[owner].popleft()
        excess -= run.bytes
        chosen.append(TrimmedRun(run.run, run.origin, run.bytes, "size"))
        if kept[owner]:
            heapq.heappush(sizes, (size + run.bytes, kept[owner][0].ended, owner))
    return chosen
