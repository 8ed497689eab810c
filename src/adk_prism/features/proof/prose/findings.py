"""What has been read from one text so far: statements, citations, reasons, and what could not be read.

Limits their number: a person reads fewer pieces. What is left out is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Sized

from adk_prism.features.proof.model import Citation, Claim, Reading, Unread, words
from adk_prism.features.proof.prose.citations import Cited, Inline
from adk_prism.features.proof.prose.confidence_text import Fault, Statement
from adk_prism.features.proof.prose.confidence_value import Item
from adk_prism.features.proof.prose.markdown_line import NOT_ABBREVIATED

MOST = 256
"""Pieces of each kind that are kept of one text."""
LONGEST = 400
"""Characters of a quoted piece."""


class ProofText:
    """What has been read from one text."""

    def __init__(self, cursor: int) -> None:
        self._cursor = cursor
        self.readings: list[Reading] = []
        self._citations: dict[tuple[str, str, str], Citation] = {}
        self._by_author: dict[tuple[str, str, str], bool] = {}
        """Those that may be short forms of others, and whether each is one name only."""
        self.reasons: list[str] = []
        self._unread: dict[tuple[str, str], Unread] = {}
        self.figures: list[Claim] = []
        """Sentences with a figure and no citation of their own, if they were asked for."""
        self.omitted = 0

    @property
    def unread(self) -> list[Unread]:
        """What seems to be about confidence, and could not be read."""
        return list(self._unread.values())

    @property
    def citations(self) -> list[Citation]:
        """Return the citations without short forms of those that a list gives in full, and without
        single names if no other author is cited."""
        if not self._by_author:
            return list(self._citations.values())
        full = [
            set(words(f"{citation.source} {citation.reference}").split())
            for key, citation in self._citations.items()
            if key not in self._by_author
        ]
        alone = all(self._by_author.values())
        return [
            citation
            for key, citation in self._citations.items()
            if key not in self._by_author or not (alone or _is_short_form(citation, full))
        ]

    @property
    def is_full(self) -> bool:
        """Return whether no further confidence would be kept."""
        return len(self.readings) >= MOST

    def state(self, stated: Statement | Fault, section: str) -> None:
        """Keep a statement, or the words that could not be read as one."""
        if isinstance(stated, Fault):
            self._fail(stated.text, stated.reason)
            return
        for item in stated.items:
            if item.value.fault:
                self._fail(stated.text, item.value.fault)
            elif self._has_room(self.readings):
                self.readings.append(self._reading(item, stated.text, section))

    def _reading(self, item: Item, text: str, section: str) -> Reading:
        value = item.value
        return Reading(
            value.value,
            cut(text),
            "parsed",
            self._cursor,
            value.level,
            value.low,
            value.high,
            value.bound,
            item.overall,
            cut(item.about) if item.about != section else "",
            cut(section),
            cut(item.reason),
        )

    def _fail(self, text: str, reason: str) -> None:
        if self._has_room(self._unread):
            unread = Unread(cut(text), reason, self._cursor)
            self._unread.setdefault((unread.text, reason), unread)

    def cite(self, found: Cited, section: str) -> None:
        """Keep a citation, once."""
        key = (found.source, found.reference, found.uri)
        if key not in self._citations and self._has_room(self._citations):
            self._citations[key] = Citation(
                cut(found.source),
                "parsed",
                self._cursor,
                cut(found.reference),
                found.uri,
                cut(found.excerpt),
                label=found.label,
                section=cut(section),
            )

    def cite_inline(self, found: Inline, section: str) -> None:
        """Keep a source that a sentence names, once."""
        self.cite(Cited(found.source, uri=found.uri), section)
        if found.by_author:
            self._by_author[found.source, "", found.uri] = found.is_single

    def reason(self, text: str) -> None:
        """Keep a step of reasoning."""
        if text.strip() and self._has_room(self.reasons):
            self.reasons.append(cut(text.strip()))

    def figure(self, sentence: str, section: str) -> None:
        """Keep a sentence with a figure."""
        if self._has_room(self.figures):
            self.figures.append(Claim(cut(sentence), cut(section)))

    def _has_room(self, pieces: Sized) -> bool:
        if len(pieces) < MOST:
            return True
        self.omitted += 1
        return False


_JOINING = frozenset("and und et al y".split())


def _is_short_form(citation: Citation, full: list[set[str]]) -> bool:
    """Return whether a citation is the short form of one in a list."""
    named = set(words(citation.source).split()) - _JOINING
    return any(named <= others for others in full)


def cut(text: str) -> str:
    """Return a text, shortened to the length of a quotation."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


# ---------------------------------------------------------------------------
# Claims of an answer, and which of them have no citation.
#
# A claim is a sentence, a list item or a row with a figure in it: what a reader might want to check.
# The numbers of lists, headings and confidences do not count, nor does a question. It is cited by a
# mark (`[1]`), a link or a law in it, by the name of any cited source, by a citation in the same
# section, or by a text with citations that gives the same figures of the same things (`Evidence`).
# Whether the source supports the claim is not checked.

_SENTENCE = re.compile(rf"{NOT_ABBREVIATED}[.!?]+[\"”)]*(?:\s+|$)")
_FIGURE = re.compile(r"\d")
_MARK = re.compile(r"\[\^?\d{1,3}\]")
_LAW = re.compile(r"\b(?:\d{1,3}\s(?:CFR|FR|USC|U\.S\.C\.)\s|(?:FSM|FSH)\s\d)|§\s?\d")
_SHORTEST = 3
"""Letters of a source's name: shorter ones occur in too many words."""


def figures(text: str, stated: Sequence[str]) -> Iterator[str]:
    """Yield the sentences of a line that claim a figure, and cite nothing themselves.

    `stated` are the statements of confidence in it, whose numbers do not count.
    """
    for sentence in _sentences(text):
        bare = sentence
        for statement in stated:
            bare = bare.replace(statement, "")
        if _FIGURE.search(bare) and not _cites(sentence) and not sentence.endswith("?"):
            claim = bare.replace("()", "").strip(" ;,")
            if len(claim.split()) > 1:
                yield claim


def _cites(sentence: str) -> bool:
    """Return whether a sentence itself cites a source."""
    if "](" in sentence or "://" in sentence or "source:" in sentence.lower():
        return True
    return ("[" in sentence and _MARK.search(sentence) is not None) or _LAW.search(
        sentence
    ) is not None


def _sentences(text: str) -> Iterator[str]:
    start = 0
    for match in _SENTENCE.finditer(text):
        yield text[start : match.end()].strip()
        start = match.end()
    if start < len(text):
        yield text[start:].strip()


class Evidence:
    """A text with citations, in which the figures of an answer's claims are looked for."""

    def __init__(self, text: str) -> None:
        self._ids, self._numbers = _figures_of(text)
        self._numbers |= {float(_NUMBER_WORDS[w]) for w in _words_of(text) if w in _NUMBER_WORDS}
        self._words = set(map(_stem, _words_of(text)))

    def supports(self, claim: str) -> bool:
        """Return whether the text has every figure of a claim, and speaks of the same things.

        The heading that a claim stands behind ("Infrastructure Damage: 2 bridges out") is not part of it, a
        figure may be rounded, spelt out, or say by how much two others of the claim differ.
        """
        claim = _HEADING.sub("", claim, count=1)
        ids, numbers = _figures_of(claim)
        known = set(filter(self._has, numbers))
        if not ids <= self._ids or not numbers - known <= _differences(claim, known):
            return False
        words = {_stem(word) for word in _words_of(claim) if word not in _NUMBER_WORDS}
        share = 0 if sum(map(_is_telling, known)) > 1 else _SHARED
        return not words or len(words & self._words) >= max(1, share * len(words))

    def _has(self, number: float) -> bool:
        if number in self._numbers:
            return True
        digits = _rounded_to(number)
        return any(round(each, digits) == number for each in self._numbers)


_HEADING = re.compile(r"^\s*(?:[A-Z][\w&/()\-]*\s+){0,5}[A-Z(][\w&/()\-]*:\s+")
_ID = re.compile(r"\b(?:[A-Za-z]{1,5}-?\d[\w-]*|\d{4}-\d{2}-\d{2})\b")
"""Names with figures in them (`T01`, `S06-B`) and days: they are looked for as they are."""
_NUMBER = re.compile(
    r"(\d[\d,]*(?:\.\d+)?)(?:\s?(k|thousand|million|mn|bn|billion)\b|((?-i:M))\b)?", re.I
)
_SCALES = {"k": 3, "thousand": 3, "million": 6, "mn": 6, "m": 6, "bn": 9, "billion": 9}
"""Powers of ten that a word or letter behind a number stands for."""
_BY = re.compile(r"\bby\s+(?:about\s+|some\s+)?[$€£]?(\d[\d,]*(?:\.\d+)?)", re.I)
_WORD = re.compile(r"[^\W\d_]{3,}")
_NUMBER_WORDS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_DULL = frozenset(
    "and are but for from has have its not per the that their this was were which will with about over under "
    "than then they them these those into onto also been being confidence overall synthetic".split()
)
_SHARED = 0.3
"""Of a claim's words: a figure alone may be anybody's. Two telling ones need one word in common."""
_SMALL = 12
_YEARS = range(1900, 2101)


def _is_telling(number: float) -> bool:
    """Return whether a figure is hardly two things' by chance: no small number, and no year."""
    return number != int(number) or (number > _SMALL and int(number) not in _YEARS)


def _figures_of(text: str) -> tuple[set[str], set[float]]:
    """Return the names and days with figures, and the numbers, of a text."""
    ids = {found.group().lower() for found in _ID.finditer(text)}
    numbers = _NUMBER.findall(_ID.sub(" ", text))
    return ids, {_scaled(number, word or letter) for number, word, letter in numbers}


def _scaled(number: str, scale: str) -> float:
    return round(float(number.replace(",", "")) * 10.0 ** _SCALES.get(scale.lower(), 0), 6)


def _differences(claim: str, known: set[float]) -> set[float]:
    """Return the figures by which a claim says that two of its known ones differ: "up by 2, from 3 to 5"."""
    stated = {_scaled(number, "") for number in _BY.findall(claim)}
    return {each for each in stated if any(round(a - b, 6) == each for a in known for b in known)}


def _rounded_to(number: float) -> int:
    """Return the digits behind the point that a number was rounded to; below 0 for 127,000."""
    if number != int(number):
        return len(f"{number:.10f}".rstrip("0").partition(".")[2])
    zeros = len(str(int(number))) - len(str(int(number)).rstrip("0")) if number else 0
    return -zeros


def _words_of(text: str) -> Iterator[str]:
    return (word for word in _WORD.findall(text.lower()) if word not in _DULL)


def _stem(word: str) -> str:
    """Return the beginning of a word, so that its forms are one: bridge, bridges."""
    return word[:5]


def uncited(
    claims: Iterable[Claim], own: Iterable[Citation], others: Iterable[Citation]
) -> list[Claim]:
    """Return the claims that neither the answer's `own` citations nor those of `others` cover."""
    own = list(own)
    sections = {citation.section for citation in own}
    cited = {citation.source for citation in (*own, *others)}
    names = sorted(name for name in cited if len(name) >= _SHORTEST)
    return [
        claim
        for claim in claims
        if claim.section not in sections and not any(name in claim.text for name in names)
    ]
