"""What is known of one paper, in every database alike, and when two records mean the same paper.

A paper is known by its DOI, its arXiv id without the version, and its title; one of them in common
is enough, because a preprint and its publication share a title but no DOI.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

# "Editorial" and "Deep learning" are titles of many papers; four words rarely are.
_TELLING_WORDS = 4
_WORD = re.compile(r"[^\W_]+")
_DOI = re.compile(r"10\.\d{4,9}/\S+")
_ARXIV_DOI = re.compile(r"10\.48550/arxiv\.(.+)", re.IGNORECASE)
_ARXIV = re.compile(r"(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Paper:
    """A bibliographic record; what a database does not tell stays empty, or None for a number."""

    title: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str = ""
    kind: str = ""
    doi: str = ""
    arxiv: str = ""
    url: str = ""
    citations: int | None = None
    abstract: str = ""
    fields: tuple[str, ...] = ()
    open_access: bool | None = None


def identity(paper: Paper) -> tuple[str, ...]:
    """Return the keys that the paper is known by, the surest first; never empty."""
    doi, arxiv = plain_doi(paper.doi), plain_arxiv(paper.arxiv)
    if preprint := _ARXIV_DOI.fullmatch(doi):
        doi, arxiv = "", arxiv or plain_arxiv(preprint.group(1))
    words = _words(paper.title)
    telling = len(words) >= _TELLING_WORDS or not (doi or arxiv)
    keys = (
        f"doi:{doi}" if doi else "",
        f"arxiv:{arxiv}" if arxiv else "",
        f"title:{' '.join(words)}" if telling else "",
    )
    return tuple(key for key in keys if key)


def distinct(papers: Iterable[Paper]) -> tuple[Paper, ...]:
    """Return the papers without repetitions; the first of each stays, in the order given."""
    seen: set[str] = set()
    kept: list[Paper] = []
    for paper in papers:
        keys = identity(paper)
        if seen.isdisjoint(keys):
            kept.append(paper)
        # Also those of a repetition: it may know the DOI that a third record has alone.
        seen.update(keys)
    return tuple(kept)


def plain_doi(text: str) -> str:
    """Return the DOI in the text in lower case, without resolver or prefix; empty if none."""
    found = _DOI.search(text)
    return found.group().rstrip(".,;").lower() if found else ""


def plain_arxiv(text: str) -> str:
    """Return the arXiv id in the text without its version; empty if none."""
    found = _ARXIV.search(text)
    return found.group().lower() if found else ""


def _words(title: str) -> list[str]:
    folded = unicodedata.normalize("NFKD", title).casefold()
    return _WORD.findall("".join(c for c in folded if not unicodedata.combining(c)))
