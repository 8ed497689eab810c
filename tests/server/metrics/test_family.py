"""The text that a Prometheus reads: judged by Prometheus's own parser."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from prometheus_client.parser import text_string_to_metric_families

from adk_prism.server.observability.metrics.family import (
    MOST_SERIES,
    OTHER,
    Counter,
    Family,
    Gauge,
    Histogram,
    render,
)


def samples(families: Sequence[Family]) -> dict[tuple[str, tuple[str, ...]], float]:
    """Parse what is rendered: names with the values of their labels, and numbers."""
    parsed = text_string_to_metric_families(render(families))
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
    counter = Counter("things_total", "Things.\nSecond line \\ too.", ("name",))
    counter.add(value, by=2.5)
    parsed = list(text_string_to_metric_families(render([counter])))
    assert [family.type for family in parsed] == ["counter"]
    ((found, number),) = [(s.labels["name"], s.value) for s in parsed[0].samples]
    assert found == value.encode("utf-8", "replace").decode()
    assert number == 2.5


def test_an_unlabelled_number_is_there_from_the_beginning() -> None:
    """A rate needs the zero before the one."""
    histogram = Histogram("x_seconds", "X.", (0.1,))
    assert samples([Counter("things_total", "Things."), histogram]) == {
        ("things_total", ()): 0,
        ("x_seconds_bucket", ("0.1",)): 0,
        ("x_seconds_bucket", ("+Inf",)): 0,
        ("x_seconds_sum", ()): 0,
        ("x_seconds_count", ()): 0,
    }


def test_buckets_add_up() -> None:
    """Each holds all that is smaller or as large; the last one holds everything."""
    histogram = Histogram("x_seconds", "X.", (0.1, 1, 10), ("app",))
    for value in (0.05, 0.1, 0.2, 5, 50):
        histogram.observe(value, "tour")
    found = samples([histogram])
    buckets = {labels[1]: n for (name, labels), n in found.items() if name.endswith("_bucket")}
    assert buckets == {"0.1": 2, "1": 3, "10": 4, "+Inf": 5}
    assert found["x_seconds_count", ("tour",)] == histogram.count("tour") == 5
    assert math.isclose(found["x_seconds_sum", ("tour",)], 55.35)


def test_a_gauge_is_asked_when_somebody_wants_to_know() -> None:
    """Also for nothing at all."""
    now: dict[tuple[str, ...], float] = {}
    gauge = Gauge("open", "Open.", lambda: now, ("app",))
    assert samples([gauge]) == {}
    now["tour",] = 3
    assert samples([gauge]) == {("open", ("tour",)): 3}


def test_series_are_bounded() -> None:
    """What has too many names is counted together, and nothing is lost."""
    counter = Counter("things_total", "Things.", ("name", "kind"))
    histogram = Histogram("x_seconds", "X.", (1,), ("name",))
    for number in range(3 * MOST_SERIES):
        counter.add(str(number), "k")
        histogram.observe(0.5, str(number))
    found = {k: v for k, v in samples([counter, histogram]).items() if k[0] == "things_total"}
    assert len(found) <= MOST_SERIES + 1
    assert sum(found.values()) == 3 * MOST_SERIES
    assert counter.value(OTHER, OTHER) == histogram.count(OTHER) == 2 * MOST_SERIES
