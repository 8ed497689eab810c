"""The numbers of one server.

Labels are apps, protocols, route templates, outcomes, codes and limits: words that the operator or this
program chose. Never a user, a session, a run or an address: those are in the access log.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from adk_prism.diagnostics import Diagnostic, Report
from adk_prism.runlog.entry import Origin, RunEnded
from adk_prism.server.observability.metrics import process
from adk_prism.server.observability.metrics.family import (
    Collect,
    Counter,
    Family,
    Gauge,
    Histogram,
    render,
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
"""The route of what was refused before there was one, or has none."""


PREFIX = "adk_prism_"


class Metrics:
    """Counts what happens, and asks the parts of the server how things are."""

    def __init__(self) -> None:
        self._families: list[Family] = [_build(), *process.families()]
        counter, histogram = self._counter, self._histogram
        self.requests = counter(
            "http_requests_total", "Requests answered, sockets closed.", "method", "route", "status"
        )
        self.first_bytes = histogram(
            "http_first_byte_seconds",
            "From a request to the first byte of its answer.",
            ANSWERS,
            "route",
        )
        self.sent = counter("http_sent_bytes_total", "Bytes of bodies and frames sent.", "route")
        self.received = counter("http_received_bytes_total", "The same, received.", "route")
        self.cut = counter("streams_cut_total", "Answers that ended too soon.", "route")
        self.refusals = counter(
            "refusals_total", "Requests beyond a limit of their caller.", "limit"
        )
        self.runs_started = counter("runs_started_total", "Runs that began here.", "app")
        self.runs_ended = counter(
            "runs_ended_total",
            "Runs that ended here; code: why they failed.",
            "app",
            "outcome",
            "code",
        )
        self.takeovers = counter(
            "takeovers_total", "Runs of dead processes that go on here.", "app"
        )
        self.run_time = histogram("run_duration_seconds", "How long runs took here.", RUNS, "app")
        self.appends = histogram("log_append_seconds", "Until the log took an entry.", APPENDS)
        self.commits = histogram("log_commit_seconds", "Until the log had made sure.", APPENDS)
        self.loop_lag = histogram("event_loop_lag_seconds", "How late a timer was.", LAGS)
        self.loop_blocked = counter(
            "event_loop_blocked_total",
            "How often the loop stood still for longer than half a lease.",
        )
        self.diagnostics = counter("diagnostics_total", "What the operator was told of.", "kind")

    def _counter(self, name: str, help: str, *labels: str) -> Counter:
        family = Counter(PREFIX + name, help, labels)
        self._families.append(family)
        return family

    def _histogram(self, name: str, help: str, bounds: Sequence[float], *labels: str) -> Histogram:
        family = Histogram(PREFIX + name, help, bounds, labels)
        self._families.append(family)
        return family

    def ask(self, name: str, help: str, collect: Collect, *labels: str) -> None:
        """Have a number asked for whenever somebody wants to know."""
        self._families.append(Gauge(PREFIX + name, help, collect, labels))

    def text(self) -> str:
        """Return everything as a Prometheus reads it."""
        return render(self._families)

    # ------------------------------------------------------------------ what tells it

    def counting(self, report: Report) -> Report:
        """Return a report whose diagnostics are counted."""

        def counted(diagnostic: Diagnostic) -> None:
            self.diagnostics.add(diagnostic.kind)
            report(diagnostic)

        return counted

    def call_ended(self, call: TrackedRequest) -> None:
        """Take a request or socket that is over."""
        route = call.route or UNKNOWN
        self.requests.add(call.method, route, str(call.status or UNKNOWN))
        self.sent.add(route, by=call.sent)
        self.received.add(route, by=call.received)
        if call.first_byte is not None:
            self.first_bytes.observe(call.first_byte, route)
        if call.is_cut:
            self.cut.add(route)

    def refused(self, limit: str) -> None:
        """Take a refusal."""
        self.refusals.add(limit)

    def run_began(self, origin: Origin, *, taken_over: bool) -> None:
        """Take a run that goes on here from now."""
        (self.takeovers if taken_over else self.runs_started).add(origin.app)

    def run_ended(self, origin: Origin, end: RunEnded | None, seconds: float) -> None:
        """Take a run that does not go on here any more; without an end, somebody else has it."""
        if end is not None:
            self.runs_ended.add(origin.app, end.outcome, end.code)
            self.run_time.observe(seconds, origin.app)


def _build() -> Family:
    labels = (VERSION, str(os.getpid()))
    named = ("version", "process")
    return Gauge(f"{PREFIX}info", "This program, and its process.", lambda: {labels: 1.0}, named)
