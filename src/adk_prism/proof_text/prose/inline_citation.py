"""Citations inside sentences, without a label: laws by their numbers, authors with a year, DOIs.

`36 CFR 220.6(e)(13)`, `FSM 2523`, `Art. 33 GDPR`, `Civ. Code § 1671(b)`; `(Hood & Bentz, 2007; Ryan et
al., 1988)`, `Lowell et al. (1992)`; `doi:10.2737/PNW-GTR-292`. One name with a year in brackets is an
author only after a lower-case word, in a text that also cites several authors: otherwise it is a place and
a date (`the Bootleg Fire (Oregon, 2021)`, `the agreement (Paris, 2015)`).

Patterns are bounded and not nested: the cost of a line is linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

LAWS = ("CFR", "C.F.R.", " FR ", "USC", "U.S.C.", "FSM", "FSH", "Art", "§")
"""Every law number that is read contains one of these."""

_LAW = re.compile(
    r"\b(?:\d{1,3}\s(?:CFR|C\.F\.R\.|FR|USC|U\.S\.C\.)\s(?:§{1,2}\s?|[Pp]art\s)?\d|(?:FSM|FSH)\s\d)"
    r"[\w.]*(?:\([a-zA-Z0-9]{1,4}\))*"
)
_ARTICLE = re.compile(r"\bArt(?:\.|icle)\s\d{1,4}[a-z]?(?:\(\w{1,4}\)){0,4}\s[A-Z][A-Za-z]*[A-Z]\b")
_SECTION = re.compile(
    r"(?<![\w.])(?!(?:Under|See|By|In|Per|The|With|Nach|Laut|As|And|Or|If|Both|Pursuant)\s)"
    r"(?:[A-Z][\w.]{1,20}\s(?:&\s)?){1,6}§{1,2}\s?\d[\w.]*(?:\([a-zA-Z0-9]{1,4}\))*"
)
_PARAGRAPH = re.compile(
    r"§{1,2}\s?\d{1,4}[a-z]?(?:\s(?:Abs\.|Satz|Nr\.|lit\.|Alt\.)\s?\w{1,4}){0,4}\s[A-Z][A-Za-z]*[A-Z]\b"
)
"""As German law is cited: `§ 543 Abs. 2 Nr. 3 BGB`."""
_YEAR = r"(?:1[5-9]|20)\d\d[a-z]?"
_NAME = r"[^\W\d_a-zß-öø-ÿ][\w'’-]{1,40}"
_SEVERAL = rf"{_NAME}(?:,?\set\sal\.?|(?:,\s{_NAME}){{0,4}},?\s(?:&|and|und|et|y)\s{_NAME})"
_LEAD = r"(?:(?:see|cf\.|e\.g\.,?|vgl\.)\s)?"
_PAGES = r"(?:,\s(?:pp?\.\s?)?\d{1,5}(?:[-–]\d{1,5})?)?"
_BRACKETS = re.compile(r"\((?P<inside>[^()]{4,300})\)")
_AUTHORS = re.compile(rf"{_LEAD}(?P<who>{_SEVERAL}),?\s(?P<year>{_YEAR}){_PAGES}")
_AUTHOR = re.compile(rf"{_LEAD}(?P<who>{_NAME}),\s(?P<year>{_YEAR}){_PAGES}")
_IN_TEXT = re.compile(rf"(?<!\w)(?P<who>{_SEVERAL})\s\((?P<year>{_YEAR})\)")
_WORD_BEFORE = re.compile(r"(?P<word>[\w'’-]{1,40})[^\w\s]?$")
_DATES = frozenset(
    """january february march april may june july august september october november december jan feb mar apr
    jun jul aug sep sept oct nov dec spring summer autumn fall winter early mid late since""".split()
)
_DOI = re.compile(
    r"(?:https?://(?:dx\.)?doi\.org/|\bdoi:\s?)(?P<doi>10\.\d{4,9}/[^\s<>()\[\]\"',;]{1,200})", re.I
)
_MAY_HOLD = re.compile(rf"\({_YEAR}\)|\s{_YEAR}(?:,[^()]{{0,20}})?[);]|doi[:.]", re.I)


_LAWS = ((LAWS[:-2], _LAW), (LAWS[-2:-1], _ARTICLE), (LAWS[-1:], _SECTION), (LAWS[-1:], _PARAGRAPH))
"""Each pattern with what any match of it contains."""


class Inline(Struct, frozen=True, gc=False):
    """A source that a sentence names."""

    source: str
    uri: str = ""
    by_author: bool = False
    """It may be the short form of a source that a list gives in full."""
    is_single: bool = False
    """One name, which counts only if other authors are cited."""


def may_cite(text: str) -> bool:
    """Return whether a text may name a source. A false positive only costs time."""
    return has_any(text, LAWS) or _MAY_HOLD.search(text) is not None


def has_any(text: str, signs: tuple[str, ...]) -> bool:
    """Return whether a text contains one of some signs."""
    for sign in signs:  # noqa: SIM110 - runs for every line: a generator takes twice as long
        if sign in text:
            return True
    return False


def read_inline(text: str) -> Iterator[Inline]:
    """Yield the sources that a line names inside its sentences."""
    for signs, pattern in _LAWS:
        if has_any(text, signs):
            for law in pattern.finditer(text):
                yield Inline(law[0].rstrip("."))
    if _MAY_HOLD.search(text) is None:
        return
    for match in _IN_TEXT.finditer(text):
        yield _authored(match)
    for match in _BRACKETS.finditer(text):
        yield from _bracketed(match["inside"], text[: match.start("inside") - 1].rstrip())
    for match in _DOI.finditer(text):
        address = f"https://doi.org/{match['doi'].rstrip('.:')}"
        yield Inline(address, address)


def _bracketed(inside: str, before: str) -> Iterator[Inline]:
    """Yield the authors of a bracket; one name alone only if all its pieces are authors."""
    pieces = [piece.strip() for piece in inside.split(";")]
    several = [_AUTHORS.fullmatch(piece) for piece in pieces]
    single = [_AUTHOR.fullmatch(piece) for piece in pieces]
    is_list = all(one or other for one, other in zip(several, single, strict=True))
    for authors, author in zip(several, single, strict=True):
        if authors is not None:
            yield _authored(authors)
        elif author is not None and is_list and _is_author(author["who"], before):
            yield _authored(author, is_single=True)


def _is_author(name: str, before: str) -> bool:
    """Return whether a name is an author's, and not a place or month that belongs to the name before."""
    word = _WORD_BEFORE.search(before[-60:])
    return name.lower() not in _DATES and word is not None and word["word"].islower()


def _authored(match: re.Match[str], *, is_single: bool = False) -> Inline:
    who = match["who"].replace(", et", " et")
    return Inline(f"{who}, {match['year']}", by_author=True, is_single=is_single)
