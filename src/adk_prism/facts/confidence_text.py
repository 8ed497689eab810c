"""Statements of confidence in a line of text: which words make one, and what its numbers belong to.

Three forms are read: a label and its value (`Confidence: 92%`, `Confidence in the map is high`), a value
and then the word (`92% confidence`, `highly confident`), and, below a label or heading, a value alone or
with a name before it. A percentage that none of them ties to the word is nobody's confidence. Nor is a
statistician's (`at the 95% confidence level`, `confidence interval`).

Each label is looked at with a bounded piece of the text around it, which ends at the next label: a line
costs as much as it is long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from adk_prism.facts.confidence_item import Item, about, is_overall, read_items
from adk_prism.facts.confidence_value import BEGINNING, Value, read_value
from adk_prism.facts.markdown_line import Line
from adk_prism.facts.proof_model import Level

NO_VALUE = "no number and no level"
UNTIED = "a number that is not tied to it"

_BEFORE, _AFTER = 80, 300
"""Characters around a label that may belong to it: a name or a value before, a few of each after."""

STEMS = (
    "confiden",
    "certain",
    "konfidenz",
    "confian",
    "gewissheit",
    "信頼度",
    "確信度",
    "置信度",
    "conf.",
    "conf:",
    "sure",
)
"""What any label contains, in lower case."""

LABEL = re.compile(
    r"(?<![^\W_])(?<!-)(?:(?P<noun>confidence|certainty|conf(?=\.?\s?[:=])\.?|konfidenz|gewissheit|confiance"
    r"|confianza|confidenza|confiança)|(?P<adjective>confident|sure|certain))(?!\w)|(?P<sign>信頼度|確信度|置信度)",
    re.I,
)
_INTERVAL = re.compile(r"\s+(?:intervals?|limits?|bounds?|bands?|regions?)\b", re.I)
_INTERVAL_BEFORE = re.compile(r"(?:intervalo|intervalle|intervallo)\s+d[ei]\s+$", re.I)
_TEST = re.compile(r"\bat\s+(?:the\s+|a\s+)?$", re.I)
_KIND = re.compile(r"\s+(?:level|score|rating|index|estimate|grade)\b", re.I)
_QUALIFIED = re.compile(r"\s{0,2}\((?P<inside>[^()]{1,60})\)(?=\s{0,2}[:=|→–—-])")
_CONCERNING = re.compile(
    r"\s+(?:in|for|on|about|regarding)\s+(?P<about>[^:=|,;.()]{1,60}?)(?=\s{0,2}[:=|→–—]|\s+(?:is|was|-)\s)",
    re.I,
)
_SIGN = re.compile(r"[\"'”]?\s{0,2}(?P<sign>[:=→|–—]|-(?=\s))\s{0,4}[\"'“]?")
_VERB = re.compile(r"\s+(?:is|was|of|at|stands at|remains)\s+", re.I)
_BRACKET = re.compile(r"\s{0,2}[(\[]\s?(?=[^()\[\]]{1,40}[)\]])")
_SPACE = re.compile(r"\s{1,3}")
_BEHIND = re.compile(
    r"\s+(?P<how>in|that|for|on|about|regarding)\s+(?P<about>[^,;.()|\n]{1,80})", re.I
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[;\n]")
_CLAUSE = re.compile(r"[.;:,(|\[{}\"—–!?]")
_NAME_BEFORE = re.compile(r"(?P<name>[^.;,(|:]{1,50}):\s{0,2}$")

_ADVERBS: dict[str, Level] = {
    "extremely": "very high",
    "highly": "high",
    "very": "high",
    "fairly": "medium",
    "reasonably": "medium",
    "moderately": "medium",
    "somewhat": "medium",
    "not": "low",
    "not very": "low",
}
_ADVERB = re.compile(
    rf"(?<!\w)(?P<adverb>{'|'.join(sorted(_ADVERBS, key=len, reverse=True))})\s+$", re.I
)


class Statement(Struct, frozen=True, gc=False):
    """What was stated, in which words."""

    text: str
    items: list[Item]


class Fault(Struct, frozen=True, gc=False):
    """Words that seem to state a confidence, and why none could be read."""

    text: str
    reason: str


def is_label_alone(text: str) -> bool:
    """Tell a line that only announces what comes: `Confidence:`."""
    label = LABEL.search(text)
    if label is None or not label["noun"]:
        return False
    kind = _KIND.match(text, label.end())
    rest = text[kind.end() if kind else label.end() :].strip(' :*"')
    return not rest and len(text[: label.start()].split()) <= 2


def read_statements(line: Line) -> Iterator[Statement | Fault]:
    """Yield what a line states, and what it seems to state."""
    text = line.text
    labels = list(LABEL.finditer(text))
    for number, label in enumerate(labels):
        start = labels[number - 1].end() if number else 0
        end = labels[number + 1].start() if number + 1 < len(labels) else len(text)
        place = _Place(
            line, label, max(start, label.start() - _BEFORE), min(end, label.end() + _AFTER)
        )
        found = place.read()
        if found is not None:
            yield found


def read_below(text: str) -> Statement | Fault | None:
    """Read a line below a label or heading that announced confidence."""
    items, end = read_items(text[:_AFTER], 0, strict=True)
    if items:
        return Statement(text[:end].strip(), items)
    return Fault(text[:_AFTER].strip(), UNTIED) if "%" in text[:_AFTER] else None


class _Place:
    """A label and what stands around it."""

    def __init__(self, line: Line, label: re.Match[str], start: int, end: int) -> None:
        self._line = line
        self._text = line.text
        self._label = label
        self._start = start
        self._end = end

    def read(self) -> Statement | Fault | None:
        before = self._text[self._start : self._label.start()]
        if _INTERVAL.match(self._text, self._label.end()) or _INTERVAL_BEFORE.search(before):
            return None
        if self._label["adjective"]:
            return self._preceding(before)
        following = self._labelled()
        if isinstance(following, Statement):
            return self._with_word(following, before)
        return self._preceding(before) or following or self._untied(before)

    # -------------------------------------------------------------- label, then value

    def _labelled(self) -> Statement | Fault | None:
        place = self._label.end()
        kind = _KIND.match(self._text, place, self._end)
        place = kind.end() if kind else place
        inside = _QUALIFIED.match(self._text, place, self._end) or _CONCERNING.match(
            self._text, place, self._end
        )
        named = inside[1] if inside else ""
        place = inside.end() if inside else place
        sign = _SIGN.match(self._text, place, self._end)
        if sign is not None:
            return self._after_sign(named, sign.end())
        for pattern in (_VERB, _BRACKET, _SPACE):
            between = pattern.match(self._text, place, self._end)
            if between is not None:
                return self._after_words(named, between.end())
        return None

    def _after_sign(self, named: str, place: int) -> Statement | Fault | None:
        tail = self._tail(place)
        name, start = self._name_before()
        items, end = read_items(tail, 0)
        if not items:
            said = tail[: _sentence(tail)].strip(" *\"',")
            return Fault(self._words(start, place + _sentence(tail)), NO_VALUE) if said else None
        return Statement(
            self._words(start, place + end), [_named(item, named or name) for item in items]
        )

    def _after_words(self, named: str, place: int) -> Statement | None:
        """Read what follows a verb or nothing at all: there a bare number may count anything."""
        items, end = read_items(self._tail(place), 0, strict=True, named=False)
        if not items:
            return None
        overall = "overall" if is_overall(self._text[self._start : self._label.start()]) else ""
        text = self._words(self._label.start(), place + end)
        return Statement(text, [_named(item, named or overall) for item in items])

    def _tail(self, place: int) -> str:
        """Return what may belong to the label: to its closing bracket, if it stands in brackets."""
        tail = self._text[place : self._end]
        if self._text[self._start : self._label.start()].rstrip().endswith("("):
            return tail[: _closing(tail)]
        return tail

    def _name_before(self) -> tuple[str, int]:
        """Return the words right before the label, `Timber confidence:`, and where they begin."""
        at = self._label.start()
        start = max(self._start, self._line.mark_before(at))
        if start == at:  # The label is bold, what stands before it is another thing's.
            before = self._text[max(self._start, at - 12) : at]
            return ("overall" if is_overall(before) else ""), at
        delimiters = list(_CLAUSE.finditer(self._text, start, at))
        start = delimiters[-1].end() if delimiters else start
        words = self._text[start:at].replace("_", " ").split()
        return (" ".join(words), start) if len(words) <= 5 else ("", at)

    def _words(self, start: int, end: int) -> str:
        return self._text[start:end].strip(" *|,")

    # -------------------------------------------------------------- value, then label

    def _preceding(self, before: str) -> Statement | None:
        value = _last_value(before, adjective=bool(self._label["adjective"]))
        if value is None or (self._label["adjective"] and not self._is_judgement(value[1])):
            return None
        start, found = value
        if _TEST.search(before, 0, start):
            return None
        behind = _BEHIND.match(self._text, self._label.end(), self._end)
        named = about(behind["about"], keep=behind["how"].lower() == "that") if behind else ""
        name = _NAME_BEFORE.search(before, 0, start)
        if name is not None and not named:
            named = about(name["name"])
        end = behind.end() if behind else self._label.end()
        text = self._text[self._start + start : end].strip()
        overall = is_overall(before[:start])
        return Statement(text, [Item(found, "" if overall and not behind else named, overall, "")])

    def _is_judgement(self, value: Value) -> bool:
        """Tell `92% sure` and `highly confident` from the other uses of these words."""
        return value.scaled or self._label["adjective"].lower() == "confident"

    def _with_word(self, statement: Statement, before: str) -> Statement:
        """Add the word in `High confidence (95%)`."""
        word = _last_value(before, adjective=False)
        if word is None or word[1].is_number or len(statement.items) != 1:
            return statement
        item = statement.items[0]
        if item.value.level:
            return statement
        return Statement(statement.text, [item.at_level(word[1].level)])

    # -------------------------------------------------------------- neither

    def _untied(self, before: str) -> Fault | None:
        """Return the sentence, if it has a percentage that could have been meant."""
        after = self._text[self._label.end() : self._end]
        rest = after[: _sentence(after)]
        if "%" not in rest[:_BEFORE]:
            return None
        ends = list(_SENTENCE_END.finditer(before))
        start = self._start + (ends[-1].end() if ends else 0)
        last = self._label.end() + len(rest)
        return Fault(self._text[start : last + 1].strip(), UNTIED)


def _named(item: Item, name: str) -> Item:
    """Give an item what its label says it is about, unless it says so itself."""
    if not name:
        return item
    overall = item.overall or is_overall(name)
    named = item.about or about(name)
    return Item(item.value, named, overall, item.reason)


def _last_value(before: str, *, adjective: bool) -> tuple[int, Value] | None:
    """Return the value that a piece of text ends with, and where it begins."""
    end = len(before.rstrip())
    adverb = _ADVERB.search(before) if adjective else None
    if adverb is not None:
        return adverb.start(), Value(end, level=_ADVERBS[adverb["adverb"].lower()])
    for match in BEGINNING.finditer(before):
        value = read_value(before, match.start())
        if (
            value is not None
            and value.end == end
            and (value.scaled or value.level)
            and not value.fault
        ):
            return match.start(), value
    return None


def _sentence(text: str) -> int:
    """Return where the first sentence ends."""
    match = _SENTENCE_END.search(text)
    return match.start() if match else len(text)


def _closing(text: str) -> int:
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
