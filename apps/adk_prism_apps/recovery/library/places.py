"""The names that a fire's files give to trails, sectors, units and proposals, by id.

So that a question can speak of "the Lakeshore Loop". A file that cannot be read gives no names; the
skill that needs it will say why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from .fire import FireFolder
from .problem import DataProblem

Kind = Literal["sector", "trail", "unit", "proposal"]
# Enough for any question; a file of thousands of trails is not carried along in every answer.
MOST_NAMES = 200


def places_of(folder: FireFolder) -> dict[str, dict[str, str]]:
    """Return the names by kind and id."""
    readers: dict[Kind, Callable[[], dict[str, str]]] = {
        "sector": lambda: {row.sector_id: row.name for row in folder.sectors().rows},
        "trail": lambda: {row.trail_id: row.name for row in folder.trails().rows},
        "unit": lambda: {row.unit_id: row.name for row in folder.units().rows},
        "proposal": lambda: {row.proposal_id: row.name for row in folder.proposals().rows},
    }
    return {kind: _names(read) for kind, read in readers.items()}


def _names(read: Callable[[], dict[str, str]]) -> dict[str, str]:
    try:
        return dict(list(read().items())[:MOST_NAMES])
    except DataProblem:
        return {}
