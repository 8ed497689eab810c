"""The metrics of one server.

Labels are apps, protocols, route templates, outcomes, codes and limits: words that the operator or this
program chose. Never a user, a session, a run or an address: those are in the access log.
"""

from __future__ import annotations

import asyncio
import collections
import os
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import prometheus_client as prometheus
from fastapi import APIRouter, Response
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import Collector

from adk_prism.errors import Diagnostic, Report
from adk_prism.log.entry import Origin, RunEnded
from adk_prism.log.private_files import cancel_task
from adk_prism.server.context import Context
from adk_prism.server.identity.identity import Administrator
from adk_prism.server.observability import Meter
from adk_prism.server.request_tracking import TrackedRequest
from adk_prism.version import VERSION

# ---------------------------------------------------------------------- registry
#
# A registry of prometheus_client for one server, and metrics whose number of series is bounded.
#
# Each server has a registry of its own, so two servers in one process share nothing. `_created` samples are
# left out: the text format 0.0.4 would show each of them as a metric of its own.

MAX_SERIES = 500
"""Series of one metric. A server has some dozens of routes, apps and codes; what has more is not a label."""

OTHER = "other"
"""The value of every label of the series that counts whatever exceeds `MAX_SERIES`."""

Labels = tuple[str, ...]
_Metric = TypeVar("_Metric", bound=MetricWrapperBase)


class Registry(prometheus.CollectorRegistry):
    """A registry without `_created` samples."""

    def collect(self) -> Iterator[prometheus.Metric]:
        for family in super().collect():
            family.samples = [s for s in family.samples if not s.name.endswith("_created")]
            yield family


class BoundedSeries(Generic[_Metric]):
    """A metric with labels that has at most `MAX_SERIES` series, and one more for the rest."""

    def __init__(self, metric: _Metric) -> None:
        self._metric = metric
        self._series: dict[Labels, _Metric] = {}

    def of(self, *labels: str) -> _Metric:
        """Return the series with these label values."""
        found = self._series.get(labels)
        return self._new(labels) if found is None else found

    def _new(self, labels: Labels) -> _Metric:
        if len(self._series) >= MAX_SERIES:
            return self._metric.labels(*(OTHER for _ in labels))
        # A lone surrogate, such as an app's folder may have in its name, cannot be sent as UTF-8.
        encodable = (label.encode("utf-8", "replace").decode() for label in labels)
        found = self._series[labels] = self._metric.labels(*encodable)
        return found


@dataclass(eq=False)
class CallbackGauge(Collector):
    """A gauge whose values are read when the metrics are collected."""

    name: str
    help: str
    read: Callable[[], Mapping[Labels, float]]
    labels: Sequence[str] = ()

    def collect(self) -> Iterator[prometheus.Metric]:
        family = GaugeMetricFamily(self.name, self.help, labels=self.labels)
        for labels, value in self.read().items():
            family.add_metric(labels, value)
        yield family

    def describe(self) -> Iterator[prometheus.Metric]:
        """Return the name only, so that registering reads nothing."""
        yield GaugeMetricFamily(self.name, self.help, labels=self.labels)


# ---------------------------------------------------------------------- metrics
#
# The metrics of one server.
#
# Labels are apps, protocols, route templates, outcomes, codes and limits: words that the operator or this
# program chose. Never a user, a session, a run or an address: those are in the access log.

ANSWERS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds to an answer's first byte: what Prometheus's own clients use."""
APPENDS = (0.00001, 0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)
"""Seconds. An append to memory takes microseconds, one that waits for a disk or Redis milliseconds."""
RUNS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)
LAGS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)

UNKNOWN = "-"
"""The route of a request that was refused before it had one, or that has none."""

PREFIX = "adk_prism_"

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Of Prometheus's text format."""


class Metrics(Meter):
    """Counts what happens, and reads gauges from the parts of the server."""

    def __init__(self) -> None:
        self.registry = Registry()
        prometheus.ProcessCollector(registry=self.registry)
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
        first_bytes = "Time to the first byte of a response."
        self.first_bytes = BoundedSeries(
            histogram("http_first_byte_seconds", first_bytes, ANSWERS, "route")
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
        self.loop_blocked = prometheus.Counter(
            f"{PREFIX}event_loop_blocked_total",
            "How often the event loop was blocked for longer than half a lease.",
            registry=self.registry,
        )
        self.diagnostics = counter("diagnostics_total", "Diagnostics by kind.", "kind")

    def _counter(self, name: str, help: str, *labels: str) -> BoundedSeries[prometheus.Counter]:
        return BoundedSeries(
            prometheus.Counter(PREFIX + name, help, labels, registry=self.registry)
        )

    def _histogram(
        self, name: str, help: str, bounds: Sequence[float], *labels: str
    ) -> prometheus.Histogram:
        return prometheus.Histogram(
            PREFIX + name, help, labels, buckets=bounds, registry=self.registry
        )

    def add_gauge(
        self, name: str, help: str, read: Callable[[], Mapping[Labels, float]], *labels: str
    ) -> None:
        """Add a gauge whose values are read whenever the metrics are."""
        self.registry.register(CallbackGauge(PREFIX + name, help, read, labels))

    def text(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return prometheus.generate_latest(self.registry)

    # ------------------------------------------------------------------ what updates them

    def reported(self, diagnostic: Diagnostic) -> None:
        """Count a diagnostic."""
        self.diagnostics.of(diagnostic.kind).inc()

    def appended(self, seconds: float) -> None:
        """Note how long it took to write a group of entries."""
        self.appends.observe(seconds)

    def committed(self, seconds: float) -> None:
        """Note after how long an entry was durable."""
        self.commits.observe(seconds)

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


# ---------------------------------------------------------------------- gauges
#
# The gauges of a server: read from its parts whenever the metrics are.


def routes(context: Context) -> APIRouter:
    """Return the router of the metrics; measure the event loop while the server runs."""
    metrics, settings = context.observability.meter, context.settings
    assert isinstance(metrics, Metrics), "the meter of the feature"
    _add_gauges(metrics, context)
    limit = settings.lease / 2 if settings.has_shared_log else BLOCKED
    context.lifecycle.hold(
        lambda: measuring(metrics.loop_lag, metrics.loop_blocked, context.report, limit)
    )
    router = APIRouter(tags=["operating"], dependencies=[Administrator])

    @router.get("/metrics", response_class=Response)
    async def show_metrics() -> Response:
        """Return the metrics in Prometheus's text format."""
        return Response(metrics.text(), headers={"content-type": MEDIA_TYPE})

    return router


def _add_gauges(metrics: Metrics, context: Context) -> None:
    add, runs, broadcaster = metrics.add_gauge, context.runs, context.streams.broadcaster
    requests, lifecycle = context.observability.calls, context.lifecycle
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
        lambda: collections.Counter((call.method, call.route or UNKNOWN) for call in requests.open),
        "method",
        "route",
    )
    add("draining", "Whether the server drains.", lambda: {(): float(lifecycle.draining)})


def _single(numbers: Mapping[str, int]) -> Mapping[Labels, float]:
    return {(name,): number for name, number in numbers.items()}


# ---------------------------------------------------------------------- delays of the event loop
#
# Event loop lag: how late a timer fires, and with it everything else.
#
# A thread checks that the loop still runs. A loop that is blocked for too long is reported at once, with
# the stack of what blocks it: usually a synchronous callback of an agent, or a synchronous tool where tools
# have no threads.

INTERVAL = 0.5
"""Seconds between two measurements: the next one finds whatever blocks for as long."""

BLOCKED = 5.0
"""Seconds for which the loop may be blocked before it is reported, unless half a lease is shorter."""

LOOKS = 4
"""Checks of the thread within the time after which a loop counts as blocked."""


@asynccontextmanager
async def measuring(
    lag: prometheus.Histogram, blocked: prometheus.Counter, report: Report, limit: float = BLOCKED
) -> AsyncIterator[None]:
    """Measure inside the `async with` block; a lag above `limit` seconds is counted and reported."""
    watch = _Watch(report, limit)
    task = asyncio.create_task(_measure(lag, blocked, watch), name="adk-prism event loop lag")
    watch.start()
    try:
        yield
    finally:
        watch.stop()
        await cancel_task(task)


async def _measure(lag: prometheus.Histogram, blocked: prometheus.Counter, watch: _Watch) -> None:
    loop = asyncio.get_running_loop()
    while True:
        watch.turned()
        due = loop.time() + INTERVAL
        await asyncio.sleep(INTERVAL)
        late = max(0.0, loop.time() - due)
        lag.observe(late)
        if late > watch.limit:
            blocked.inc()


class _Watch:
    """Checks from a thread that a loop runs."""

    def __init__(self, report: Report, limit: float) -> None:
        self._report = report
        self.limit = limit
        self._loop_thread = threading.get_ident()
        self._turned = time.monotonic()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look, name="adk-prism loop", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def turned(self) -> None:
        """Note that the loop runs."""
        self._turned = time.monotonic()

    def _look(self) -> None:
        reported = 0.0
        while not self._stopped.wait(self.limit / LOOKS):
            turned = self._turned
            if turned != reported and time.monotonic() - turned - INTERVAL > self.limit:
                reported = turned
                self._report_block()

    def _report_block(self) -> None:
        frame = sys._current_frames().get(self._loop_thread)
        self._report(
            Diagnostic(
                kind="event loop blocked",
                detail=f"Nothing was served for more than {self.limit:g} s.",
                cause="".join(traceback.format_stack(frame)).rstrip() if frame else "",
            )
        )
