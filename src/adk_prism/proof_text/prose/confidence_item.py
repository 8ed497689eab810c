"""The values after a label, one after the other, each with its name and its reason.

`95% for timber, 90% for trails`, `severity 92%, boundary 88%`, `High (95%) - Direct CFR citations`. The
list ends at anything that is not another confidence: a share (`42% of the area`), a count, an
earlier number (`up from 85%`), another sentence.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from adk_prism.facts.proof_model import Level
from adk_prism.proof_text.prose.confidence_value import Value, beginnings, read_value
from adk_prism.proof_text.prose.markdown_line import lower

_MOST = 16
"""Values after one label; a longer list of figures is not a statement of confidence."""
_NAME = 60
"""Characters of a name before a value."""

_SEPARATOR = re.compile(r"\s{0,3}(?:,\s{0,3}and\s|[,;/|&]|(?:and|und|et)\s)\s{0,3}")
_FOR = re.compile(
    r"\s+(?:for|on|in|regarding|about|für|pour|para|bei)\s+(?P<about>[^,;.()|\n]{1,80})"
)
_AND = re.compile(r"\s+(?:and|und|et|&)\s+")
_BRACKETS = re.compile(r"\s{0,2}[(\[](?P<inside>[^()\[\]]{1,160})[)\]]")
_CLOSE = re.compile(r"\s{0,2}\)")
_DASH = re.compile(r"\s{0,2}(?:–|—|-|:)\s+(?=\S)")
_BECAUSE = re.compile(r"\s{0,2},?\s+(?=(?:because|since|due to|based on|given|as)\s)")
_SHARE = re.compile(r"\s+(?:of|der|des)\s")
_REASON_END = re.compile(r"[.!?](?=\s|$)|[;|\n]")
_CAUSE = re.compile(r"(?:based|from|due|since|because|as|given|using|per|by)\b|[^\d]{0,160}\d")
_NOT_IN_NAME = frozenset('.;,()[]{}"!?|\n')
_NO_NAME = re.compile(
    r"(?:up|down|from|was|were|vs|versus|compared|since|as|if|when|but|not|we|it|they|previously|or)\b"
)
_ARTICLE = re.compile(r"(?:the|a|an|our|my|your|this|its|der|die|das|la|le|el)(?:\s+|$)", re.I)
_OVERALL = re.compile(r"\b(?:overall|total|combined|aggregated?|global|gesamt|insgesamt)\b", re.I)
_EDGES = " \t\"'“”:=–—-*,"


class Item(Struct, frozen=True, gc=False):
    """One value, what it is about, and its reason."""

    value: Value
    about: str
    overall: bool
    reason: str

    def at_level(self, level: Level | Literal[""]) -> Item:
        """Return the item with a word beside its number."""
        return replace(self, value=replace(self.value, level=level))

    def named(self, name: str) -> Item:
        """Return the item with the name from its label, unless it has one."""
        overall = self.overall or is_overall(name)
        return replace(self, about=self.about or about(name), overall=overall)


class _Tail(Struct, frozen=True, gc=False):
    """The text after a label, and the same in lower case, in which values are read."""

    text: str
    low: str


def is_overall(text: str) -> bool:
    """Return whether words mean the whole."""
    return _OVERALL.search(text) is not None


def about(text: str, *, keep: bool = False) -> str:
    """Return a name without articles, quotes and `overall`."""
    name = _OVERALL.sub("", text).strip(_EDGES)
    article = None if keep else _ARTICLE.match(name)
    name = name[article.end() :] if article else name
    return name if any(map(str.isalnum, name)) else ""


def read_items(text: str, *, strict: bool = False, named: bool = True) -> tuple[list[Item], int]:
    """Return the values at the beginning of a text, and where they end.

    With `strict`, a bare number does not count: no number is expected there. Without `named`, the first value
    must be at the beginning.
    """
    tail = _Tail(text, lower(text))
    items: list[Item] = []
    place = end = 0
    while len(items) < _MOST:
        found = _next(tail, place, strict=strict or bool(items), named=named or bool(items))
        if found is None or (items and not _continues(found[0], tail)):
            break
        item, end = found
        items.append(item)
        separator = _SEPARATOR.match(tail.low, end)
        if separator is None:
            break
        place = separator.end()
    return items, end


def _continues(item: Item, tail: _Tail) -> bool:
    """Return whether an item is another confidence, and not an unrelated figure."""
    if not item.value.is_number:
        return bool(item.about)
    return _SHARE.match(tail.low, item.value.end) is None


def _next(tail: _Tail, place: int, *, strict: bool, named: bool) -> tuple[Item, int] | None:
    value = read_value(tail.low, place)
    name = ""
    if value is not None and strict and not (value.scaled or value.level):
        value = None
    if value is None:
        found = _named_value(tail, place) if named else None
        if found is None:
            return None
        name, value = found
    return _complete(tail, value, name)


def _named_value(tail: _Tail, place: int) -> tuple[str, Value] | None:
    """Read `severity 92%`, `Boundary — High`."""
    if _NO_NAME.match(tail.low, place):
        return None
    for start in beginnings(tail.low, place, place + _NAME):
        words = tail.text[place:start]
        if words.rstrip().endswith("("):
            return _bracketed_value(tail, words, start)
        if not _NOT_IN_NAME.isdisjoint(words) or len(words.split()) > 6:
            return None
        value = read_value(tail.low, start)
        for_it = tail.low.startswith("for ", place)
        ends_name = for_it or words.rstrip().endswith((":", "=", "–", "—", "-"))
        if value is not None and (value.scaled or (value.level and ends_name)):
            return words[4:] if for_it else words, value
    return None


def _bracketed_value(tail: _Tail, words: str, start: int) -> tuple[str, Value] | None:
    """Read `Severity (90%)`: the value fills the bracket after a name."""
    name = words.rstrip().removesuffix("(").strip()
    value = read_value(tail.low, start)
    close = _CLOSE.match(tail.low, value.end) if value is not None else None
    if value is None or close is None or not (value.scaled or value.level):
        return None
    if not name or not _NOT_IN_NAME.isdisjoint(name) or len(name.split()) > 6:
        return None
    return name, replace(value, end=close.end())


def _complete(tail: _Tail, value: Value, name: str) -> tuple[Item, int]:
    """Read what follows a value: what it is for, brackets, a reason."""
    end, reason = value.end, ""
    concerned = _FOR.match(tail.low, end) if not name else None
    if concerned is not None:
        start = concerned.start("about")
        end = start + _before_value(concerned["about"])
        name = tail.text[start:end]
    brackets = _BRACKETS.match(tail.text, end)
    if brackets is not None:
        value, name, reason = _inside(brackets["inside"].strip(), value, name)
        end = brackets.end()
    if not reason:
        value, reason, end = _reason(tail, value, end)
    return Item(value, about(name), is_overall(name), reason), end


def _before_value(words: str) -> int:
    """Return where a name ends because the next value begins: `timber and 90% for trails`."""
    for match in _AND.finditer(words):
        if read_value(words, match.end()) is not None:
            return match.start()
    return len(words)


def _inside(inside: str, value: Value, name: str) -> tuple[Value, str, str]:
    """Read the contents of brackets: the number of a word, a reason, or a name."""
    low = lower(inside)
    other = read_value(low, 0)
    if other is not None and other.end == len(inside):
        if not value.is_number and other.is_number:
            return replace(other, level=value.level, end=value.end), name, ""
        if other.level and not other.is_number and not value.level:
            return replace(value, level=other.level), name, ""
        if other.value is not None and other.value == value.value:
            return value, name, ""  # The same number, written another way.
    if name or _CAUSE.match(low) or len(inside.split()) > 5:
        return value, name, inside
    return value, inside, ""


def _reason(tail: _Tail, value: Value, end: int) -> tuple[Value, str, int]:
    begins = _DASH.match(tail.low, end) or _BECAUSE.match(tail.low, end)
    if begins is None:
        return value, "", end
    stop = _REASON_END.search(tail.low, begins.end())
    last = stop.start() if stop else len(tail.low)
    words = tail.text[begins.end() : last].strip(" *\"'")
    other = read_value(lower(words), 0)
    if other is not None and other.end == len(words) and other.level and not value.level:
        return replace(value, level=other.level), "", last
    return value, words, last
