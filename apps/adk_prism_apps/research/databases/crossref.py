"""Crossref works: what publishers registered. ACM and IEEE are two of its members.

Crossref ranks by *any* of the words, in titles, authors and venues: its total says nothing about how
many answer the query, so papers are checked against the query as they come. A list of ACM's works
here is Crossref's metadata, not the Digital Library; IEEE's is not Xplore. The labels say so.
https://api.crossref.org
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

from .access import Access
from .answers import Reading, json_object
from .database import BadAnswer, Page, Profile, RateLimit
from .kinds import CROSSREF_KINDS, codes, kind_of, unknown
from .paper import Paper, plain_arxiv, plain_doi
from .query import Query
from .service import Service
from .syntax import is_plain, terms_of
from .text import LONGEST_ABSTRACT, clean, items, link, mapping, names, number, year

ACCESS = Access("https://api.crossref.org", "ADK_PRISM_CROSSREF_URL")
_PAGE = 100
_SELECT = "DOI,title,author,issued,container-title,type,URL,is-referenced-by-count,abstract"


def _words(answer: httpx.Response) -> str:
    """Return the messages of a validation failure, or the plain text of another."""
    try:
        found = json_object(answer).get("message")
    except BadAnswer:
        return clean(answer.text, 200) if "text/plain" in _type(answer) else ""
    said = [mapping(each).get("message") for each in items(found)]
    return "; ".join(clean(text, 200) for text in said if text) or clean(found, 200)


def _type(answer: httpx.Response) -> str:
    return str(answer.headers.get("content-type", ""))


@dataclass(frozen=True)
class Crossref(Service):
    """All works, or those of one member."""

    member: int | None = None
    reading = Reading("json", _words)

    @property
    def rate_limit(self) -> RateLimit:
        """Five a second is what strangers may ask; who leaves an address may ask twice as often."""
        return RateLimit(0.1 if self.access.contact else 0.2)

    def cannot(self, query: Query) -> tuple[str, ...]:
        operators = () if is_plain(query.text) else (
            f"{self.label} was asked for the words alone; phrases and operators were applied here",
        )  # fmt: skip
        return (
            *operators,
            *unknown(self.label, "kind", query.kinds, CROSSREF_KINDS),
            *unknown(self.label, "field", query.fields, {}),
        )

    def build_request(self, query: Query, page: str = "") -> httpx.Request:
        """Ask for a page: `page` is a cursor. More rows than wanted, since some will not match."""
        words = [word for term in terms_of(query.text) for word in term.words]
        parameters = {
            "query.bibliographic": " ".join(words),
            "filter": self._filter(query),
            "rows": str(min(_PAGE, max(20, 2 * query.limit))),
            "cursor": page or "*",
            "select": _SELECT,
            "mailto": self.access.contact,
        }
        return self._get("/works", parameters)

    def parse(self, response: httpx.Response) -> Page:
        """Read a list of works, or a work that was asked for by its DOI."""
        body = json_object(response)
        message = mapping(body.get("message"))
        if body.get("message-type") == "work":
            return _page([message], 1, "", loosely=False)
        records = message.get("items")
        if body.get("message-type") != "work-list" or not isinstance(records, list):
            raise BadAnswer("The answer is not a list of works.")
        rows = number(message.get("items-per-page")) or _PAGE
        full = bool(records) and len(records) >= rows
        following = clean(message.get("next-cursor"), 4_000) if full else ""
        return _page(records, number(message.get("total-results")), following, loosely=True)

    def _filter(self, query: Query) -> str:
        pieces = [f"member:{self.member}"] if self.member else []
        if query.since is not None:
            pieces.append(f"from-pub-date:{query.since:04}")
        if query.until is not None:
            pieces.append(f"until-pub-date:{query.until:04}")
        return ",".join([*pieces, *(f"type:{kind}" for kind in codes(query.kinds, CROSSREF_KINDS))])


def _page(records: list[Any], total: int | None, following: str, *, loosely: bool) -> Page:
    papers = [_paper(record) for record in records if isinstance(record, dict)]
    kept = tuple(paper for paper in papers if paper.title)
    unreadable = len(records) - len(kept)
    return Page(kept, total, following, counts_loosely=loosely, unreadable=unreadable)


def _paper(work: Any) -> Paper:
    doi = plain_doi(clean(work.get("DOI")))
    return Paper(
        title=_first(work.get("title")),
        authors=names([_name(mapping(author)) for author in items(work.get("author"))]),
        year=_year(work),
        venue=_first(work.get("container-title")),
        kind=kind_of([clean(work.get("type"))], CROSSREF_KINDS) if work.get("type") else "",
        doi=doi,
        arxiv=plain_arxiv(doi.partition("arxiv.")[2]) if "arxiv." in doi else "",
        url=f"https://doi.org/{doi}" if doi else link(work.get("URL")),
        citations=number(work.get("is-referenced-by-count")),
        abstract=clean(work.get("abstract"), LONGEST_ABSTRACT),
    )


def _first(value: object) -> str:
    if isinstance(value, str):
        return clean(value)
    return next((clean(each) for each in items(value) if clean(each)), "")


def _name(author: Any) -> str:
    parts = [clean(author.get("given")), clean(author.get("family"))]
    return " ".join(part for part in parts if part) or clean(author.get("name"))


def _year(work: Any) -> int | None:
    dated = ("issued", "published", "published-print", "published-online", "created")
    for name in dated:
        parts = items(mapping(work.get(name)).get("date-parts"))
        found = year(items(parts[0])[0]) if parts and items(parts[0]) else None
        if found is not None:
            return found
    return None


def crossref(access: Access = ACCESS) -> Crossref:
    """Return all of Crossref, at its public address unless told otherwise."""
    profile = Profile("all fields, published works", equivalents=("openalex", "semantic_scholar"))
    return Crossref(access, "crossref", "Crossref", "search_crossref", 10_000, profile)


def acm(access: Access = ACCESS) -> Crossref:
    """Return ACM's publications, as far as Crossref knows them."""
    profile = Profile(
        "computing, as registered by ACM",
        fields=("Computer Science",),
        equivalents=("ieee", "semantic_scholar", "openalex"),
    )
    label = "ACM publications (Crossref metadata)"
    return Crossref(access, "acm", label, "search_acm_digital_library", 10_000, profile, member=320)


def ieee(access: Access = ACCESS) -> Crossref:
    """Return IEEE's publications, as far as Crossref knows them."""
    profile = Profile(
        "engineering and computing, medical engineering included, as registered by IEEE",
        fields=("Computer Science", "Engineering", "Physics"),
        equivalents=("acm", "semantic_scholar", "openalex"),
    )
    label = "IEEE publications (Crossref metadata)"
    return Crossref(access, "ieee", label, "search_ieee_xplore", 10_000, profile, member=263)
