"""The geometry of a perimeter: the rings of GeoJSON polygons, their area on the earth, their defects.

Shapely finds crossings and tells whether a point is inside. It measures on a plane, so the area is
computed here: the line integral of Chamberlain and Duquette (2007) on a sphere of the earth's surface
(radius 6,371,007.2 m); one acre is 4,046.8564224 m². Positions are longitude, latitude (RFC 7946).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import shapely

_EARTH_M = 6_371_007.2
_ACRE_M2 = 4_046.8564224
# A closed ring has at least three corners and ends where it began.
_FEWEST_POSITIONS = 4

Point = tuple[float, float]
Ring = tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Polygon:
    """An outer ring and its holes, as they are in the file: a ring may be open or cross itself."""

    outer: Ring
    holes: tuple[Ring, ...] = ()

    @property
    def rings(self) -> tuple[Ring, ...]:
        return (self.outer, *self.holes)


def acres(polygons: Sequence[Polygon]) -> float:
    """Return the area of all polygons without their holes."""
    return sum(_acres(p.outer) - sum(_acres(hole) for hole in p.holes) for p in polygons)


def is_closed(ring: Ring) -> bool:
    """Return whether the ring has enough corners and ends where it began."""
    return len(ring) >= _FEWEST_POSITIONS and ring[0] == ring[-1]


def on_earth(ring: Ring) -> bool:
    """Return whether every position is a longitude and a latitude."""
    return all(-180 <= x <= 180 and -90 <= y <= 90 for x, y in ring)


def contains(polygons: Sequence[Polygon], point: Point) -> bool:
    """Return whether the point lies in a polygon, its edge included, and in none of its holes."""
    return any(_covers(polygon, point) for polygon in polygons)


def crosses_itself(ring: Ring) -> bool:
    """Return whether edges of the ring meet elsewhere than at the corner between them."""
    return len(ring) > 1 and not shapely.LineString(ring).is_simple


def _acres(ring: Ring) -> float:
    total = 0.0
    for (x1, y1), (x2, y2) in pairwise(ring):
        bend = 2 + math.sin(math.radians(y1)) + math.sin(math.radians(y2))
        total += math.radians(x2 - x1) * bend
    return abs(total) * _EARTH_M**2 / 2 / _ACRE_M2


def _covers(polygon: Polygon, point: Point) -> bool:
    if not _has_area(polygon.outer):
        return False
    holes = [hole for hole in polygon.holes if _has_area(hole)]
    return bool(shapely.Polygon(polygon.outer, holes).covers(shapely.Point(point)))


def _has_area(ring: Ring) -> bool:
    return len(set(ring)) >= _FEWEST_POSITIONS - 1
