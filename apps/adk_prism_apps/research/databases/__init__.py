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
    Page,
    Profile,
    RateLimit,
)
from .errors import ServiceError, ServiceErrorKind
from .limiter import Limiter
from .outcome import Outcome
from .paper import Paper, distinct, identity
from .query import Fault, Query, filters_of, lint, repaired
from .search import RetryPolicy, search

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
    "Page",
    "Paper",
    "Profile",
    "Query",
    "RateLimit",
    "RetryPolicy",
    "ServiceError",
    "ServiceErrorKind",
    "SystemClock",
    "as_curl",
    "distinct",
    "filters_of",
    "identity",
    "lint",
    "repaired",
    "search",
]
