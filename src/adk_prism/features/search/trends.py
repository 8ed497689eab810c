"""What runs took over time: their number, failures, durations, tokens and costs in equal spans of time.

Pure: counted from digests that a search found, so that it is the same on every log.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from adk_prism.features.search.digest import NAME_KINDS, FoundRun, Price
from adk_prism.features.usage.usage import total_cost

MOST_MEASURED = 2000
"""Runs that are counted, as many as Redis keeps for a search: a tenth to a fifth of a second from SQLite."""

MOST_POINTS = 48
"""Spans of time: what a chart on a phone has room for."""

MOST_NAMES = 50
"""Of each kind, the most frequent ones first."""

_STEPS = (60, 300, 900, 3600, 10_800, 21_600, 86_400, 604_800)
"""Seconds that a span of time may have: from a minute to a week, then whole weeks."""

_FAILED = ("failed", "incomplete")

Json = dict[str, Any]


def trends(found: Sequence[FoundRun], price: Price, has_prices: bool) -> Json:
    """Return the spans of time from the first run to the last one, the sum of all, and the names of all."""
    starts = [each.summary.started for each in found]
    step = _step(max(starts) - min(starts)) if starts else 0
    spans: dict[int, list[FoundRun]] = {}
    for each in found:
        spans.setdefault(int(each.summary.started // step), []).append(each)
    numbers = range(min(spans), max(spans) + 1) if spans else range(0)
    costs = price if has_prices else None
    return {
        "step": step,
        "points": [
            {"at": number * step} | _measured(spans.get(number, ()), costs) for number in numbers
        ],
        "total": _measured(found, costs),
        "names": _names(found),
    }


def _step(seconds: float) -> int:
    """Return the shortest step with which a span of time has at most `MOST_POINTS` points."""
    least = seconds / (MOST_POINTS - 1)
    weeks = math.ceil(least / _STEPS[-1]) * _STEPS[-1]
    return next((step for step in _STEPS if step >= least), weeks)


def _measured(runs: Sequence[FoundRun], price: Price | None) -> Json:
    durations = sorted(each.digest.duration for each in runs)
    shown: Json = {
        "runs": len(runs),
        "failed": sum(each.summary.outcome in _FAILED for each in runs),
        "tokens": sum(each.digest.tokens for each in runs),
        "median": _percentile(durations, 0.5),
        "p95": _percentile(durations, 0.95),
    }
    if price is not None:
        costs = [price(each.digest.used) for each in runs]
        known = [cost for cost in costs if cost is not None]
        shown["cost"] = total_cost(known) if known or not runs else None
        shown["unpriced"] = len(costs) - len(known)
    return shown


def _percentile(ordered: Sequence[float], share: float) -> float | None:
    """Return the least value that so large a share of all does not exceed; None of none."""
    return ordered[math.ceil(share * len(ordered)) - 1] if ordered else None


def _names(found: Iterable[FoundRun]) -> Mapping[str, list[tuple[str, int]]]:
    """Return the names by which runs can be found, with how many have each."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in ("app", *NAME_KINDS)}
    for each in found:
        counts["app"][each.summary.origin.app] += 1
        for kind, names in each.digest.names.items():
            counts[kind].update(names)
    return {kind: count.most_common(MOST_NAMES) for kind, count in counts.items()}
