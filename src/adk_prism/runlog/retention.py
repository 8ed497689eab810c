"""Which ended runs are no longer kept: the one decision that every backend makes alike.

Knows no storage. A run goes whole or not at all, and only once it has ended. Of the runs that went,
a backend remembers the names of the latest, so that it can say *gone* and not *never heard of it*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from adk_prism.runlog.contract import Retention
from adk_prism.runlog.entry import Origin, RunId

MAX_TOMBSTONES = 100_000
"""Names of removed runs that are remembered, some MB in all. A client that asks after that many
later removals is told that there is no such run, which is as true."""


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
