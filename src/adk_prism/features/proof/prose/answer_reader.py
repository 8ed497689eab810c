"""Confidence, sources and reasons read from an answer's text, in whatever Markdown it is written.

A fold over lines. It tracks the section of a line (headings, bold beginnings), the label above a list
(`Confidence:`), the columns of a table, and code, which is skipped unless it is data. Text that seems to
state a confidence and cannot be read is kept as unread; nothing is guessed.

The corpus in `tests/features/proof/proof_corpus*.py` defines how each form is read. One pass without
backtracking patterns: the cost is linear in the length of the text (`benchmarks/proof.py`).
"""

from __future__ import annotations

import re
from typing import Literal

from adk_prism.features.proof.prose import citations, confidence_text, findings
from adk_prism.features.proof.prose import markdown_line as markdown
from adk_prism.features.proof.prose.citations import has_any, read_citations
from adk_prism.features.proof.prose.confidence_text import (
    Statement,
    read_below,
    read_cell,
    read_statements,
)
from adk_prism.features.proof.prose.confidence_value import Item
from adk_prism.features.proof.prose.findings import ProofText

# ---------------------------------------------------------------------------
# Reads the sources that sentences name, over the lines of a text.
#
# Keeps what one line leaves for a later one: the numbers by which sentences refer to notes (`[1]`),
# so that a line that begins with such a number is a source, and a bracket that is closed on the next
# line.

_MARK = re.compile(r"\S\s?\[(\d{1,3})\]")
_FOOTNOTE = re.compile(r"^[ \t>]{0,8}\[(?P<number>\d{1,3})\]:?[ \t]+(?=\S)", re.M)
"""A numbered note: a source, if a sentence before it refers to its number."""
_WORD_BEFORE_NAME = 40
"""Characters before a bracket in which the word before it is searched."""
_LONGEST_BRACKET = 300
"""The most characters in a bracket; a longer one is a paragraph and names no author."""


class InlineReader:
    """Reads the lines of one text."""

    def __init__(self, pieces: ProofText) -> None:
        self._pieces = pieces
        self._marks: set[str] = set()
        self._bracket = ""
        """What the line before has of a bracket that it does not close."""

    def blank(self) -> None:
        """End a paragraph."""
        self._bracket = ""

    def read(self, raw: str, section: str) -> bool:
        """Read the sources of a line; return whether it is a note of its own."""
        if not (self._bracket or "[" in raw or "(" in raw or citations.may_cite(raw)):
            return False
        note = _FOOTNOTE.match(raw) if "[" in raw else None
        text = markdown.read_line(raw).text
        if note is not None and note["number"] in self._marks:
            for citation in read_citations(text, f"[{note['number']}]", one=True):
                self._pieces.cite(citation, section)
            return True
        self._marks.update(_MARK.findall(raw) if "[" in raw else ())
        text = f"{self._bracket} {text}" if self._bracket else text
        for found in citations.read_inline(text):
            self._pieces.cite_inline(found, section)
        self._bracket = _unclosed(text)
        return False


def _unclosed(text: str) -> str:
    opens = text.rfind("(")
    if opens <= text.rfind(")") or len(text) - opens > _LONGEST_BRACKET:
        return ""
    return text[max(0, opens - _WORD_BEFORE_NAME) :]


# ---------------------------------------------------------------------------

LABELS = 4_096
"""The most labels that are read in one text. A text with more is useless to a person, and a hostile one
costs no more than this."""

_REASON_STEMS = ("reason", "rationale", "justif", "begründung", "razonamiento", "methodology")
_STEMS = (*confidence_text.STEMS, *citations.STEMS, *_REASON_STEMS)
_REASON = re.compile(
    r"(?:the\s)?(?P<label>(?:chain of\s)?reasoning(?:\s(?:chain|steps))?|rationale|justification|reasons?"
    r"|begründung|razonamiento|methodology)(?!\w)\s{0,2}(?P<colon>:?)\s{0,4}"
)
_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>confidence|certainty|sources?|citations?|references?|reasoning|rationale)"
    r"(?:\s[^<>]{0,80})?>(?P<list>\s{0,20}(?=<(?:source|citation|reference)\b))?",
    re.I,
)
_DATA_FENCES = frozenset(("", "json", "yaml", "yml", "toml", "text", "txt", "md", "markdown"))

_UNDERLINES = ("=", "-", " ")
_LONGEST_HEADING = 120
_LONGEST_NAMES = 200
"""Characters of a line that names sources and is not a list item."""
_SENTENCE_ENDS = (".", "!", "?", ":", ";")
_DIGIT = re.compile(r"\d")
_SETTING = re.compile(r"(?<!`)`[^`\n]{0,80}\w\s?[:=]\s?[^`\n]{1,80}`(?!`)")
_ENDS_OF_EDGES = frozenset(("target", "destination", "sink", "dest", "to"))
"""Column heads of a table of edges, whose `source` column is not a citation."""
_ALONE = re.compile(r"[ \t>]{0,8}(?:References|Sources|Bibliography|Citations|Works Cited)[ \t]*")
"""A line that serves as a heading."""

Announced = Literal["confidence", "source", "reason", ""]


def read_proof_text(text: str, cursor: int = 0, *, figures: bool = False) -> ProofText:
    """Read a text; each piece is traced to the entry at `cursor`. Never raises.

    With `figures`, return also the sentences that hold a figure and cite nothing.
    """
    lowered = text.lower()
    stems = tuple(stem for stem in _STEMS if stem in lowered)  # few: each line is searched for them
    reader = _TextReader(cursor, stems, figures)
    lines = (_TAG.sub(_label, text) if "</" in text else text).splitlines()
    closed = _closed_fences(lines)
    for number, raw in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        reader.take(raw, following, number in closed)
    return reader.pieces


def _label(tag: re.Match[str]) -> str:
    """Return a proof tag such as `<confidence>0.9</confidence>` as a label."""
    if tag["end"]:
        return f" | {tag['list'] or ''}"
    return tag["list"] if tag["list"] is not None else f"{tag['name'].capitalize()}: "


def _closed_fences(lines: list[str]) -> frozenset[int]:
    """Return the lines that open or close a code block; an unclosed fence does not count."""
    fences = [
        n
        for n, raw in enumerate(lines)
        if ("```" in raw or "~~~" in raw) and markdown.FENCE.match(raw)
    ]
    return frozenset(fences[: len(fences) - len(fences) % 2])


class _TextReader:
    """Reads one text, line by line."""

    def __init__(self, cursor: int, stems: tuple[str, ...], figures: bool) -> None:
        self.pieces = ProofText(cursor)
        self._stems = stems
        self._inline = InlineReader(self.pieces)
        self._wants_figures = figures
        self._section = markdown.Section()
        self._announced: Announced = ""
        self._label = ""
        """The label above a list of sources."""
        self._until_blank = False
        self._in_code = False
        self._is_data = True
        self._above = ""
        """The line before, if its sentence may continue."""
        self._labels_read = 0
        """How many labels have been read."""
        self._columns: list[Announced] = []
        self._heads: list[str] = []

    # -------------------------------------------------------------- lines

    def take(self, raw: str, following: str, is_fence: bool) -> None:
        if is_fence:
            self._fence(raw)
        elif self._in_code and not self._is_data:
            return
        elif not raw.strip(" \t>"):  # blank, in a quote as well
            self._blank()
        elif "|" in raw and self._table(raw, following):
            return
        else:
            self._line(raw, following)
            self._above = raw if not raw.rstrip().endswith(_SENTENCE_ENDS) else ""

    def _fence(self, raw: str) -> None:
        self._in_code = not self._in_code
        match = markdown.FENCE.match(raw)
        if self._in_code and match is not None:
            self._is_data = match["language"].lower() in _DATA_FENCES

    def _blank(self) -> None:
        self._above = ""
        self._inline.blank()
        self._section.lead("")
        self._columns = []
        if self._until_blank:
            self._announced = ""

    def _line(self, raw: str, following: str) -> None:
        self._columns = []
        level = markdown.heading_level(raw) if "#" in raw else 0
        if not level and following[:1] in _UNDERLINES and markdown.is_underline(following):
            level = _level_of(raw, following)
        if level:
            self._heading(level, raw)
            return
        if _ALONE.fullmatch(raw):
            self._announced, self._label, self._until_blank = "source", raw.strip(" \t>"), True
            return
        lead, alone = markdown.bold_lead(raw) if "**" in raw or "__" in raw else ("", False)
        announced = _announces(markdown.plain_line(lead)) if lead else ""
        if alone and announced in ("source", "reason"):
            self._announced, self._label, self._until_blank = announced, lead, True
            return
        if lead and not announced:
            if alone:
                self._section.open(markdown.BOLD_HEADING, lead)
                self._announced = ""
                return
            self._section.lead(lead)
        self._text(raw)

    def _heading(self, level: int, raw: str) -> None:
        line = markdown.read_line(raw)
        announced = _announces(line)
        labels = confidence_text.labels_of(line) if announced == "confidence" else []
        title = confidence_text.title_before(line, labels)
        self._section.open(level, title if announced else line.text.strip(" :"))
        self._announced, self._until_blank = "" if title else announced, False
        self._label = citations.label_of(line) if announced == "source" else ""
        self._statements(line, labels, [])

    def _text(self, raw: str) -> None:
        stated: list[str] = []
        if "`" in raw and not self._in_code:
            raw = _without_settings(raw)
        if self._announced or has_any(raw.lower(), self._stems):
            line = markdown.read_line(raw)
            if self._labelled(line, stated):
                return
            if not stated:
                self._below(line)
        if self._announced != "source" and self._inline.read(raw, self._section.name):
            return
        if self._wants_figures and not self._announced and not self._in_code and _DIGIT.search(raw):
            for sentence in findings.figures(markdown.read_line(raw).text, stated):
                self.pieces.figure(sentence, self._section.name)

    # -------------------------------------------------------------- labels

    def _labelled(self, line: markdown.Line, stated: list[str]) -> bool:
        """Read the labels of a line, its statements into `stated`; return whether it cites or announces."""
        labels = []
        if has_any(line.lowered, confidence_text.STEMS):
            labels = confidence_text.labels_of(line)
        if self._announce(line, labels):
            return True
        if labels:
            self._statements(line, labels, stated)
        return self._cited(line)

    def _announce(self, line: markdown.Line, labels: list[re.Match[str]]) -> bool:
        """Read a label above a list, or a reason."""
        if labels and confidence_text.is_label_alone(line, labels):
            self._announced, self._until_blank = "confidence", True
            return True
        reason = _REASON.match(line.lowered)
        if reason is None or not reason["colon"] or not line.is_label(reason.start("label")):
            return False
        said = line.text[reason.end() :].strip()
        if said:
            self.pieces.reason(said)
        self._announced, self._until_blank = "" if said else "reason", True
        return True

    def _statements(
        self, line: markdown.Line, labels: list[re.Match[str]], stated: list[str]
    ) -> None:
        above = self._above if line.text[:1].islower() and not line.is_item else ""
        for found in read_statements(line, self._afforded(labels), above):
            self.pieces.state(found, self._section.name)
            stated.append(found.text)

    def _afforded(self, labels: list[re.Match[str]]) -> list[re.Match[str]]:
        """Return the labels within the limit, and count the others as omitted."""
        most = 0 if self.pieces.is_full else max(0, LABELS - self._labels_read)
        self._labels_read += len(labels)
        self.pieces.omitted += max(0, len(labels) - most)
        return labels[:most]

    def _cited(self, line: markdown.Line) -> bool:
        if not has_any(line.lowered, citations.STEMS) or self._labels_read > LABELS:
            return False
        found = False
        for label, tail in citations.read_labelled(line):
            found = True
            self._labels_read += 1
            if tail.strip(" \"'[{("):
                for citation in citations.read_citations(tail, label):
                    self.pieces.cite(citation, self._section.name)
            else:
                self._announced, self._label, self._until_blank = "source", label, True
        return found

    def _below(self, line: markdown.Line) -> None:
        """Read a line without a label as an item of the label above it."""
        if self._announced == "confidence":
            stated = read_below(line.text)
            if stated is not None:
                self.pieces.state(stated, self._section.name)
        elif self._announced == "source":
            self._source_below(line)
        elif self._announced == "reason":
            self.pieces.reason(line.text)

    def _source_below(self, line: markdown.Line) -> None:
        if line.text.startswith(("]", "}")):
            self._announced = ""  # A list of JSON is over.
        elif line.is_item or self._until_blank or not _is_prose(line.text):
            found = citations.read_citations(line.text, self._label, one=line.is_item)
            for citation in found:
                self.pieces.cite(citation, self._section.name)

    # -------------------------------------------------------------- tables

    def _table(self, raw: str, following: str) -> bool:
        """Take a row of a table; return whether it was one with columns that are read."""
        if markdown.is_rule(following):
            self._heads = [markdown.read_line(cell).text for cell in markdown.cells_of(raw)]
            self._columns = [_announces(markdown.plain_line(head)) for head in self._heads]
            is_of_edges = not _ENDS_OF_EDGES.isdisjoint(head.lower() for head in self._heads)
            if is_of_edges:
                self._columns = ["" if kind == "source" else kind for kind in self._columns]
            return is_of_edges or any(self._columns)
        if not any(self._columns):
            return False
        if markdown.is_rule(raw):
            return True
        cells = [markdown.read_line(cell).text for cell in markdown.cells_of(raw)]
        for index, (kind, cell) in enumerate(zip(self._columns, cells, strict=False)):
            self._cell(kind, cell, cells[0] if index else "", self._heads[index])
        return True

    def _cell(self, kind: Announced, cell: str, row: str, head: str) -> None:
        if kind == "confidence":
            stated = read_cell(cell)
            if isinstance(stated, Statement):
                named = [Item(i.value, i.about or row, i.overall, i.reason) for i in stated.items]
                stated = Statement(f"{row} | {cell}" if row else cell, named)
            if stated is not None:
                self.pieces.state(stated, self._section.name)
        elif kind == "source":
            for citation in citations.read_citations(cell, head):
                self.pieces.cite(citation, self._section.name)
        elif kind == "reason" and cell:
            self.pieces.reason(cell)


def _announces(line: markdown.Line) -> Announced:
    """Return what a heading, a bold beginning or a column head announces."""
    if has_any(line.lowered, confidence_text.STEMS) and confidence_text.labels_of(line):
        return "confidence"
    if has_any(line.lowered, citations.STEMS) and citations.label_of(line):
        return "source"
    return "reason" if _REASON.match(line.lowered) else ""


def _without_settings(raw: str) -> str:
    """Return a line without inline code that assigns a value: it is an example, not a statement."""
    left = _SETTING.sub("", raw)
    return left if any(map(str.isalpha, left)) else raw


def _is_prose(text: str) -> bool:
    """Return whether a line below a heading is a sentence rather than a name."""
    return len(text) > _LONGEST_NAMES or text.rstrip().endswith((".", "!", "?", ":"))


def _level_of(raw: str, underline: str) -> int:
    """Return the level of a line that is underlined; a long one is a paragraph above a rule."""
    if len(raw) > _LONGEST_HEADING:
        return 0
    return 1 if "=" in underline else 2
