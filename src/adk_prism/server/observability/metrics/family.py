"""Families of numbers, and the text in which a Prometheus reads them.

Follows the text exposition format 0.0.4: base units, `_total` on what only grows, `le` buckets that add up.
The number of series of a family is bounded whatever its labels are given; what comes after is counted
together, under `other`. Nothing here is locked: it belongs to one event loop.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

MOST_SERIES = 500
"""Of one family. A server has some dozens of routes, apps and codes; what has more is no label."""

OTHER = "other"

Labels = tuple[str, ...]
Kind = Literal["counter", "gauge", "histogram"]
Collect = Callable[[], Mapping[Labels, float]]


class About(NamedTuple):
    """What a family is."""

    name: str
    help: str
    kind: Kind
    labels: tuple[str, ...] = ()


class Family(Protocol):
    """Numbers of one name."""

    about: About

    def lines(self) -> Iterator[str]: ...


class Counter:
    """Only grows."""

    def __init__(self, name: str, help: str, labels: tuple[str, ...] = ()) -> None:
        self.about = About(name, help, "counter", labels)
        self._values: dict[Labels, float] = {} if labels else {(): 0.0}

    def add(self, *labels: str, by: float = 1.0) -> None:
        """Count."""
        key = labels if labels in self._values else _bounded(labels, self._values)
        self._values[key] = self._values.get(key, 0.0) + by

    def value(self, *labels: str) -> float:
        """Return a number."""
        return self._values.get(labels, 0.0)

    def lines(self) -> Iterator[str]:
        return _lines(self.about, self._values)


class Gauge:
    """Is asked when somebody wants to know."""

    def __init__(
        self, name: str, help: str, collect: Collect, labels: tuple[str, ...] = ()
    ) -> None:
        self.about = About(name, help, "gauge", labels)
        self._collect = collect

    def lines(self) -> Iterator[str]:
        return _lines(self.about, self._collect())


class Reading:
    """A counter that somebody else keeps, such as the operating system."""

    def __init__(
        self, name: str, help: str, collect: Collect, labels: tuple[str, ...] = ()
    ) -> None:
        self.about = About(name, help, "counter", labels)
        self._collect = collect

    def lines(self) -> Iterator[str]:
        return _lines(self.about, self._collect())


class _Buckets:
    __slots__ = ("counts", "total")

    def __init__(self, size: int) -> None:
        self.counts = [0] * size
        self.total = 0.0


class Histogram:
    """How often a value was how large."""

    def __init__(
        self, name: str, help: str, bounds: Sequence[float], labels: tuple[str, ...] = ()
    ) -> None:
        """`bounds`: the upper ends of the buckets, rising; one without an end comes after them."""
        self.about = About(name, help, "histogram", labels)
        self._bounds = tuple(bounds)
        self._values: dict[Labels, _Buckets] = {} if labels else {(): self._empty()}

    def _empty(self) -> _Buckets:
        return _Buckets(len(self._bounds) + 1)

    def observe(self, value: float, *labels: str) -> None:
        """Take a value."""
        key = labels if labels in self._values else _bounded(labels, self._values)
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = self._empty()
        found.counts[bisect_left(self._bounds, value)] += 1
        found.total += value

    def count(self, *labels: str) -> int:
        """Return how many values there were."""
        found = self._values.get(labels)
        return sum(found.counts) if found is not None else 0

    def lines(self) -> Iterator[str]:
        name, names = self.about.name, self.about.labels
        ends = [*map(_number, self._bounds), "+Inf"]
        for labels, found in self._values.items():
            seen = 0
            for end, count in zip(ends, found.counts, strict=True):
                seen += count
                yield f"{name}_bucket{_shown((*names, 'le'), (*labels, end))} {seen}"
            yield f"{name}_sum{_shown(names, labels)} {_number(found.total)}"
            yield f"{name}_count{_shown(names, labels)} {seen}"


def render(families: Sequence[Family]) -> str:
    """Write families down."""
    return "".join(f"{line}\n" for family in families for line in _written(family))


def _written(family: Family) -> Iterator[str]:
    about = family.about
    yield f"# HELP {about.name} {_escaped(about.help)}"
    yield f"# TYPE {about.name} {about.kind}"
    yield from family.lines()


def _bounded(labels: Labels, known: Mapping[Labels, object]) -> Labels:
    """Return the labels under which something is counted that has no series yet."""
    return labels if len(known) < MOST_SERIES else (OTHER,) * len(labels)


def _lines(about: About, values: Mapping[Labels, float]) -> Iterator[str]:
    for labels, value in values.items():
        yield f"{about.name}{_shown(about.labels, labels)} {_number(value)}"


def _shown(names: Sequence[str], values: Sequence[str]) -> str:
    pairs = [
        f'{name}="{_quoted(value)}"' for name, value in zip(names, values, strict=True) if value
    ]
    # A label that is empty is one that is not there.
    return f"{{{','.join(pairs)}}}" if pairs else ""


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _quoted(text: str) -> str:
    # Half a surrogate pair cannot be sent as UTF-8.
    return _escaped(text).replace('"', r"\"").encode("utf-8", "replace").decode()


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
