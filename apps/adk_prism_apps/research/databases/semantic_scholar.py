"""Semantic Scholar's Graph API: relevance search for plain words, bulk search for anything else.

Relevance search knows no operators; bulk search does, and ranks nothing. An answer without hits has
no `data` at all. https://api.semanticscholar.org/api-docs/graph
"""

from __future__ import annotations

from typing import Any

import httpx

from .access import Access
from .answers import Reading, json_object, said_in_json
from .database import BadAnswer, Page, Profile, RateLimit
from .kinds import SEMANTIC_SCHOLAR_KINDS, codes, kind_of, unknown
from .paper import Paper, plain_arxiv, plain_doi
from .query import Query
from .service import Service
from .syntax import Dialect, is_plain, parse, quoted, render, terms_of, words_of
from .text import LONGEST_ABSTRACT, clean, items, link, mapping, names, number, year

_FIELDS = (
    "title,authors,year,venue,publicationTypes,externalIds,url,citationCount,abstract,"
    "fieldsOfStudy,isOpenAccess"
)
_PAGE = 100
_BULK = Dialect(term=quoted, both=" ", either=" | ", without=" -")
ACCESS = Access(
    "https://api.semanticscholar.org", "ADK_PRISM_SEMANTIC_SCHOLAR_URL", "SEMANTIC_SCHOLAR_API_KEY"
)


class SemanticScholar(Service):
    """Works without a key, from a pool that all anonymous users share."""

    reading = Reading("json", said_in_json("error", "message"))

    @property
    def rate_limit(self) -> RateLimit:
        """One request a second with a key; without one, the share of a hundred in five minutes."""
        return RateLimit(1.0 if self.access.api_key else 3.0)

    def cannot(self, query: Query) -> tuple[str, ...]:
        return unknown(self.label, "kind", query.kinds, SEMANTIC_SCHOLAR_KINDS)

    def build_request(self, query: Query, page: str = "") -> httpx.Request:
        """Ask for a page: `page` is an offset, or the token of a bulk search."""
        plain = is_plain(query.text)
        parameters = {"query": _words(query.text, plain), "fields": _FIELDS, **_filters(query)}
        if plain:
            parameters |= {"offset": page or "0", "limit": str(min(query.limit, _PAGE))}
        elif page:
            parameters["token"] = page
        path = "/graph/v1/paper/search" + ("" if plain else "/bulk")
        headers = {"x-api-key": self.access.api_key} if self.access.api_key else {}
        return self._get(path, parameters, headers)

    def parse(self, response: httpx.Response) -> Page:
        """Read a page of either search, or a paper that was asked for by its id."""
        body = json_object(response)
        if "paperId" in body:
            return _page([body], 1, "")
        total = number(body.get("total"))
        data = body.get("data", [])
        if not isinstance(data, list) or (total is None and "data" not in body):
            raise BadAnswer("The answer has neither a list of papers nor a total.")
        following = number(body.get("next"))
        token = clean(body.get("token")) if following is None else str(following)
        beyond = following is not None and following >= self.cap
        return _page(data, total, "" if beyond or not data else token)


def _words(text: str, plain: bool) -> str:
    """Say the query; relevance search finds nothing for a word with a hyphen."""
    if not plain:
        return render(parse(text), _BULK)
    return " ".join(word for term in terms_of(text) for word in term.words).replace("-", " ")


def _filters(query: Query) -> dict[str, str]:
    found: dict[str, str] = {}
    if query.since is not None or query.until is not None:
        found["year"] = f"{query.since or ''}-{query.until or ''}"
    if query.fields:
        found["fieldsOfStudy"] = ",".join(query.fields)
    if types := codes(query.kinds, SEMANTIC_SCHOLAR_KINDS):
        found["publicationTypes"] = ",".join(types)
    return found


def _page(records: list[Any], total: int | None, following: str) -> Page:
    papers = [_paper(record) for record in records if isinstance(record, dict)]
    kept = tuple(paper for paper in papers if paper.title)
    return Page(kept, total, following, unreadable=len(records) - len(kept))


def _paper(record: dict[str, Any]) -> Paper:
    ids = mapping(record.get("externalIds"))
    kinds = [kind for kind in items(record.get("publicationTypes")) if isinstance(kind, str)]
    authors = [clean(mapping(author).get("name")) for author in items(record.get("authors"))]
    venue = clean(record.get("venue"))
    kind = kind_of(kinds, SEMANTIC_SCHOLAR_KINDS)
    if not kind and "arxiv" in words_of(venue):
        kind = "preprint"
    opened = record.get("isOpenAccess")
    return Paper(
        title=clean(record.get("title")),
        authors=names(authors),
        year=year(record.get("year")),
        venue=venue,
        kind=kind,
        doi=plain_doi(clean(ids.get("DOI"))),
        arxiv=plain_arxiv(clean(ids.get("ArXiv"))),
        url=link(record.get("url")),
        citations=number(record.get("citationCount")),
        abstract=clean(record.get("abstract"), LONGEST_ABSTRACT),
        fields=tuple(clean(name) for name in items(record.get("fieldsOfStudy")) if clean(name)),
        open_access=opened if isinstance(opened, bool) else None,
    )


def semantic_scholar(access: Access = ACCESS) -> SemanticScholar:
    """Return the database, at its public address unless told otherwise."""
    return SemanticScholar(
        access=access,
        key="semantic_scholar",
        label="Semantic Scholar",
        tool="search_semantic_scholar",
        # The API gives no more of one relevance search.
        cap=1_000,
        profile=Profile(
            "all fields, strongest in computer science and biomedicine",
            equivalents=("openalex", "crossref"),
        ),
    )
