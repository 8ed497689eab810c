"""How things are now: asked of the parts of a server whenever somebody wants to know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from adk_prism.server.observability.metrics.family import Labels
from adk_prism.server.observability.metrics.metrics import UNKNOWN, Metrics

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def add_gauges(metrics: Metrics, context: Context) -> None:
    """Have the parts of a server asked."""
    runs, broadcaster, calls = context.runs, context.broadcaster, context.observability.calls
    ask = metrics.ask
    ask("runs_active", "Runs that go on here.", lambda: _single(runs.by_app()), "app")
    ask(
        "runs_abandoned",
        "Runs that ended while their code, which ignores its cancellation, still runs.",
        lambda: {(): float(runs.abandoned)},
    )
    ask(
        "viewers", "Streams of runs that go on.", lambda: _single(broadcaster.viewers()), "protocol"
    )
    ask(
        "viewer_lag_entries",
        "Entries of its run that the viewer furthest behind was not given yet.",
        lambda: _single(broadcaster.lag()),
        "protocol",
    )
    ask(
        "http_open",
        "Requests, streams and sockets (method WS) that are open.",
        lambda: Counter((call.method, call.route or UNKNOWN) for call in calls.open),
        "method",
        "route",
    )
    ask("draining", "Whether the server goes down.", lambda: {(): float(context.draining)})


def _single(numbers: Mapping[str, int]) -> Mapping[Labels, float]:
    return {(name,): number for name, number in numbers.items()}
