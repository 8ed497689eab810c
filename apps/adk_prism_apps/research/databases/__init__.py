"""Databases of papers behind one small protocol. All of them together are in `registry`."""

from .clock import Clock, SystemClock
from .curl import as_curl
from .database import (
    AnyDatabase,
    BadAnswer,
    Catalogue,
    Database,
    LocalDatabase,
    Mode,
    Pace,
    Page,
    Profile,
)
from .limiter import Limiter
from .outcome import Outcome
from .paper import Paper, distinct, identity
from .query import Fault, Query, filters_of, lint, mended
from .search import Patience, search
from .trouble import Trouble, TroubleKind

__all__ = [
    "AnyDatabase",
    "BadAnswer",
    "Catalogue",
    "Clock",
    "Database",
    "Fault",
    "Limiter",
    "LocalDatabase",
    "Mode",
    "Outcome",
    "Pace",
    "Page",
    "Paper",
    "Patience",
    "Profile",
    "Query",
    "SystemClock",
    "Trouble",
    "TroubleKind",
    "as_curl",
    "distinct",
    "filters_of",
    "identity",
    "lint",
    "mended",
    "search",
]
