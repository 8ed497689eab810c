"""The geometry of a perimeter: rings of GeoJSON, their area on the earth, and what is wrong.

Area: the line integral of Chamberlain and Duquette (2007) on a sphere of the earth's surface
(radius 6,371,007.2 m); one acre is 4,046.8564224 m². Positions are longitude, latitude (RFC 7946).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

_EARTH_M = 6_371_007.2
_ACRE_M2 = 4_046.8564224
# A closed ring has at least three corners and ends where it began.
_FEWEST_POSITIONS = 4
# Real outlines cross-check in a few comparisons per edge; beyond this the check is given up.
MOST_COMPARISONS = 2_000_000

Point = tuple[float, float]
Ring = tuple[Point, ...]
Edge = tuple[Point, Point]


@dataclass(frozen=True, slots=True)
class Polygon:
    """An outer ring and its holes."""

    outer: Ring
    holes: tuple[Ring, ...] = ()

    @property
    def rings(self) -> tuple[Ring, ...]:
        return (self.outer, *self.holes)


class TooIntricate(Exception):
    """The search for crossings would take too long."""


def acres(polygons: Sequence[Polygon]) -> float:
    """Return the area of all polygons without their holes."""
    return sum(_acres(p.outer) - sum(_acres(hole) for hole in p.holes) for p in polygons)


def is_closed(ring: Ring) -> bool:
    """Tell whether the ring has enough corners and ends where it began."""
    return len(ring) >= _FEWEST_POSITIONS and ring[0] == ring[-1]


def on_earth(ring: Ring) -> bool:
    """Tell whether every position is a longitude and a latitude."""
    return all(-180 <= x <= 180 and -90 <= y <= 90 for x, y in ring)


def contains(polygons: Sequence[Polygon], point: Point) -> bool:
    """Tell whether the point lies in a polygon and in none of its holes (even-odd rule)."""
    crossings = (_inside(ring, point) for polygon in polygons for ring in polygon.rings)
    return sum(crossings) % 2 == 1


def crosses_itself(ring: Ring) -> bool:
    """Tell whether two edges that are not neighbours meet; raise `TooIntricate` if it takes long.

    Edges are compared only while their extents in longitude overlap.
    """
    edges = sorted(enumerate(pairwise(ring)), key=lambda item: _west(item[1]))
    for compared, ((i, first), (j, second)) in enumerate(_overlapping(edges)):
        if compared >= MOST_COMPARISONS:
            raise TooIntricate
        apart = abs(i - j)
        if 1 < apart < len(edges) - 1 and _meet(first, second):
            return True
    return False


def _acres(ring: Ring) -> float:
    total = 0.0
    for (x1, y1), (x2, y2) in pairwise(ring):
        bend = 2 + math.sin(math.radians(y1)) + math.sin(math.radians(y2))
        total += math.radians(x2 - x1) * bend
    return abs(total) * _EARTH_M**2 / 2 / _ACRE_M2


def _inside(ring: Ring, point: Point) -> bool:
    x, y = point
    inside = False
    for (x1, y1), (x2, y2) in pairwise(ring):
        if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
            inside = not inside
    return inside


_Numbered = tuple[int, Edge]


def _overlapping(edges: list[_Numbered]) -> Iterator[tuple[_Numbered, _Numbered]]:
    for place, one in enumerate(edges):
        for later in range(place + 1, len(edges)):
            if _west(edges[later][1]) > _east(one[1]):
                break
            yield one, edges[later]


def _west(edge: Edge) -> float:
    return min(edge[0][0], edge[1][0])


def _east(edge: Edge) -> float:
    return max(edge[0][0], edge[1][0])


def _meet(one: Edge, other: Edge) -> bool:
    (a, b), (c, d) = one, other
    turns = _turn(a, b, c) * _turn(a, b, d), _turn(c, d, a) * _turn(c, d, b)
    return (turns[0] < 0 and turns[1] < 0) or any(p in other for p in one)


def _turn(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
