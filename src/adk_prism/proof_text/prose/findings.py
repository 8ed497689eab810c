"""What has been read from one text so far: statements, citations, reasons, and what could not be read.

Limits their number: a person reads fewer pieces. What is left out is counted.
"""

from __future__ import annotations

from collections.abc import Sized

from msgspec import Struct

from adk_prism.facts.proof_model import Citation, Claim, Reading, Unread
from adk_prism.proof_text.prose.citation_text import Cited
from adk_prism.proof_text.prose.confidence_item import Item
from adk_prism.proof_text.prose.confidence_text import Fault, Statement
from adk_prism.proof_text.prose.inline_citation import Inline
from adk_prism.proof_text.unique_citations import words

MOST = 256
"""Pieces of each kind that are kept of one text."""
LONGEST = 400
"""Characters of a quoted piece."""


class ProofText(Struct, frozen=True, gc=False):
    """What was read from one text."""

    readings: list[Reading]
    citations: list[Citation]
    reasons: list[str]
    unread: list[Unread]
    figures: list[Claim]
    """Sentences with a figure and no citation of their own, if they were asked for."""
    omitted: int = 0


class TextPieces:
    """Collects the pieces of one text."""

    def __init__(self, cursor: int) -> None:
        self._cursor = cursor
        self._readings: list[Reading] = []
        self._citations: dict[tuple[str, str, str], Citation] = {}
        self._by_author: dict[tuple[str, str, str], bool] = {}
        """Those that may be short forms of others, and whether each is one name only."""
        self._reasons: list[str] = []
        self._unread: dict[tuple[str, str], Unread] = {}
        self._figures: list[Claim] = []
        self.omitted = 0

    def result(self) -> ProofText:
        """Return what has been collected."""
        return ProofText(
            self._readings,
            self._listed(),
            self._reasons,
            list(self._unread.values()),
            self._figures,
            self.omitted,
        )

    def _listed(self) -> list[Citation]:
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
        return len(self._readings) >= MOST

    def state(self, stated: Statement | Fault, section: str) -> None:
        """Keep a statement, or the words that could not be read as one."""
        if isinstance(stated, Fault):
            self._fail(stated.text, stated.reason)
            return
        for item in stated.items:
            if item.value.fault:
                self._fail(stated.text, item.value.fault)
            elif self._has_room(self._readings):
                self._readings.append(self._reading(item, stated.text, section))

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
        if text.strip() and self._has_room(self._reasons):
            self._reasons.append(cut(text.strip()))

    def figure(self, sentence: str, section: str) -> None:
        """Keep a sentence with a figure."""
        if self._has_room(self._figures):
            self._figures.append(Claim(cut(sentence), cut(section)))

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
