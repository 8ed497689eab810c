"""Which ended runs are removed: the same decision for every backend.

Knows no storage. A run is removed completely or not at all, and only after its end. A backend remembers the
ids of the runs removed last, so that it can answer *gone* and not *not found*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from adk_prism.runlog.contract import Retention
from adk_prism.runlog.entry import Origin, RunId

MAX_TOMBSTONES = 100_000
"""Ids of removed runs that are remembered, some MB in all. After that many later removals the answer is
*not found*, which is true as well."""


class EndedRun(Struct, frozen=True, gc=False):
    """What the decision needs to know of a run."""

    run: RunId
    ended: float
    bytes: int
    origin: Origin | None = None
    """Where a store needs it to remove the run."""


def runs_to_trim(
    candidates: Iterable[EndedRun], total: int, retention: Retention, now: float
) -> Sequence[RunId]:
    """Return the ended runs to remove, the longest ended first.

    `total` is the size of all runs together, also of those that have not ended.
    """
    chosen = []
    left = math.inf if retention.most_aged is None else retention.most_aged
    for candidate in sorted(candidates, key=lambda run: run.ended):
        too_old = now - candidate.ended > retention.max_age and left > 0
        if not too_old and total <= retention.max_bytes:
            continue
        left -= too_old
        chosen.append(candidate.run)
        total -= candidate.bytes
    return chosen
