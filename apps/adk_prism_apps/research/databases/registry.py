"""All databases, by key; and which one a tool or a person's word means."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..library import sample_library
from .arxiv import arxiv
from .crossref import acm, crossref, ieee
from .database import AnyDatabase
from .openalex import openalex
from .pubmed import pubmed
from .semantic_scholar import semantic_scholar

_ALL: tuple[AnyDatabase, ...] = (
    semantic_scholar(),
    arxiv(),
    openalex(),
    pubmed(),
    crossref(),
    acm(),
    ieee(),
    sample_library(),
)
DATABASES: dict[str, AnyDatabase] = {database.key: database for database in _ALL}
BY_TOOL: Mapping[str, AnyDatabase] = {database.tool: database for database in _ALL}
# What people call them; looked for as whole words, the longest first.
NAMES: Mapping[str, str] = {
    "semantic scholar": "semantic_scholar",
    "semanticscholar": "semantic_scholar",
    "s2": "semantic_scholar",
    "arxiv": "arxiv",
    "openalex": "openalex",
    "open alex": "openalex",
    "pubmed": "pubmed",
    "medline": "pubmed",
    "crossref": "crossref",
    "acm digital library": "acm",
    "acm": "acm",
    "ieee xplore": "ieee",
    "ieee": "ieee",
    "xplore": "ieee",
    "sample library": "sample_library",
    "offline library": "sample_library",
}
_NAMED = re.compile(
    r"(?<!\w)(" + "|".join(sorted(NAMES, key=len, reverse=True)) + r")(?!\w)", re.IGNORECASE
)


def databases_named(text: str) -> tuple[AnyDatabase, ...]:
    """Return the databases that a text names, in its order, each once."""
    keys = (NAMES[found.group().lower()] for found in _NAMED.finditer(text))
    return tuple(DATABASES[key] for key in dict.fromkeys(keys))
