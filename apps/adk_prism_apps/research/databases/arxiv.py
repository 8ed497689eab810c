"""arXiv's query API: Atom feeds. Its metadata is in the public domain (CC0).

An error is a feed too, with one entry titled "Error" that counts as a hit; and a page in the middle of
a result comes empty now and then. https://info.arxiv.org/help/api/user-manual.html
"""

from __future__ import annotations

from xml.etree.ElementTree import Element

import httpx

from .access import Access
from .answers import Reading
from .database import BadAnswer, Page, Profile, RateLimit
from .errors import ServiceError
from .kinds import ARXIV_CATEGORIES, codes, unknown
from .paper import Paper, plain_arxiv, plain_doi
from .query import FIRST_YEAR, LAST_YEAR, Query
from .service import Service
from .syntax import Dialect, Term, needs_quotes, parse, render
from .text import LONGEST_ABSTRACT, clean, names, number, year
from .xml import text_of, xml_tree

ACCESS = Access("https://export.arxiv.org", "ADK_PRISM_ARXIV_URL")
_PAGE = 100
_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"
_SEARCH = "{http://a9.com/-/spec/opensearch/1.1/}"
_FIELDS_OF = {
    category.removesuffix(".*"): field
    for field, categories in ARXIV_CATEGORIES.items()
    for category in categories
}


def _term(term: Term) -> str:
    # A hyphen means nothing to arXiv's index, and inside a phrase it matches.
    text = " ".join(term.words)
    return f'all:"{text}"' if needs_quotes(term) else f"all:{text}"


_DIALECT = Dialect(term=_term, both=" AND ", either=" OR ", without=" ANDNOT ")


def _error_words(answer: httpx.Response) -> str:
    try:
        return text_of(xml_tree(answer.content), f"{_ATOM}entry/{_ATOM}summary")
    except BadAnswer:
        return ""


class Arxiv(Service):
    """Preprints alone: a filter by another kind finds nothing here, so it is not applied."""

    reading = Reading("xml", _error_words)

    @property
    def rate_limit(self) -> RateLimit:
        """One request in three seconds, one connection, as arXiv's terms of use ask."""
        return RateLimit(3.0)

    def cannot(self, query: Query) -> tuple[str, ...]:
        return (
            *unknown(self.label, "kind", query.kinds, {"preprint": ()}),
            *unknown(self.label, "field", query.fields, ARXIV_CATEGORIES),
        )

    def build_request(self, query: Query, page: str = "") -> httpx.Request:
        """Ask for a page: `page` is where it starts."""
        parameters = {
            "search_query": _search_query(query),
            "start": page or "0",
            "max_results": str(min(query.limit, _PAGE)),
            "sortBy": "relevance",
            "sortOrder": "descending",
        }
        return self._get("/api/query", parameters)

    def parse(self, response: httpx.Response) -> Page:
        feed = _feed(response)
        entries = feed.findall(f"{_ATOM}entry")
        total, start = _count(feed, "totalResults"), _count(feed, "startIndex") or 0
        if total is None:
            raise BadAnswer("The feed does not say how many papers there are.")
        papers = tuple(_paper(entry) for entry in entries)
        kept = tuple(paper for paper in papers if paper.title)
        reached = start + len(entries)
        more = entries and reached < min(total, self.cap)
        return Page(kept, total, str(reached) if more else "", unreadable=len(papers) - len(kept))

    def classify(self, answer: httpx.Response | Exception) -> ServiceError | None:
        error = super().classify(answer)
        if error is not None or isinstance(answer, Exception):
            return error
        try:
            feed = _feed(answer)
        except BadAnswer:
            return None
        return _of_feed(feed)


def _of_feed(feed: Element) -> ServiceError | None:
    """Find the troubles that come with HTTP 200."""
    entries = feed.findall(f"{_ATOM}entry")
    if len(entries) == 1 and clean(text_of(entries[0], f"{_ATOM}title")) == "Error":
        said = clean(text_of(entries[0], f"{_ATOM}summary"), 200)
        return ServiceError("malformed_query", "arxiv.error_entry", f"arXiv says: {said}", 200)
    total, start = _count(feed, "totalResults") or 0, _count(feed, "startIndex") or 0
    if not entries and start < total and _count(feed, "itemsPerPage"):
        detail = f"arXiv sent an empty page at {start} of {total}."
        return ServiceError("service_error", "arxiv.empty_page", detail, 200, passing=True)
    return None


def _search_query(query: Query) -> str:
    pieces = [render(parse(query.text), _DIALECT, inner=True)]
    if categories := codes(query.fields, ARXIV_CATEGORIES):
        pieces.append(f"({' OR '.join(f'cat:{name}' for name in categories)})")
    if query.since is not None or query.until is not None:
        first, last = query.since or FIRST_YEAR, query.until or LAST_YEAR
        pieces.append(f"submittedDate:[{first:04}01010000 TO {last:04}12312359]")
    return " AND ".join(pieces)


def _feed(answer: httpx.Response) -> Element:
    root = xml_tree(answer.content)
    if root.tag != f"{_ATOM}feed":
        raise BadAnswer("The answer is XML, but not an Atom feed.")
    return root


def _count(feed: Element, name: str) -> int | None:
    return number(text_of(feed, f"{_SEARCH}{name}").strip())


def _paper(entry: Element) -> Paper:
    address = clean(text_of(entry, f"{_ATOM}id"))
    category = entry.find(f"{_ARXIV}primary_category")
    code = category.get("term", "") if category is not None else ""
    field = _FIELDS_OF.get(code) or _FIELDS_OF.get(code.partition(".")[0], "")
    authors = [text_of(author, f"{_ATOM}name") for author in entry.findall(f"{_ATOM}author")]
    identifier = plain_arxiv(address)
    return Paper(
        title=clean(text_of(entry, f"{_ATOM}title")),
        authors=names(authors),
        year=year(text_of(entry, f"{_ATOM}published")[:4]),
        venue=clean(text_of(entry, f"{_ARXIV}journal_ref")) or "arXiv",
        kind="preprint",
        doi=plain_doi(text_of(entry, f"{_ARXIV}doi")),
        arxiv=identifier,
        url=f"https://arxiv.org/abs/{identifier}" if identifier else "",
        abstract=clean(text_of(entry, f"{_ATOM}summary"), LONGEST_ABSTRACT),
        fields=(field,) if field else (),
        open_access=True,
    )


def arxiv(access: Access = ACCESS) -> Arxiv:
    """Return the database, at its public address unless told otherwise."""
    return Arxiv(
        access=access,
        key="arxiv",
        label="arXiv",
        tool="search_arxiv",
        # What the API says it serves of one query.
        cap=30_000,
        profile=Profile(
            "preprints of computer science, physics, mathematics and neighbours",
            fields=tuple(ARXIV_CATEGORIES),
            equivalents=("semantic_scholar", "openalex"),
        ),
    )
