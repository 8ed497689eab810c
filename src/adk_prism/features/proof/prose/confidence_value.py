"""A confidence as it is written: a number on some scale, a range, a word, or several of these at once.

Decides what a number means. With a sign (`92 %`, `92 per cent`) or a scale (`9/10`) that is clear; a bare
number is a share if it has decimals and is at most 1, a percentage above 10, and ambiguous in between: 8 may
be of ten or of a hundred. A number outside 0 to 100 % is not a confidence, and is not corrected. A word has
no number. Of two words the lower one counts; of a range both numbers are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from adk_prism.features.proof.model import Bound, Level
from adk_prism.features.proof.prose.markdown_line import lower

OUT_OF_RANGE = "not between 0 and 100 %"
NO_SCALE = "a number without a scale"
NOTHING_SAID = "a range that leaves nothing out"

LEVELS: Final[tuple[Level, ...]] = ("very low", "low", "medium", "high", "very high")
"""From the lowest to the highest."""

_LEVEL_WORDS: dict[Level, str] = {
    "very high": "very high|extremely high|very strong|sehr hoch|très élevée|très élevé|muy alta",
    "very low": "very low|extremely low|very weak|sehr gering|sehr niedrig|très faible|muy baja",
    "high": "high|fairly high|quite high|rather high|relatively high|reasonably high|strong|hoch|"
    "élevée|élevé|haute|alta|alto|elevata|高い|高",
    "medium": "medium|moderate|fair|mittel|moyenne|moyen|moderada|media|medio|moderata|中",
    "low": "low|fairly low|quite low|rather low|relatively low|"
    "weak|poor|limited|gering|niedrig|faible|baja|bassa|低い|低",
}
_LEVEL_OF = {word: level for level, words in _LEVEL_WORDS.items() for word in words.split("|")}
_BOUND_WORDS: dict[Bound, str] = {
    "about": "about|around|approximately|approx.|roughly|circa|ca.|nearly|almost|some|~|≈|etwa|environ",
    "at least": "at least|over|above|more than|greater than|better than|>=|≥|>|mindestens",
    "at most": "at most|up to|under|below|less than|<=|≤|<|höchstens",
}
_BOUND_OF = {word: bound for bound, words in _BOUND_WORDS.items() for word in words.split("|")}

_UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen""".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety hundred".split()
_NUMBER_OF = dict(zip(_UNITS, range(20), strict=True)) | {
    word: 10 * number for number, word in enumerate(_TENS, 2)
}


def _either(words: Iterable[str]) -> str:
    """Return a pattern for one of some words, longer ones first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_PERCENT = (
    r"\s{0,2}(?:%|٪|(?:percent|per\s?cent|pct|prozent|procent|pour\s?cent|por\s?ciento|por\s?cento"
    r"|per\s?cento)\b)"
)
_DIGITS = r"(?:\d+(?:[.,]\d+)?|[.,]\d+)"
_SPELLED = rf"(?:{_either(_TENS)})(?:[-\s](?:{_either(_UNITS[1:10])}))?|{_either(_UNITS)}"
_NUMBER = re.compile(rf"(?P<sign>[-\u2212]\s?)?(?:(?P<digits>{_DIGITS})|(?P<words>{_SPELLED})\b)")
_SCALE = re.compile(
    r"\s{0,2}(?:/|out of\s|of\s|in\s|von\s|sur\s)\s{0,2}(?P<of>100|20|10|5|4|1(?:\.0+)?|ten|five|hundred)"
    r"(?![\w.]*\w)(?!\s?%)(?!\s+[a-z]{3})"
)
_SIGN = re.compile(_PERCENT)
_TO = re.compile(r"\s{0,2}(?:-|–|—|to\s|bis\s|and\s|und\s)\s{0,2}")
_BETWEEN = re.compile(r"(?:between|zwischen)\s+")
_GIVE_OR_TAKE = re.compile(rf"\s{{0,2}}(?:±|\+/-|\+-)\s{{0,2}}{_DIGITS}(?:{_PERCENT})?")
_MORE = re.compile(r"\s?\+(?![\w/-])")
_BOUND = re.compile(rf"(?P<bound>{_either(_BOUND_OF)})(?=[\s\d.])\s{{0,2}}(?:a\s)?")
_LEVEL = re.compile(rf"(?P<level>{_either(_LEVEL_OF)})(?!\w)")
_NEXT_LEVEL = re.compile(
    rf"\s{{0,2}}(?:-|–|/|to\s|bis\s)\s{{0,2}}(?P<level>{_either(_LEVEL_OF)})(?!\w)"
)
_BESIDE = re.compile(r"\s{0,2}(?:[(\[,:–—-]|at\s)\s{0,2}")
_CLOSE = re.compile(r"\s{0,2}[)\]]")

_BEGINNING = re.compile(
    rf"{_either(_BOUND_OF)}|{_either(_LEVEL_OF)}|between|[-\u2212]\s?\d|[.,]?\d|{_SPELLED}"
)


class Value(Struct, frozen=True, gc=False):
    """What was written, and where it ends in the text."""

    end: int
    value: float | None = None
    level: Level | Literal[""] = ""
    low: float | None = None
    high: float | None = None
    bound: Bound | Literal[""] = ""
    scaled: bool = False
    """It has a scale: it is not a bare number."""
    fault: str = ""
    """Why it is not a confidence."""

    @property
    def is_number(self) -> bool:
        return self.value is not None or self.low is not None or bool(self.fault)


def beginnings(text: str, start: int = 0, end: int = 1 << 30) -> Iterator[int]:
    """Yield the places where a value may begin. The text is in lower case."""
    for match in _BEGINNING.finditer(text, start, end):
        before = text[match.start() - 1] if match.start() else " "
        if not (before.isalnum() or before in "_.,"):
            yield match.start()


def read_value(text: str, at: int) -> Value | None:
    """Read the value that begins at a place; None if there is none. The text is in lower case."""
    level = _LEVEL.match(text, at)
    if level is not None:
        return _with_number(text, _read_level(text, level))
    number = _read_range(text, at)
    return None if number is None else _with_level(text, number)


def read_on_scale(text: str, at: int, of: int) -> Value | None:
    """Read a number whose scale was named before it. The text is in lower case."""
    number = _read_number(text, at)
    if number is None:
        return None
    if number.of == 1:
        number = replace(number, of=of, decimals=True)
    return replace(_single(text, number, ""), scaled=True)


# --------------------------------------------------------------------------- words


def _read_level(text: str, match: re.Match[str]) -> Value:
    level = _LEVEL_OF[match["level"]]
    other = _NEXT_LEVEL.match(text, match.end())
    if other is None:
        return Value(match.end(), level=level)
    lower = min(level, _LEVEL_OF[other["level"]], key=LEVELS.index)
    return Value(other.end(), level=lower)


def _with_number(text: str, word: Value) -> Value:
    """Add the number beside a word: `High (95%)`."""
    beside = _BESIDE.match(text, word.end)
    number = _read_range(text, beside.end()) if beside is not None else None
    if beside is None or number is None or not number.scaled:
        return word
    end = number.end
    if beside[0].strip() in ("(", "["):
        close = _CLOSE.match(text, end)
        if close is None:
            return word
        end = close.end()
    return replace(number, level=word.level, end=end)


def _with_level(text: str, number: Value) -> Value:
    """Add the word in brackets after a number: `95% (High)`."""
    beside = _BESIDE.match(text, number.end)
    if beside is None or beside[0].strip() not in ("(", "["):
        return number
    word = _LEVEL.match(text, beside.end())
    close = _CLOSE.match(text, word.end()) if word is not None else None
    if word is None or close is None:
        return number
    return replace(number, level=_LEVEL_OF[word["level"]], end=close.end())


# --------------------------------------------------------------------------- numbers


class _Number(Struct, frozen=True, gc=False):
    """A number and the scale after it."""

    end: int
    amount: float
    decimals: bool
    of: float
    """1 without a scale."""


def _read_range(text: str, at: int) -> Value | None:
    bound = _BOUND.match(text, at)
    start = bound.end() if bound else at
    between = _BETWEEN.match(text, start)
    first = _read_number(text, between.end() if between else start)
    if first is None:
        return None
    dash = _TO.match(text, first.end)
    second = _read_number(text, dash.end()) if dash is not None else None
    if second is not None and dash is not None and (between or "and" not in dash[0]):
        ranged = _range(first, second)
        if ranged is not None:
            return ranged
    return _single(text, first, _BOUND_OF[bound["bound"]] if bound else "")


def _read_number(text: str, at: int) -> _Number | None:
    match = _NUMBER.match(text, at)
    if match is None:
        return None
    amount, decimals = _amount(match)
    sign = _SIGN.match(text, match.end())
    if sign is not None:
        return _Number(sign.end(), amount, decimals, 100)
    scale = _SCALE.match(text, match.end())
    if scale is not None:
        of = scale["of"]
        return _Number(scale.end(), amount, decimals, float(_NUMBER_OF.get(of, 0) or of))
    if match["words"] and abs(amount) <= 10:
        return None  # "one", "two": common words
    return _Number(match.end(), amount, decimals, 1)


def _amount(match: re.Match[str]) -> tuple[float, bool]:
    digits = match["digits"]
    if digits is None:
        tens, _, unit = match["words"].replace("-", " ").partition(" ")
        amount = float(_NUMBER_OF[tens] + (_NUMBER_OF[unit.strip()] if unit.strip() else 0))
        return (-amount if match["sign"] else amount), False
    whole, comma, thousands = digits.partition(",")
    if comma and len(thousands) == 3 and whole not in ("", "0"):
        digits = whole + thousands
    digits = digits.replace(",", ".")
    amount = float(digits)
    return (-amount if match["sign"] else amount), "." in digits


def _share(number: _Number) -> tuple[float | None, str]:
    """Return a number as a share of 1, or why it is not one."""
    amount, of = number.amount, number.of
    if of == 1 and not (number.decimals and amount <= 1) and amount != 0:
        if 0 < amount <= 10:
            return None, NO_SCALE
        of = 100
    share = amount / of
    # Twelve digits: enough for any text, few enough that 92 % gives exactly 0.92.
    return (round(share, 12), "") if 0 <= share <= 1 else (None, OUT_OF_RANGE)


def _is_scaled(number: _Number) -> bool:
    return number.of != 1 or (number.decimals and 0 <= number.amount <= 1)


def _single(text: str, number: _Number, bound: Bound | Literal[""]) -> Value:
    share, fault = _share(number)
    end = number.end
    more = _MORE.match(text, end)
    give = _GIVE_OR_TAKE.match(text, end)
    if give is not None:
        end = give.end()
    elif more is not None:
        end, bound = more.end(), "at least"
    return Value(end, share, "", None, None, bound, _is_scaled(number), fault)


def _range(first: _Number, second: _Number) -> Value | None:
    """Return a range; None if the two are not one. Only the second needs a sign."""
    if first.of == 1:
        first = replace(first, of=second.of)
    (low, fault), (high, other) = _share(first), _share(second)
    scaled = _is_scaled(second)
    if fault or other:
        return Value(second.end, scaled=scaled, fault=fault or other) if scaled else None
    assert low is not None
    assert high is not None
    if (low, high) == (0, 1):
        return Value(second.end, scaled=True, fault=NOTHING_SAID)
    return Value(second.end, None, "", low, high, "", scaled) if low < high else None


# ---------------------------------------------------------------------------
# The values after a label, one after the other, each with its name and its reason.
#
# `95% for timber, 90% for trails`, `severity 92%, boundary 88%`, `High (95%) - Direct CFR citations`.
# The list ends at anything that is not another confidence: a share (`42% of the area`), a count, an
# earlier number (`up from 85%`), another sentence.

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
_CLOSE_ITEM = re.compile(r"\s{0,2}\)")
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
    close = _CLOSE_ITEM.match(tail.low, value.end) if value is not None else None
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
