"""The arguments of a search tool as a query: years are 0 for any, and a model may get anything wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..databases.kinds import field_named, kind_named
from ..databases.query import Query
from .planner import FULL_RUN


def as_query(
    text: str,
    since: int,
    until: int,
    fields: list[str] | None,
    kinds: list[str] | None,
    limit: int,
) -> Query:
    """Return the arguments of a call as a query; unknown fields and kinds are left out."""
    return Query(
        " ".join(text.split()),
        since or None,
        until or None,
        tuple(dict.fromkeys(filter(None, map(field_named, fields or ())))),
        tuple(dict.fromkeys(filter(None, map(kind_named, kinds or ())))),
        limit,
    )


def called_query(arguments: Mapping[str, Any]) -> Query:
    """Return the query of a call's raw arguments, which a model may have got wrong."""
    years = [arguments.get(name) for name in ("since", "until")]
    since, until = (year if isinstance(year, int) else 0 for year in years)
    lists = [arguments.get(name) for name in ("fields", "kinds")]
    fields, kinds = (
        [e for e in each if isinstance(e, str)] if isinstance(each, list) else [] for each in lists
    )
    limit = arguments.get("limit")
    text = arguments.get("query")
    return as_query(
        text if isinstance(text, str) else "",
        since,
        until,
        fields,
        kinds,
        limit if isinstance(limit, int) else FULL_RUN,
    )
