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
    add("runs_active", "Active runs.", lambda: _single(runs.by_app()), "app")
    add(
        "runs_abandoned",
        "Ended runs whose code ignores its cancellation and still runs.",
        lambda: {(): float(runs.abandoned)},
    )
    add(
        "viewers",
        "Open streams of active runs.",
        lambda: _single(broadcaster.viewers()),
        "protocol",
    )
    add(
        "viewer_lag_entries",
        "Entries by which the slowest stream is behind its run.",
        lambda: _single(broadcaster.lag()),
        "protocol",
    )
    add(
        "http_open",
        "Open requests, streams and sockets (method WS).",
        lambda: Counter((call.method, call.route or UNKNOWN) for call in requests.open),
        "method",
        "route",
    )
    add("draining", "Whether the server drains.", lambda: {(): float(lifecycle.draining)})


def _single(numbers: Mapping[str, int]) -> Mapping[Labels, float]:
    return {(name,): number for name, number in numbers.items()}
