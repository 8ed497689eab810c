"""Claims of an answer, and which of them have no citation.

A claim is a sentence, a list item or a row with a figure in it: what a reader might want to check. The
numbers of lists, headings and confidences do not count, nor does a question. It
is cited by a mark (`[1]`), a link or a law in it, by the name of any cited source, or by a citation in the
same section. Whether the source supports the claim is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from adk_prism.facts.proof_model import Citation, Claim

_SENTENCE = re.compile(r"[.!?]+[\"”)]*(?:\s+|$)")
_FIGURE = re.compile(r"\d")
_MARK = re.compile(r"\[\^?\d{1,3}\]")
_LAW = re.compile(r"\b(?:\d{1,3}\s(?:CFR|FR|USC|U\.S\.C\.)\s|(?:FSM|FSH)\s\d)")
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


def says(text: str, claim: str) -> bool:
    """Return whether a text makes a claim in the same words."""
    place = text.find(claim)
    while place > 0 and text[place - 1].isalnum():
        place = text.find(claim, place + 1)
    return place >= 0


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
