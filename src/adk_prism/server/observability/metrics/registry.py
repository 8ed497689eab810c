"""A registry of prometheus_client for one server, and metrics whose number of series is bounded.

Each server has a registry of its own, so two servers in one process share nothing. `_created` samples are
left out: the text format 0.0.4 would show each of them as a metric of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import Collector

MAX_SERIES = 500
"""Series of one metric. A server has some dozens of routes, apps and codes; what has more is not a label."""

OTHER = "other"
"""The value of every label of the series that counts whatever exceeds `MAX_SERIES`."""

Labels = tuple[str, ...]
_Metric = TypeVar("_Metric", bound=MetricWrapperBase)


class Registry(CollectorRegistry):
    """A registry without `_created` samples."""

    def collect(self) -> Iterator[Metric]:
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


class CallbackGauge(Collector):
    """A gauge whose values are read when the metrics are collected."""

    def __init__(
        self,
        name: str,
        help: str,
        read: Callable[[], Mapping[Labels, float]],
        labels: Sequence[str] = (),
    ) -> None:
        self._name = name
        self._help = help
        self._read = read
        self._labels = labels

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(self._name, self._help, labels=self._labels)
        for labels, value in self._read().items():
            family.add_metric(labels, value)
        yield family

    def describe(self) -> Iterator[Metric]:
        """Return the name only, so that registering reads nothing."""
        yield GaugeMetricFamily(self._name, self._help, labels=self._labels)
