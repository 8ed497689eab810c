"""One line of Markdown without its markup: what it is, and what stands in it.

Tolerant by construction: markup is taken away where it stands, never matched with its other half, so
broken Markdown reads as well as sound Markdown. Every pattern is anchored or bounded, and none is
repeated inside another: a line costs as much as it is long.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right

from msgspec import Struct

_PREFIX = re.compile(r"[\s>]*(?:(?P<marks>#{1,6})\s*|[-*+•·▪◦●○‣]\s+|\|)?\s*(?:\[[ xX]\]\s+)?")
_NUMBERED = re.compile(r"(?:\(?(?:\d{1,3}[.)]|[a-z]\))|\[\d{1,3}\]:?)\s+")
_MARKUP = re.compile(r"[*`]+|~~|_{1,3}|</?[A-Za-z][A-Za-z0-9]{0,9}(?:\s[^<>]{0,80})?/?>")
_ITEM = re.compile(r"[\s>]*(?:[-*+•·▪◦●○‣]\s+|\(?(?:\d{1,3}[.)]|[a-z]\))\s+|\[\d{1,3}\]:?\s+)")
_STRUCK = re.compile(r"~~[^~]{1,400}~~")
_SIGNS = re.compile(
    r"(?:\[[■□\u2580-\u259f\s]{1,40}\]|[\u2300-\u23ff\u25a0-\u2604\u2607-\u27bf\u2b00-\u2b4f"
    r"\U0001f000-\U0001faff\ufe0f\u200d]{1,20})\s{0,2}(?=[\w(*_])"
)
"""Pictures before a word or a number, and bars: they decorate. Stars count something, and stay."""
_BOLD_LEAD = re.compile(
    r"[\s>]*(?:[-*+•]\s+|\d{1,3}[.)]\s+)?(?:\*\*|__)(?P<lead>[^*_\n]{1,80})(?:\*\*|__)"
)
_RULE_CELL = re.compile(r"\s*:?-{1,100}:?\s*")
_UNDERLINE = re.compile(r"\s{0,3}(?:=+|-{3,})\s*")
FENCE = re.compile(r"[\s>]*(?:```+|~~~+)\s*(?P<language>[\w+-]*)")


class Line(Struct, frozen=True, gc=False):
    """A line without its markup."""

    text: str
    lowered: str
    """The same in lower case, letter for letter."""
    marks: list[int]
    """Where emphasis began or ended, as places in the text. Code marks are none."""
    heading: int
    """Its level; 0 for what is no heading."""
    is_item: bool

    def mark_before(self, place: int) -> int:
        """Return the last place of emphasis up to `place`; 0 without one."""
        index = bisect_right(self.marks, place) - 1
        return self.marks[index] if index >= 0 else 0

    def is_label(self, start: int) -> bool:
        """Tell a label from a word of a sentence or a list: it is bold, quoted, bracketed or begins large.

        Else every glossary (`- source: where it comes from`) would cite something.
        """
        if not self.text[start].islower() or (start > 0 and self.text[start - 1] in "\"'("):
            return True
        return bool(self.marks) and self.mark_before(start) == start


def read_line(raw: str) -> Line:
    """Take the markup off a line."""
    is_item = _ITEM.match(raw) is not None
    if not raw.isascii():
        raw = _SIGNS.sub("", unicodedata.normalize("NFKC", raw))
    if "~~" in raw:
        raw = _STRUCK.sub("", raw)
    prefix = _PREFIX.match(raw)
    assert prefix is not None, "every part of the pattern is optional"
    start = prefix.end()
    numbered = _NUMBERED.match(raw, start)
    text, marks = _plain(raw[numbered.end() if numbered else start :])
    heading = len(prefix["marks"] or "")
    return Line(text, lower(text), marks, heading, is_item and not heading)


def plain_line(text: str) -> Line:
    """Return a line of words that have no markup: a heading's, a cell's."""
    return Line(text, lower(text), [], 0, False)


def lower(text: str) -> str:
    """Return a text in lower case, as long as it was: a few letters have no single small one."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)


def _plain(text: str) -> tuple[str, list[int]]:
    """Return text without emphasis, code marks and tags, and the places where they were."""
    pieces: list[str] = []
    marks: list[int] = []
    copied = length = 0
    for match in _MARKUP.finditer(text):
        if match[0][0] == "_" and _joins(text, match.start(), match.end()):
            continue
        piece = text[copied : match.start()]
        pieces.append(piece)
        length += len(piece)
        if match[0][0] != "`":
            marks.append(length)
        copied = match.end()
    pieces.append(text[copied:])
    return "".join(pieces).rstrip(), marks


def _joins(text: str, start: int, end: int) -> bool:
    """Tell the underscore in a name from one that emphasises."""
    return start > 0 and text[start - 1].isalnum() and text[end : end + 1].isalnum()


def closing_bracket(text: str) -> int:
    """Return where the bracket closes that was open before the text."""
    depth = 0
    for place, letter in enumerate(text):
        if letter == "(":
            depth += 1
        elif letter == ")":
            if not depth:
                return place
            depth -= 1
    return len(text)


def heading_level(raw: str) -> int:
    """Return the level of a `#` heading, without reading the line; 0 for what is none."""
    prefix = _PREFIX.match(raw)
    return len(prefix["marks"] or "") if prefix else 0


def bold_lead(raw: str) -> tuple[str, bool]:
    """Return the bold words that a line begins with, and whether nothing follows them."""
    match = _BOLD_LEAD.match(raw)
    if match is None:
        return "", False
    lead, rest = match["lead"].strip(), raw[match.end() :].strip()
    if not lead.endswith(":") and rest[:1] not in (":", "", "–", "—"):
        return "", False
    return lead.rstrip(" :"), rest in ("", ":")


def cells_of(raw: str) -> list[str]:
    """Return the cells of a table's row."""
    return [cell.strip() for cell in raw.strip().lstrip("> ").strip("|").split("|")]


def is_rule(raw: str) -> bool:
    """Tell the line of dashes below a table's head."""
    if "-" not in raw or "|" not in raw:
        return False
    return all(_RULE_CELL.fullmatch(cell) for cell in raw.strip().strip("|").split("|"))


def is_underline(raw: str) -> bool:
    """Tell the line that makes the one above it a heading."""
    return _UNDERLINE.fullmatch(raw) is not None
