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

from adk_prism.facts.proof_model import Bound, Level

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
    r"(?![\w.]*\w)(?!\s?%)(?!\s+[a-z]{3})",
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
