"""Reads the polygons of GeoJSON features; what is not a polygon of numbers is a `DataProblem`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ..library import DataProblem
from .geometry import Point, Polygon, Ring

_FILE = "perimeter.geojson"


def polygons_of(features: Sequence[dict[str, Any]]) -> list[Polygon]:
    """Return all polygons of the features, in order."""
    return [polygon for feature in features for polygon in _polygons(feature)]


def _polygons(feature: dict[str, Any]) -> Iterator[Polygon]:
    geometry = feature.get("geometry", feature)
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if kind not in ("Polygon", "MultiPolygon"):
        raise _problem("geometry.type", f"is {kind!r}; expected Polygon or MultiPolygon")
    coordinates = geometry.get("coordinates")
    for rings in [coordinates] if kind == "Polygon" else _list(coordinates):
        read = [_ring(ring) for ring in _list(rings)]
        if not read:
            raise _problem("coordinates", "has a polygon without a ring")
        yield Polygon(read[0], tuple(read[1:]))


def _ring(positions: Any) -> Ring:
    return tuple(_point(position) for position in _list(positions))


def _point(position: Any) -> Point:
    numbers = _list(position)[:2]
    if len(numbers) < 2 or not all(_is_number(number) for number in numbers):
        raise _problem("coordinates", f"has the position {str(position)[:60]}; expected numbers")
    return float(numbers[0]), float(numbers[1])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _problem("coordinates", f"has {str(value)[:60]!r} where a list is expected")
    return value


def _problem(field: str, complaint: str) -> DataProblem:
    return DataProblem(
        "malformed file", f"{_FILE}: `{field}` {complaint}.", file=_FILE, field=field
    )
