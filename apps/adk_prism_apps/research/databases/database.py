"""What every database of papers is to the rest of the app.

A remote one is three pure functions around HTTP: build a request, parse its answer, say what an
answer or an error means. A local one answers by itself. `Page.next` is a token that only the
database that gave it reads, so that paging by offset, by cursor, or in two steps look the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import httpx

from .errors import ServiceError
from .paper import Paper
from .query import Query

Mode = Literal["online", "offline"]


@dataclass(frozen=True, slots=True)
class Profile:
    """What a database covers. `fields` are those it covers well; none means every field.

    `equivalents` are the databases to ask instead, best first, by their keys.
    """

    about: str
    fields: tuple[str, ...] = ()
    equivalents: tuple[str, ...] = ()

    def covers(self, field: str) -> bool:
        """Return whether papers of the field are to be expected here."""
        return not self.fields or field in self.fields


@dataclass(frozen=True, slots=True)
class RateLimit:
    """How often a service may be asked: seconds between two requests, and how many at once."""

    interval: float
    at_once: int = 1


@dataclass(frozen=True, slots=True)
class Page:
    """What one answer gave: its papers, the total, and the token of the next page.

    `counts_loosely` marks a total of papers with *any* of the words, which says nothing about
    how many answer the query; papers of such a page are checked against the query.
    """

    papers: tuple[Paper, ...] = ()
    total: int | None = None
    next: str = ""
    warnings: tuple[str, ...] = ()
    counts_loosely: bool = False
    unreadable: int = 0


class Catalogue(Protocol):
    """What is true of every database."""

    @property
    def key(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def tool(self) -> str: ...
    @property
    def mode(self) -> Mode: ...
    @property
    def profile(self) -> Profile: ...
    @property
    def cap(self) -> int:
        """The most papers of one query that can ever be read here."""
        ...


@runtime_checkable
class Database(Catalogue, Protocol):
    """A database behind HTTP. `key_variable` is the environment variable of its key, if it has one."""

    @property
    def host(self) -> str: ...
    @property
    def key_variable(self) -> str: ...
    @property
    def rate_limit(self) -> RateLimit: ...
    def cannot(self, query: Query) -> tuple[str, ...]:
        """Return what of the query this database will not do, a sentence each."""
        ...

    def build_request(self, query: Query, page: str = "") -> httpx.Request: ...
    def parse(self, response: httpx.Response) -> Page:
        """Read an answer that `classify` found nothing wrong with; raises `BadAnswer`."""
        ...

    def classify(self, answer: httpx.Response | Exception) -> ServiceError | None: ...


@runtime_checkable
class LocalDatabase(Catalogue, Protocol):
    """A database on this machine: it needs no network, and counting in it is free."""

    def find(self, query: Query) -> Page: ...
    def count(self, query: Query) -> int: ...


AnyDatabase = Database | LocalDatabase


class BadAnswer(ValueError):
    """An answer that is not what the service documents. The text is safe to show."""
