"""Claims of an answer, and which of them have no citation.

A claim is a sentence, a list item or a row with a figure in it: what a reader might want to check. The
numbers of lists, headings and confidences do not count, nor does a question. It
is cited by a mark (`[1]`), a link or a law in it, by the name of any cited source, by a citation in the same
section, or by a text with citations that gives the same figures of the same things (`Evidence`). Whether
the source supports the claim is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from adk_prism.facts.proof_model import Citation, Claim
from adk_prism.proof_text.prose.sentence_end import NOT_ABBREVIATED

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
