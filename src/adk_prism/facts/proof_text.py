"""Confidence, sources and reasons read from an answer's text, in whatever Markdown it is written.

A fold over lines. It keeps the section that a line stands in (headings, bold beginnings), what was
announced (`Confidence:` and then a list), the columns of a table, and code, which is no statement unless
it is data. What seems to state a confidence and cannot be read is kept as such; nothing is made up.

The corpus in `tests/facts/proof_corpus.py` says how each form is read. One pass, no pattern that tries
again: a megabyte takes as long as its thousand kilobytes (`benchmarks/proof.py`).
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from adk_prism.facts import citation_text, confidence_text
from adk_prism.facts.confidence_item import Item
from adk_prism.facts.confidence_text import Fault, Statement, read_below, read_statements
from adk_prism.facts.markdown_line import (
    FENCE,
    Line,
    bold_lead,
    cells_of,
    heading_level,
    is_rule,
    is_underline,
    read_line,
)
from adk_prism.facts.proof_model import Citation, Reading, Unread

MOST = 256
"""Pieces of each kind that are read from one text. A person reads fewer; the text itself has them all."""
LONGEST = 400
"""Characters of a quoted piece."""

_REASON_STEMS = ("reason", "rationale", "justif", "begründung", "razonamiento", "methodology")
STEMS = (*confidence_text.STEMS, *citation_text.STEMS, *_REASON_STEMS)
_REASON = re.compile(
    r"(?:the\s)?(?P<label>(?:chain of\s)?reasoning(?:\s(?:chain|steps))?|rationale|justification|reasons?"
    r"|begründung|razonamiento|methodology)(?!\w)\s{0,2}(?P<colon>:?)\s{0,4}",
    re.I,
)
_DATA_FENCES = frozenset(("", "json", "yaml", "yml", "toml", "text", "txt", "md", "markdown"))

Announced = Literal["confidence", "source", "reason", ""]


class ProofText(Struct, frozen=True, gc=False):
    """What was read from one text."""

    readings: list[Reading]
    citations: list[Citation]
    reasons: list[str]
    unread: list[Unread]
    omitted: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.readings or self.citations or self.reasons or self.unread)


NOTHING_READ = ProofText([], [], [], [])


def may_hold_proof(text: str) -> bool:
    """Tell cheaply whether a text can have anything to read. A wrong yes only costs time."""
    lowered = text.lower()
    return any(stem in lowered for stem in STEMS)


def read_proof_text(text: str, cursor: int = 0) -> ProofText:
    """Read a text; each piece is traced to the entry at `cursor`. Never raises."""
    if not may_hold_proof(text):
        return NOTHING_READ
    reader = _TextReader(cursor)
    lines = text.splitlines()
    closed = _closed_fences(lines)
    for number, raw in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        reader.take(raw, following, number in closed)
    return reader.result()


def _closed_fences(lines: list[str]) -> frozenset[int]:
    """Return the lines that open or close code; a fence that is never closed is none."""
    fences = [
        n for n, raw in enumerate(lines) if ("```" in raw or "~~~" in raw) and FENCE.match(raw)
    ]
    return frozenset(fences[: len(fences) - len(fences) % 2])


class _Section:
    """Where in the text a line stands."""

    def __init__(self) -> None:
        self._headings: list[tuple[int, str]] = []
        self._lead = ""

    @property
    def name(self) -> str:
        if self._lead:
            return self._lead
        return next((name for _, name in reversed(self._headings) if name), "")

    def open(self, level: int, name: str) -> None:
        """Begin a section; one without a name belongs to the one around it."""
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._headings.append((level, name))
        self._lead = ""

    def lead(self, name: str) -> None:
        self._lead = name


_BOLD_HEADING = 7
"""The level of a bold line that stands for a heading: below every real one."""


class _TextReader:
    """Reads one text, line by line."""

    def __init__(self, cursor: int) -> None:
        self._cursor = cursor
        self._readings: list[Reading] = []
        self._citations: dict[tuple[str, str, str], Citation] = {}
        self._reasons: list[str] = []
        self._unread: dict[tuple[str, str], Unread] = {}
        self._omitted = 0
        self._section = _Section()
        self._announced: Announced = ""
        self._label = ""
        """The word by which sources were announced."""
        self._until_blank = False
        self._in_code = False
        self._is_data = True
        self._columns: list[Announced] = []
        self._heads: list[str] = []

    def result(self) -> ProofText:
        return ProofText(
            self._readings,
            list(self._citations.values()),
            self._reasons,
            list(self._unread.values()),
            self._omitted,
        )

    # -------------------------------------------------------------- lines

    def take(self, raw: str, following: str, is_fence: bool) -> None:
        if is_fence:
            self._fence(raw)
        elif self._in_code and not self._is_data:
            return
        elif not raw or raw.isspace():
            self._blank()
        elif "|" in raw and self._table(raw, following):
            return
        else:
            self._line(raw, following)

    def _fence(self, raw: str) -> None:
        self._in_code = not self._in_code
        match = FENCE.match(raw)
        if self._in_code and match is not None:
            self._is_data = match["language"].lower() in _DATA_FENCES

    def _blank(self) -> None:
        self._section.lead("")
        self._columns = []
        if self._until_blank:
            self._announced = ""

    def _line(self, raw: str, following: str) -> None:
        self._columns = []
        level = heading_level(raw)
        if not level and following and is_underline(following) and len(raw) <= 120:
            level = 1 if "=" in following else 2
        if level:
            self._heading(level, raw)
            return
        lead, alone = bold_lead(raw) if "**" in raw or "__" in raw else ("", False)
        if lead and not _announces(lead):
            if alone:
                self._section.open(_BOLD_HEADING, lead)
                self._announced = ""
                return
            self._section.lead(lead)
        self._text(raw)

    def _heading(self, level: int, raw: str) -> None:
        line = read_line(raw)
        announced = _announces(line.text)
        self._section.open(level, "" if announced else line.text.strip(" :"))
        self._announced, self._until_blank = announced, False
        self._label = citation_text.label_of(line.text) if announced == "source" else ""
        if announced:
            self._statements(line)

    def _text(self, raw: str) -> None:
        lowered = raw.lower()
        if not self._announced and not any(stem in lowered for stem in STEMS):
            return
        line = read_line(raw)
        if not self._labelled(line):
            self._below(line)

    # -------------------------------------------------------------- labels

    def _labelled(self, line: Line) -> bool:
        """Read the labels of a line; tell whether there were any."""
        if self._announce(line):
            return True
        stated = self._statements(line)
        cited = self._cited(line)
        if not cited:
            for law in citation_text.read_laws(line.text):
                self._cite(law)
        return stated or cited

    def _announce(self, line: Line) -> bool:
        """Take a label whose list follows, or a reason."""
        if confidence_text.is_label_alone(line.text):
            self._announced, self._until_blank = "confidence", True
            return True
        reason = _REASON.match(line.text)
        if reason is None or not reason["colon"]:
            return False
        said = line.text[reason.end() :].strip()
        if said:
            self._reason(said)
        self._announced, self._until_blank = "" if said else "reason", True
        return True

    def _statements(self, line: Line) -> bool:
        found = False
        for stated in read_statements(line):
            self._state(stated)
            found = True
        return found

    def _cited(self, line: Line) -> bool:
        found = False
        for label, tail in citation_text.read_labelled(line):
            found = True
            if tail.strip(" \"'[{("):
                for citation in citation_text.read_citations(tail, label):
                    self._cite(citation)
            else:
                self._announced, self._label, self._until_blank = "source", label, True
        return found

    def _below(self, line: Line) -> None:
        """Read a line without a label, as what was announced above it."""
        if self._announced == "confidence":
            stated = read_below(line.text)
            if stated is not None:
                self._state(stated)
        elif self._announced == "source":
            self._source_below(line)
        elif self._announced == "reason":
            self._reason(line.text)

    def _source_below(self, line: Line) -> None:
        if line.is_item or self._until_blank:
            for citation in citation_text.read_citations(line.text, self._label):
                self._cite(citation)

    # -------------------------------------------------------------- tables

    def _table(self, raw: str, following: str) -> bool:
        """Take a row of a table; tell whether it was one with columns that are read."""
        if is_rule(following):
            self._heads = [read_line(cell).text for cell in cells_of(raw)]
            self._columns = [_announces(head) for head in self._heads]
            return any(self._columns)
        if not any(self._columns):
            return False
        if is_rule(raw):
            return True
        cells = [read_line(cell).text for cell in cells_of(raw)]
        for index, (kind, cell) in enumerate(zip(self._columns, cells, strict=False)):
            self._cell(kind, cell, cells[0] if index else "", self._heads[index])
        return True

    def _cell(self, kind: Announced, cell: str, row: str, head: str) -> None:
        if kind == "confidence":
            stated = read_below(cell)
            if isinstance(stated, Statement):
                named = [Item(i.value, i.about or row, i.overall, i.reason) for i in stated.items]
                stated = Statement(f"{row} | {cell}" if row else cell, named)
            if stated is not None:
                self._state(stated)
        elif kind == "source":
            for citation in citation_text.read_citations(cell, head):
                self._cite(citation)
        elif kind == "reason" and cell:
            self._reason(cell)

    # -------------------------------------------------------------- pieces

    def _state(self, stated: Statement | Fault) -> None:
        if isinstance(stated, Fault):
            self._fail(stated.text, stated.reason)
            return
        for item in stated.items:
            if item.value.fault:
                self._fail(stated.text, item.value.fault)
            elif self._has_room(self._readings):
                self._readings.append(self._reading(item, stated.text))

    def _reading(self, item: Item, text: str) -> Reading:
        value = item.value
        return Reading(
            value.value,
            _cut(text),
            "parsed",
            self._cursor,
            value.level,
            value.low,
            value.high,
            value.bound,
            item.overall,
            _cut(item.about),
            _cut(self._section.name),
            _cut(item.reason),
        )

    def _fail(self, text: str, reason: str) -> None:
        if self._has_room(self._unread):
            unread = Unread(_cut(text), reason, self._cursor)
            self._unread.setdefault((unread.text, reason), unread)

    def _cite(self, found: Citation) -> None:
        key = (found.source, found.reference, found.uri)
        if key not in self._citations and self._has_room(self._citations):
            self._citations[key] = Citation(
                _cut(found.source),
                _cut(found.reference),
                found.uri,
                _cut(found.excerpt),
                label=found.label,
                section=_cut(self._section.name),
                cursor=self._cursor,
            )

    def _reason(self, text: str) -> None:
        if text.strip() and self._has_room(self._reasons):
            self._reasons.append(_cut(text.strip()))

    def _has_room(
        self,
        pieces: list[Reading]
        | list[str]
        | dict[tuple[str, str, str], Citation]
        | dict[tuple[str, str], Unread],
    ) -> bool:
        if len(pieces) < MOST:
            return True
        self._omitted += 1
        return False


def _announces(text: str) -> Announced:
    """Tell what a heading, a bold beginning or a column's head announces."""
    if confidence_text.LABEL.search(text):
        return "confidence"
    if citation_text.LABEL.match(text):
        return "source"
    return "reason" if _REASON.match(text) else ""


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
