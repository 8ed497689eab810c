"""The gauges of a server: read from its parts whenever the metrics are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from adk_prism.pipeline.broadcast import Broadcaster
from adk_prism.pipeline.runs import Runs
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.observability.metrics.metrics import UNKNOWN, Metrics
from adk_prism.server.observability.metrics.registry import Labels
from adk_prism.server.observability.request_tracking import RequestTracker


def add_gauges(
    metrics: Metrics,
    runs: Runs,
    broadcaster: Broadcaster,
    requests: RequestTracker,
    lifecycle: Lifecycle,
) -> None:
    """Add the gauges that are read from the parts of a server."""
    add = metrics.add_gauge
    add("runs_active", "Runs that go on here.", lambda: _single(runs.by_app()), "app")
    add(
        "runs_abandoned",
        "Runs that ended while their code, which ignores its cancellation, still runs.",
        lambda: {(): float(runs.abandoned)},
    )
    add(
        "viewers", "Streams of runs that go on.", lambda: _single(broadcaster.viewers()), "protocol"
    )
    add(
        "viewer_lag_entries",
        "Entries of its run that the viewer furthest behind was not given yet.",
        lambda: _single(broadcaster.lag()),
        "protocol",
    )
    add(
        "http_open",
        "Requests, streams and sockets (method WS) that are open.",
        lambda: Counter((call.method, call.route or UNKNOWN) for call in requests.open),
        "method",
        "route",
    )
    add("draining", "Whether the server goes down.", lambda: {(): float(lifecycle.draining)})


def _single(numbers: Mapping[str, int]) -> Mapping[Labels, float]:
    return {(name,): number for name, number in numbers.items()}
