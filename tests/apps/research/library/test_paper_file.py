"""The bundled papers: each can be found elsewhere, and was checked."""

from __future__ import annotations

import re
from collections import Counter

import httpx
import pytest
from tests.apps.research.databases.asking import adapter
from tests.apps.research.databases.recordings import of_service

from adk_prism_apps.research.databases import BadAnswer, Paper, distinct
from adk_prism_apps.research.databases.kinds import FIELDS, KINDS
from adk_prism_apps.research.databases.paper import plain_arxiv, plain_doi
from adk_prism_apps.research.library.paper_file import PaperFile, Row

ROWS = PaperFile().rows()


def test_every_row_has_an_identifier_and_a_check() -> None:
    """A DOI or an arXiv id in its plain form, a year, a kind, and what it was checked against."""
    for row in ROWS:
        assert row.doi or row.arxiv, row
        assert row.doi in ("", plain_doi(row.doi))
        assert row.arxiv in ("", plain_arxiv(row.arxiv))
        assert 1900 <= int(row.year) <= 2026
        assert row.kind in KINDS
        assert row.field in ("", *FIELDS)
        assert row.checked, row
        assert len(row.title) > 10
        assert not re.search(r"<|&\w+;|\s\s|[\x00-\x1f]", "".join(_texts(row))), row


def _texts(row: Row) -> tuple[str, ...]:
    """Return all texts of a row."""
    return (row.title, row.authors, row.venue, row.topics)


def test_no_paper_stands_there_twice() -> None:
    """By DOI, arXiv id and title."""
    assert len(distinct(row.paper() for row in ROWS)) == len(ROWS) == PaperFile().size


def test_topics_are_wide_enough() -> None:
    """One subject in depth, others beside it."""
    assert sum(bool(row.topics) for row in ROWS) >= 200
    fields = Counter(row.field for row in ROWS)
    assert fields["Computer Science"] >= 200
    assert fields["Medicine"] >= 100


@pytest.mark.parametrize(
    ("service", "mark"),
    [("pubmed", "PubMed record"), ("arxiv", "arXiv record"), ("crossref", "Crossref record")],
)
def test_rows_checked_against_a_record_agree_with_it(service: str, mark: str) -> None:
    """The service's own recorded answer has the same identifier, title, year and authors."""
    known = {
        (key, paper.title, paper.year, paper.authors[:20])
        for paper in _recorded(service)
        for key in (paper.doi, paper.arxiv)
        if key
    }
    rows = [row for row in ROWS if row.checked == mark]
    assert len(rows) >= 100
    for row in rows:
        authors = tuple(row.authors.split("; "))
        assert (row.doi or row.arxiv, row.title, int(row.year), authors) in known, row


def test_authors_and_citations_are_there_wherever_a_record_has_them() -> None:
    """In the file, and in the paper that a search returns; a count is one that a service gave."""
    services = ("pubmed", "arxiv", "crossref", "openalex", "semantic_scholar")
    records = [paper for service in services for paper in _recorded(service)]
    authors = {key for paper in records if paper.authors for key in _ids(paper)}
    counts: dict[str, set[int]] = {}
    for paper in records:
        if paper.citations is not None:
            for key in _ids(paper):
                counts.setdefault(key, set()).add(paper.citations)
    counted = 0
    for row in ROWS:
        paper = row.paper()
        known = {count for key in _ids(paper) for count in counts.get(key, ())}
        assert paper.authors or authors.isdisjoint(_ids(paper)), row
        assert paper.citations in known if known else paper.citations is None, row
        counted += paper.citations is not None
    assert counted >= 300


def _ids(paper: Paper) -> list[str]:
    """Return the paper's plain DOI and arXiv id, as far as it has them."""
    return [each for each in (plain_doi(paper.doi), plain_arxiv(paper.arxiv)) if each]


def _recorded(service: str) -> list[Paper]:
    database = adapter(service)
    found: list[Paper] = []
    for each in of_service(service):
        answer = httpx.Response(each.status, headers=each.headers, content=each.body)
        if database.classify(answer) is None:
            try:
                found += database.parse(answer).papers
            except BadAnswer:
                continue
    return found
