"""PubMed through NCBI's E-utilities, in two steps: `esearch` finds ids, `efetch` gives the records.

The token of the second step is the list of ids. What the service could not understand of a query comes
with HTTP 200, in `ErrorList` and `WarningList`. https://www.ncbi.nlm.nih.gov/books/NBK25499/
"""

from __future__ import annotations

from xml.etree.ElementTree import Element

import httpx

from .access import Access
from .answers import Reading, said_in_json
from .database import BadAnswer, Page, Profile, RateLimit
from .errors import ServiceError, ServiceErrorKind
from .kinds import PUBMED_KINDS, codes, kind_of, unknown
from .paper import Paper, plain_doi
from .query import FIRST_YEAR, LAST_YEAR, Query
from .service import Service
from .syntax import Dialect, parse, quoted, render
from .text import LONGEST_ABSTRACT, clean, names, number, year
from .xml import text_of, xml_tree

ACCESS = Access("https://eutils.ncbi.nlm.nih.gov", "ADK_PRISM_PUBMED_URL", "NCBI_API_KEY")
_PATH = "/entrez/eutils"
_DIALECT = Dialect(term=quoted, both=" AND ", either=" OR ", without=" NOT ")
_FIELDS = ("Medicine", "Biology")
_FETCHED = ("PubmedArticleSet", "PubmedArticle")


class PubMed(Service):
    """Medicine and the life sciences."""

    reading = Reading("xml", said_in_json("error"))

    @property
    def rate_limit(self) -> RateLimit:
        """Three requests a second, ten with a key; a little less, since clocks differ."""
        return RateLimit(0.11 if self.access.api_key else 0.35)

    def cannot(self, query: Query) -> tuple[str, ...]:
        return (
            *unknown(self.label, "kind", query.kinds, PUBMED_KINDS),
            *unknown(self.label, "field", query.fields, {}),
        )

    def build_request(self, query: Query, page: str = "") -> httpx.Request:
        """Ask for the ids, or with `page` for the records of those ids."""
        parameters = {
            "db": "pubmed",
            "retmode": "xml",
            "tool": "adk-prism",
            "email": self.access.contact,
            "api_key": self.access.api_key,
        }
        if page:
            return self._get(f"{_PATH}/efetch.fcgi", {"id": page, **parameters})
        found = {"term": _term(query), "retmax": str(query.limit), "sort": "relevance"}
        if query.since is not None or query.until is not None:
            found["datetype"] = "pdat"
            found["mindate"] = str(query.since or FIRST_YEAR)
            found["maxdate"] = str(query.until or LAST_YEAR)
        return self._get(f"{_PATH}/esearch.fcgi", {**found, **parameters})

    def parse(self, response: httpx.Response) -> Page:
        root = xml_tree(response.content)
        if root.tag == "eSearchResult":
            return _found(root)
        if root.tag not in _FETCHED:
            raise BadAnswer("The answer is XML, but neither ids nor articles.")
        articles = [root] if root.tag == "PubmedArticle" else list(root)
        known = [each for each in articles if each.tag in ("PubmedArticle", "PubmedBookArticle")]
        papers = tuple(_paper(article) for article in known)
        kept = tuple(paper for paper in papers if paper.title)
        return Page(kept, unreadable=len(papers) - len(kept))

    def classify(self, answer: httpx.Response | Exception) -> ServiceError | None:
        error = super().classify(answer)
        if error is not None or isinstance(answer, Exception):
            return error
        # The limiter in front of the service speaks JSON, also where XML was asked for.
        if answer.content[:64].lstrip().startswith(b"{"):
            said = self.access.redacted(clean(said_in_json("error")(answer), 200))
            kind: ServiceErrorKind = (
                "rate_limited" if "rate limit" in said.lower() else "service_error"
            )
            return ServiceError(kind, "pubmed.json", f"PubMed says: {said}", 200, passing=True)
        try:
            return _of_search(xml_tree(answer.content))
        except BadAnswer:
            return None


def _of_search(root: Element) -> ServiceError | None:
    """Find the troubles that come with HTTP 200."""
    said = clean(text_of(root, "ERROR"), 200)
    if root.tag != "eSearchResult" or not said:
        return None
    if "backend" in said.lower() or "unable" in said.lower():
        return ServiceError(
            "service_error", "pubmed.error", f"PubMed says: {said}", 200, passing=True
        )
    return ServiceError("malformed_query", "pubmed.error", f"PubMed says: {said}", 200)


def _term(query: Query) -> str:
    term = render(parse(query.text), _DIALECT, inner=bool(query.kinds))
    if types := codes(query.kinds, PUBMED_KINDS):
        chosen = " OR ".join(f'"{name}"[Publication Type]' for name in types)
        return f"{term} AND ({chosen})"
    return term


def _found(root: Element) -> Page:
    total = number(text_of(root, "Count").strip())
    if total is None:
        raise BadAnswer("The answer does not say how many articles there are.")
    ids = [text_of(each).strip() for each in root.findall("IdList/Id")]
    known = [each for each in ids if each.isascii() and each.isdigit()]
    return Page(total=total, next=",".join(known), warnings=_remarks(root))


def _remarks(root: Element) -> tuple[str, ...]:
    """Return what PubMed did not understand: such words were left out of the search."""
    found = []
    for path, text in (
        ("ErrorList/PhraseNotFound", "PubMed does not know"),
        ("ErrorList/FieldNotFound", "PubMed has no field"),
        ("WarningList/PhraseIgnored", "PubMed left out"),
        ("WarningList/QuotedPhraseNotFound", "PubMed found no phrase"),
        ("WarningList/OutputMessage", "PubMed says"),
    ):
        found += [f"{text}: {clean(text_of(each), 200)}" for each in root.findall(path)]
    return tuple(found[:10])


def _paper(article: Element) -> Paper:
    # A book's record is one level flatter than an article's.
    citation = article.find("MedlineCitation")
    body = citation.find("Article") if citation is not None else article.find("BookDocument")
    if body is None:
        return Paper("")
    pmid = clean(text_of(citation if citation is not None else body, "PMID"))
    types = [clean(text_of(each)) for each in body.iter("PublicationType")]
    book = citation is None
    return Paper(
        title=clean(text_of(body, "ArticleTitle") or text_of(body, "Book/BookTitle")).rstrip("."),
        authors=names([_name(author) for author in body.findall("AuthorList/Author")]),
        year=_year(body),
        venue=clean(text_of(body, "Journal/Title") or text_of(body, "Book/BookTitle")),
        kind="chapter" if book else kind_of(types, PUBMED_KINDS) if types else "",
        doi=_doi(article, body),
        url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/" if pmid.isdigit() else "",
        abstract=_abstract(body),
        fields=("Medicine",),
    )


def _abstract(body: Element) -> str:
    pieces = [
        clean(text_of(each), LONGEST_ABSTRACT) for each in body.findall("Abstract/AbstractText")
    ]
    return clean(" ".join(pieces), LONGEST_ABSTRACT)


def _name(author: Element) -> str:
    given = text_of(author, "ForeName") or text_of(author, "Initials")
    return f"{given} {text_of(author, 'LastName')}".strip() or text_of(author, "CollectiveName")


def _year(body: Element) -> int | None:
    for path in (
        "Journal/JournalIssue/PubDate/Year",
        "Journal/JournalIssue/PubDate/MedlineDate",
        "ArticleDate/Year",
        "Book/PubDate/Year",
    ):
        found = year(text_of(body, path))
        if found is not None:
            return found
    return None


def _doi(article: Element, body: Element) -> str:
    """Return the article's own DOI; the ids of its references stand deeper in the same record."""
    listed = [
        *article.findall("PubmedData/ArticleIdList/ArticleId"),
        *article.findall("PubmedBookData/ArticleIdList/ArticleId"),
    ]
    named = [each for each in listed if each.get("IdType") == "doi"]
    named += [each for each in body.findall("ELocationID") if each.get("EIdType") == "doi"]
    return next((doi for each in named if (doi := plain_doi(text_of(each)))), "")


def pubmed(access: Access = ACCESS) -> PubMed:
    """Return the database, at its public address unless told otherwise."""
    return PubMed(
        access=access,
        key="pubmed",
        label="PubMed",
        tool="search_pubmed",
        # Ids beyond the first ten thousand are not given out.
        cap=10_000,
        profile=Profile(
            "medicine and the life sciences",
            fields=_FIELDS,
            equivalents=("semantic_scholar", "openalex"),
        ),
    )
