"""OpenAlex works. Its data is in the public domain (CC0); a free key gives a daily allowance.

Used-up allowances answer 403 as well as 429. Abstracts come as an index of words.
https://developers.openalex.org
"""

from __future__ import annotations

from typing import Any

import httpx

from .access import Access
from .answers import Reading, json_object, said_in_json
from .database import BadAnswer, Page, Profile, RateLimit
from .kinds import OPENALEX_FIELDS, OPENALEX_KINDS, codes, kind_of, unknown
from .paper import Paper, plain_arxiv, plain_doi
from .query import Query
from .service import Service
from .syntax import Dialect, parse, quoted, render
from .text import LONGEST_ABSTRACT, clean, items, link, mapping, names, number, year

ACCESS = Access("https://api.openalex.org", "ADK_PRISM_OPENALEX_URL", "OPENALEX_API_KEY")
_PAGE = 100
_SELECT = (
    "id,doi,display_name,authorships,publication_year,primary_location,type,cited_by_count,"
    "abstract_inverted_index,primary_topic,open_access"
)
_DIALECT = Dialect(term=quoted, both=" AND ", either=" OR ", without=" NOT ")
# An abstract has some three hundred words; positions beyond this are not one.
_MOST_WORDS = 2_000


class OpenAlex(Service):
    """Every field of science; without a key only a few searches a day."""

    reading = Reading("json", said_in_json("message", "error"), {403: "rate_limited"})

    @property
    def rate_limit(self) -> RateLimit:
        """The service allows a hundred a second; ten are enough for one person."""
        return RateLimit(0.1, at_once=3)

    def cannot(self, query: Query) -> tuple[str, ...]:
        return (
            *unknown(self.label, "kind", query.kinds, OPENALEX_KINDS),
            *unknown(self.label, "field", query.fields, OPENALEX_FIELDS),
        )

    def build_request(self, query: Query, page: str = "") -> httpx.Request:
        """Ask for a page: `page` is a cursor."""
        parameters = {
            "search": render(parse(query.text), _DIALECT),
            "filter": _filter(query),
            "per_page": str(min(query.limit, _PAGE)),
            "cursor": page or "*",
            "select": _SELECT,
            "mailto": self.access.contact,
            "api_key": self.access.api_key,
        }
        return self._get("/works", parameters)

    def parse(self, response: httpx.Response) -> Page:
        """Read a list of works, or a work that was asked for by its id."""
        body = json_object(response)
        if isinstance(body.get("id"), str) and "results" not in body:
            return _page([body], 1, "")
        meta, results = body.get("meta"), body.get("results")
        if not isinstance(results, list) or not isinstance(meta, dict):
            raise BadAnswer("The answer has no list of works.")
        following = clean(meta.get("next_cursor")) if results else ""
        return _page(results, number(meta.get("count")), following)


def _filter(query: Query) -> str:
    pieces = []
    if query.since is not None:
        pieces.append(f"from_publication_date:{query.since:04}-01-01")
    if query.until is not None:
        pieces.append(f"to_publication_date:{query.until:04}-12-31")
    if kinds := codes(query.kinds, OPENALEX_KINDS):
        pieces.append(f"type:{'|'.join(kinds)}")
    if fields := [str(code) for name in query.fields for code in OPENALEX_FIELDS.get(name, ())]:
        pieces.append(f"primary_topic.field.id:{'|'.join(fields)}")
    return ",".join(pieces)


def _page(records: list[Any], total: int | None, following: str) -> Page:
    papers = [_paper(record) for record in records if isinstance(record, dict)]
    kept = tuple(paper for paper in papers if paper.title)
    return Page(kept, total, following, unreadable=len(records) - len(kept))


def _paper(work: dict[str, Any]) -> Paper:
    location = mapping(work.get("primary_location"))
    source = mapping(location.get("source"))
    landing = link(location.get("landing_page_url"))
    doi = plain_doi(clean(work.get("doi")))
    on_arxiv = "arxiv" in doi or "arxiv.org" in landing
    opened = mapping(work.get("open_access")).get("is_oa")
    return Paper(
        title=clean(work.get("display_name") or work.get("title")),
        authors=_authors(work),
        year=year(work.get("publication_year")),
        venue=clean(source.get("display_name")),
        kind=_kind(work, source),
        doi=doi,
        arxiv=(plain_arxiv(doi) or plain_arxiv(landing)) if on_arxiv else "",
        url=f"https://doi.org/{doi}" if doi else landing or link(work.get("id")),
        citations=number(work.get("cited_by_count")),
        abstract=_abstract(work.get("abstract_inverted_index")),
        fields=_fields(work),
        open_access=opened if isinstance(opened, bool) else None,
    )


def _authors(work: dict[str, Any]) -> tuple[str, ...]:
    people = [mapping(mapping(each).get("author")) for each in items(work.get("authorships"))]
    return names([clean(person.get("display_name")) for person in people])


def _kind(work: dict[str, Any], source: Any) -> str:
    kind = kind_of([clean(work.get("type"))], OPENALEX_KINDS) if work.get("type") else ""
    return "conference" if kind == "article" and source.get("type") == "conference" else kind


def _fields(work: dict[str, Any]) -> tuple[str, ...]:
    name = clean(mapping(mapping(work.get("primary_topic")).get("field")).get("display_name"))
    return (name,) if name else ()


def _abstract(index: object) -> str:
    placed = [
        (position, word)
        for word, positions in mapping(index).items()
        for position in items(positions)
        if isinstance(position, int) and 0 <= position < _MOST_WORDS
    ]
    return clean(" ".join(word for _, word in sorted(placed)), LONGEST_ABSTRACT)


def openalex(access: Access = ACCESS) -> OpenAlex:
    """Return the database, at its public address unless told otherwise."""
    return OpenAlex(
        access=access,
        key="openalex",
        label="OpenAlex",
        tool="search_openalex",
        cap=100_000,
        profile=Profile("all fields", equivalents=("crossref", "semantic_scholar")),
    )
