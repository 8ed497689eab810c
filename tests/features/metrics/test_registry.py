"""The text that a Prometheus reads: judged by Prometheus's own parser."""

from __future__ import annotations

import pytest
from prometheus_client import Counter, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from adk_prism.features.metrics.metrics import (
    MAX_SERIES,
    OTHER,
    BoundedSeries,
    CallbackGauge,
    Registry,
)


def samples(registry: Registry) -> dict[tuple[str, tuple[str, ...]], float]:
    """Parse the exposition: names with the values of their labels, and numbers."""
    parsed = text_string_to_metric_families(generate_latest(registry).decode())
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in parsed
        for sample in family.samples
    }


@pytest.mark.parametrize(
    "value", ['"quoted"', "back\\slash", "two\nlines", "a,b={c}", "Ünïcode \u2028", "\udc80half"]
)
def test_any_label_survives(value: str) -> None:
    """Whatever an app or an error is called: one series, and its own name back."""
    registry = Registry()
    counter = BoundedSeries(Counter("things_total", "Things.", ("name",), registry=registry))
    counter.of(value).inc(2.5)
    counter.of(value).inc()
    shown = value.encode("utf-8", "replace").decode()
    assert samples(registry) == {("things_total", (shown,)): 3.5}


def test_an_unlabelled_number_is_there_from_the_beginning() -> None:
    """A rate needs the zero before the one. Nothing else is there, such as when a counter was made."""
    registry = Registry()
    Counter("things_total", "Things.", registry=registry)
    Histogram("x_seconds", "X.", buckets=(0.1,), registry=registry)
    assert samples(registry) == {
        ("things_total", ()): 0,
        ("x_seconds_bucket", ("0.1",)): 0,
        ("x_seconds_bucket", ("+Inf",)): 0,
        ("x_seconds_sum", ()): 0,
        ("x_seconds_count", ()): 0,
    }


def test_a_gauge_is_read_when_the_metrics_are() -> None:
    """Not when it is registered; and it may have no value at all."""
    registry, reads = Registry(), 0
    now: dict[tuple[str, ...], float] = {}

    def read() -> dict[tuple[str, ...], float]:
        nonlocal reads
        reads += 1
        return now

    registry.register(CallbackGauge("open", "Open.", read, ("app",)))
    assert reads == 0
    assert samples(registry) == {}
    now["tour",] = 3
    assert samples(registry) == {("open", ("tour",)): 3}


def test_series_are_bounded() -> None:
    """What has too many names is counted together, and nothing is lost."""
    registry = Registry()
    counter = BoundedSeries(Counter("things_total", "Things.", ("name", "kind"), registry=registry))
    histogram = BoundedSeries(
        Histogram("x_seconds", "X.", ("name",), buckets=(1,), registry=registry)
    )
    for number in range(3 * MAX_SERIES):
        counter.of(str(number), "k").inc()
        histogram.of(str(number)).observe(0.5)
    found = samples(registry)
    counted = {k: v for k, v in found.items() if k[0] == "things_total"}
    assert len(counted) == MAX_SERIES + 1
    assert sum(counted.values()) == 3 * MAX_SERIES
    assert counted["things_total", (OTHER, OTHER)] == 2 * MAX_SERIES
    assert found["x_seconds_count", (OTHER,)] == 2 * MAX_SERIES
