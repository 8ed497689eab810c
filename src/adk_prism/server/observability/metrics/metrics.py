"""The metrics of one server.

Labels are apps, protocols, route templates, outcomes, codes and limits: words that the operator or this
program chose. Never a user, a session, a run or an address: those are in the access log.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from prometheus_client import Counter, Histogram, ProcessCollector, generate_latest

from adk_prism.diagnostics import Diagnostic, Report
from adk_prism.runlog.entry import Origin, RunEnded
from adk_prism.server.observability.metrics.registry import (
    BoundedSeries,
    CallbackGauge,
    Labels,
    Registry,
)
from adk_prism.server.observability.request_tracking import TrackedRequest
from adk_prism.version import VERSION

ANSWERS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds to an answer's first byte: what Prometheus's own clients use."""
APPENDS = (0.00001, 0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)
"""Seconds. An append to memory takes microseconds, one that waits for a disk or Redis milliseconds."""
RUNS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)
LAGS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)

UNKNOWN = "-"
"""The route of a request that was refused before it had one, or that has none."""

PREFIX = "adk_prism_"


class Metrics:
    """Counts what happens, and reads gauges from the parts of the server."""

    def __init__(self) -> None:
        self.registry = Registry()
        ProcessCollector(registry=self.registry)
        self.add_gauge(
            "info",
            "This program, and its process.",
            lambda: {(VERSION, str(os.getpid())): 1.0},
            "version",
            "process",
        )
        counter, histogram = self._counter, self._histogram
        self.requests = counter(
            "http_requests_total", "Requests answered, sockets closed.", "method", "route", "status"
        )
        self.first_bytes = BoundedSeries(
            histogram(
                "http_first_byte_seconds",
                "Time to the first byte of a response.",
                ANSWERS,
                "route",
            )
        )
        self.sent = counter("http_sent_bytes_total", "Bytes of bodies and frames sent.", "route")
        self.received = counter(
            "http_received_bytes_total", "Bytes of bodies and frames received.", "route"
        )
        self.cut = counter("streams_cut_total", "Incomplete responses.", "route")
        self.refusals = counter(
            "refusals_total", "Requests beyond a limit of their caller.", "limit"
        )
        self.runs_started = counter(
            "runs_started_total", "Runs that started in this process.", "app"
        )
        self.runs_ended = counter(
            "runs_ended_total",
            "Runs that ended in this process; code: the reason of a failure.",
            "app",
            "outcome",
            "code",
        )
        self.takeovers = counter("takeovers_total", "Runs taken over from dead processes.", "app")
        self.run_time = BoundedSeries(
            histogram("run_duration_seconds", "Duration of runs.", RUNS, "app")
        )
        self.appends = histogram(
            "log_append_seconds", "Time to write a group of entries to the run log.", APPENDS
        )
        self.commits = histogram("log_commit_seconds", "Time until an entry was durable.", APPENDS)
        self.loop_lag = histogram("event_loop_lag_seconds", "How late a timer was.", LAGS)
        self.loop_blocked = Counter(
            f"{PREFIX}event_loop_blocked_total",
            "How often the event loop was blocked for longer than half a lease.",
            registry=self.registry,
        )
        self.diagnostics = counter("diagnostics_total", "Diagnostics by kind.", "kind")

    def _counter(self, name: str, help: str, *labels: str) -> BoundedSeries[Counter]:
        return BoundedSeries(Counter(PREFIX + name, help, labels, registry=self.registry))

    def _histogram(self, name: str, help: str, bounds: Sequence[float], *labels: str) -> Histogram:
        return Histogram(PREFIX + name, help, labels, buckets=bounds, registry=self.registry)

    def add_gauge(
        self, name: str, help: str, read: Callable[[], Mapping[Labels, float]], *labels: str
    ) -> None:
        """Add a gauge whose values are read whenever the metrics are."""
        self.registry.register(CallbackGauge(PREFIX + name, help, read, labels))

    def text(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self.registry)

    # ------------------------------------------------------------------ what updates them

    def counting(self, report: Report) -> Report:
        """Return a report whose diagnostics are counted."""

        def counted(diagnostic: Diagnostic) -> None:
            self.diagnostics.of(diagnostic.kind).inc()
            report(diagnostic)

        return counted

    def call_ended(self, call: TrackedRequest) -> None:
        """Count a request or socket that is over."""
        route = call.route or UNKNOWN
        self.requests.of(call.method, route, str(call.status or UNKNOWN)).inc()
        self.sent.of(route).inc(call.sent)
        self.received.of(route).inc(call.received)
        if call.first_byte is not None:
            self.first_bytes.of(route).observe(call.first_byte)
        if call.is_cut:
            self.cut.of(route).inc()

    def refused(self, limit: str) -> None:
        """Count a refusal."""
        self.refusals.of(limit).inc()

    def run_began(self, origin: Origin, *, taken_over: bool) -> None:
        """Count a run that is recorded here from now on."""
        (self.takeovers if taken_over else self.runs_started).of(origin.app).inc()

    def run_ended(self, origin: Origin, end: RunEnded | None, seconds: float) -> None:
        """Count a run that is no longer recorded here; without an end, another process has it."""
        if end is not None:
            self.runs_ended.of(origin.app, end.outcome, end.code).inc()
            self.run_time.of(origin.app).observe(seconds)
