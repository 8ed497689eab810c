"""The values behind a label, one after the other, each with its name and its reason.

`95% for timber, 90% for trails`, `severity 92%, boundary 88%`, `High (95%) - Direct CFR citations`. The
list ends where what follows is no further value of the kind: a share (`42% of the area`), a count, an
earlier number (`up from 85%`), another sentence.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from adk_prism.facts.confidence_value import BEGINNING, Value, read_value
from adk_prism.facts.proof_model import Level

_MOST = 16
"""Values behind one label; nobody states more, and a list of figures is no statement."""
_NAME = 60
"""Characters of a name before a value."""

_SEPARATOR = re.compile(r"\s{0,3}(?:,\s{0,3}and\s|[,;/|&]|(?:and|und|et)\s)\s{0,3}", re.I)
_FOR = re.compile(
    r"\s+(?:for|on|in|regarding|about|für|pour|para|bei)\s+(?P<about>[^,;.()|\n]{1,80})", re.I
)
_AND = re.compile(r"\s+(?:and|und|et|&)\s+", re.I)
_BRACKETS = re.compile(r"\s{0,2}[(\[](?P<inside>[^()\[\]]{1,160})[)\]]")
_DASH = re.compile(r"\s{0,2}(?:–|—|-|:)\s+(?=\S)")
_BECAUSE = re.compile(r"\s{0,2},?\s+(?=(?:because|since|due to|based on|given|as)\s)", re.I)
_SHARE = re.compile(r"\s+(?:of|der|des)\s", re.I)
_REASON_END = re.compile(r"[.!?](?=\s|$)|[;|\n]")
_CAUSE = re.compile(r"(?:based|from|due|since|because|as|given|using|per|by|n\s?=)\b|.*\d", re.I)
_NOT_IN_NAME = frozenset('.;,()[]{}"!?|\n')
_NO_NAME = re.compile(
    r"(?:up|down|from|was|were|vs|versus|compared|since|as|if|when|but|not|we|it|they|previously|instead|or)\b",
    re.I,
)
_ARTICLE = re.compile(r"(?:the|a|an|our|my|your|this|its|its own|der|die|das|la|le|el)\s+", re.I)
_OVERALL = re.compile(r"\b(?:overall|total|combined|aggregated?|global|gesamt|insgesamt)\b", re.I)


class Item(Struct, frozen=True, gc=False):
    """One value, what it is about, and why it is what it is."""

    value: Value
    about: str
    overall: bool
    reason: str

    def at_level(self, level: Level | str) -> Item:
        """Return the item with a word beside its number."""
        return replace(self, value=replace(self.value, level=level))


def is_overall(text: str) -> bool:
    """Tell words that mean everything."""
    return _OVERALL.search(text) is not None


def about(text: str, *, keep: bool = False) -> str:
    """Return a name without what does not name: articles, quotes, `overall`."""
    name = _OVERALL.sub("", text).strip(" \t\"'“”:=–—-*,")
    article = None if keep else _ARTICLE.match(name)
    name = name[article.end() :] if article else name
    return name if any(letter.isalnum() for letter in name) and name.lower() not in _EMPTY else ""


_EMPTY = frozenset("the a an our my your this its with".split())


def read_items(
    tail: str, place: int, *, strict: bool = False, named: bool = True
) -> tuple[list[Item], int]:
    """Return the values at the beginning of a text, and where they end.

    With `strict`, a bare number is none, for nothing says that a number is expected. Without `named`,
    the first value stands right there.
    """
    items: list[Item] = []
    end = place
    while len(items) < _MOST:
        found = _next(tail, place, strict=strict or bool(items), named=named or bool(items))
        if found is None or (items and not _goes_on(found[0], tail, found[1])):
            break
        item, end = found
        items.append(item)
        separator = _SEPARATOR.match(tail, end)
        if separator is None:
            break
        place = separator.end()
    return items, end


def _goes_on(item: Item, tail: str, end: int) -> bool:
    """Tell a further value of the kind from a figure that follows by chance."""
    if not item.value.is_number:
        return bool(item.about)
    return not _SHARE.match(tail, item.value.end) and end > 0


def _next(tail: str, place: int, *, strict: bool, named: bool) -> tuple[Item, int] | None:
    value = read_value(tail, place)
    name = ""
    if value is not None and strict and not (value.scaled or value.level):
        value = None
    if value is None:
        found = _named_value(tail, place) if named else None
        if found is None:
            return None
        name, value = found
    return _complete(tail, value, name)


def _named_value(tail: str, place: int) -> tuple[str, Value] | None:
    """Read `severity 92%`, `Boundary — High`."""
    for match in BEGINNING.finditer(tail, place, min(len(tail), place + _NAME)):
        words = tail[place : match.start()]
        if not _NOT_IN_NAME.isdisjoint(words) or _NO_NAME.match(words) or len(words.split()) > 6:
            return None
        value = read_value(tail, match.start())
        ends_name = words.rstrip().endswith((":", "=", "–", "—", "-")) or words.lower().startswith(
            "for "
        )
        if value is not None and (value.scaled or (value.level and ends_name)):
            name = words.strip()
            return (name[4:] if name.lower().startswith("for ") else name), value
    return None


def _complete(tail: str, value: Value, name: str) -> tuple[Item, int]:
    """Read what stands behind a value: what it is for, brackets, a reason."""
    end, reason = value.end, ""
    concerned = _FOR.match(tail, end)
    if concerned is not None and not name:
        name, end = _cut_at_value(concerned["about"], concerned.start("about"))
    brackets = _BRACKETS.match(tail, end)
    if brackets is not None:
        value, name, reason = _inside(brackets["inside"].strip(), value, name)
        end = brackets.end()
    if not reason:
        value, reason, end = _reason(tail, value, end)
    return Item(value, about(name), is_overall(name), reason), end


def _cut_at_value(words: str, start: int) -> tuple[str, int]:
    """End a name where the next value begins: `timber and 90% for trails`."""
    for match in _AND.finditer(words):
        if read_value(words, match.end()) is not None:
            return words[: match.start()], start + match.start()
    return words, start + len(words)


def _inside(inside: str, value: Value, name: str) -> tuple[Value, str, str]:
    """Take what stands in brackets: the number of a word, a reason, or a name."""
    other = read_value(inside, 0)
    if other is not None and other.end == len(inside):
        if not value.is_number and other.is_number:
            return replace(other, level=value.level, end=value.end), name, ""
        if other.level and not other.is_number and not value.level:
            return replace(value, level=other.level), name, ""
    if name or _CAUSE.match(inside) or len(inside.split()) > 5:
        return value, name, inside
    return value, inside, ""


def _reason(tail: str, value: Value, end: int) -> tuple[Value, str, int]:
    begins = _DASH.match(tail, end) or _BECAUSE.match(tail, end)
    if begins is None:
        return value, "", end
    stop = _REASON_END.search(tail, begins.end())
    last = stop.start() if stop else len(tail)
    words = tail[begins.end() : last].strip(" *\"'")
    other = read_value(words, 0)
    if other is not None and other.end == len(words) and other.level and not value.level:
        return replace(value, level=other.level), "", last
    return value, words, last
