"""Statements of confidence in a line of text: which words make one, and what its numbers belong to.

Three forms are read: a label and its value (`Confidence: 92%`, `Confidence in the map is high`), a value
and then the word (`92% confidence`, `highly confident`), and, below a label or heading, a value alone or
with a name before it. A percentage that none of them connects with the word is not a confidence. Neither is a
statistical one (`at the 95% confidence level`, `confidence interval`).

Each label is read with a bounded piece of the text around it, which ends at the next label: the cost of a
line is linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from adk_prism.features.proof.model import Level
from adk_prism.features.proof.prose import confidence_value as values
from adk_prism.features.proof.prose.markdown_line import Line, closing_bracket

# ---------------------------------------------------------------------------
# Whether words about confidence state one, and do not ask for, quote, require or suppose one.
#
# `If confidence is below 80%, ask`, `Minimum confidence: 80%`, `Say 'confidence: 92%'`, `consumer
# confidence` and the statistical `95% confidence interval` contain numbers that are not a confidence.
# Neither is a negated level (`not high`): it does not say what the level is.
#
# Patterns match a bounded piece around the label, and are not nested.

_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[;\n]")

_UP_TO_IT = tuple(
    re.compile(pattern)
    for pattern in (
        # Another kind of confidence, or none: consumers', voters'.
        r"\b(?:consumer|investor|business|market|voter|public|customer|no|lack of)\s+$",
        # A condition, up to three words away. A comma ends it: "when it is clear, confidence is 92%".
        r"\b(?:if|unless|when|whenever|until|where|whether|should|assuming)\s(?:[^\s,]+\s){0,3}$",
        r"\b(?:target|minimum|min\.?|maximum|max\.?|required|desired|default|needs?|requires?)\s(?:an?\s)?$",
        r"(?:\be\.g\.|\bfor example|\bfor instance|\bsuch as)[,:]?\s$",
        # The level of a test, or the point of a curve: "at a confidence of 0.9 or more".
        r"\bat\s(?:an?\s|the\s)?$",
        r"\binterval(?:o|le|lo)\s+d[ei]\s+$",
    )
)
_BEHIND_IT = tuple(
    re.compile(pattern)
    for pattern in (
        r"\s+(?:interval|limit|bound|band|region|threshold|cut-?off)s?\b",
        # A limit: "answers with a confidence below 80%".
        r"\s+(?:below|under|above|over|at least|at most|(?:less|more|greater) than)\s",
        r"[^.;\n]{0,60}\s(?:is|are|be)\s(?:required|needed|necessary|desirable)\b",
    )
)
_QUOTED = re.compile(r"\w\s[\"'“\u2018«]$")
_CLOSED = ("'", '"', "”", "\u2019", "»")
_ASKED = re.compile(r"[^.!?;\n]{0,200}\?")
_SPREAD = re.compile(r"[^.;\n]{0,120}?(?:\bbetween\s\$?\d|±|\+/-|\bwithin\s[±\d])")
_DENIED = re.compile(
    r"(?:\b(?:not|never|without|cannot|lacks?|lacking)|n['\u2019]t)\s(?:\S+\s){0,3}$"
)


def is_stated(before: str, after: str) -> bool:
    """Return whether the text before and after a label, in lower case, makes it a statement."""
    if any(pattern.search(before) for pattern in _UP_TO_IT):
        return False
    if any(pattern.match(after) for pattern in _BEHIND_IT):
        return False
    if _QUOTED.search(before) and not after.startswith(_CLOSED):
        return False
    return not (sentence_of(before).strip() and _ASKED.match(after))


def is_spread(after: str) -> bool:
    """Return whether it is a statistical interval: `with 95% confidence, it is between 3 and 5`."""
    return _SPREAD.match(after) is not None


def is_denied(before: str) -> bool:
    """Return whether it is negated: `we do not have` high confidence."""
    return _DENIED.search(sentence_of(before)) is not None


def sentence_of(before: str) -> str:
    """Return the last sentence of a piece of text."""
    ends = list(_SENTENCE_END.finditer(before))
    return before[ends[-1].end() :] if ends else before


def sentence_end(text: str) -> int:
    """Return where the first sentence ends."""
    match = _SENTENCE_END.search(text)
    return match.start() if match else len(text)


# ---------------------------------------------------------------------------

NO_VALUE = "no number and no level"
UNTIED = "a number that is not tied to it"
DENIED = "a level that is denied"

_BEFORE, _AFTER = 80, 300
"""Characters around a label that may belong to it: a name or a value before, a few of each after."""

STEMS = (
    *("confiden", "certainty", "konfidenz", "confian", "gewissheit", "conf:", "conf.:", "conf ="),
    *("% sure", "% certain", "信頼度", "確信度", "置信度"),
)
"""What any label contains, in lower case."""

_NOUNS = (
    "confidence certainty konfidenz gewissheit confiance confianza confidenza confiança".split()
)
_ADJECTIVES = ("confident", "certain", "sure")
_LABEL = re.compile(
    rf"(?P<noun>(?:{'|'.join(_NOUNS)})(?!\w)|conf\.?(?=\s?[:=]))|(?P<adjective>(?:{'|'.join(_ADJECTIVES)})(?!\w))"
    "|(?P<sign>信頼度|確信度|置信度)"
)
_TEST = re.compile(r"\bat\s+(?:the\s+|a\s+)?$")
_KIND = re.compile(
    r"\s+(?:level|score|rating|index|estimate|grade|assessment|evaluation|percentage|value|judge?ment)\b"
)
_QUALIFIED = re.compile(r"\s{0,2}\((?P<about>[^()]{1,60})\)(?=\s{0,2}[:=|→–—-])")
_TITLE = re.compile(r"(?P<title>[^(\[—–|]{1,100})(?:[(\[—–|]|\s-\s)")
_SCALE = re.compile(
    r"(?:on a )?(?:scale )?(?:(?:out )?of )?(?:[01]\s?(?:-|–|—|to)\s?)?(?P<of>100|10|5|1)(?: scale)?"
)
_CONCERNING = re.compile(
    r"\s+(?:in|for|on|about|regarding)\s+(?P<about>[^:=|,;.()]{1,60}?)"
    r"(?=\s{0,2}[:=|→–—]|\s+(?:is|was|to be|would be|-)\s)"
)
_SIGN = re.compile(r"[\"'”]?\s{0,2}(?:[:=→|–—]|-(?=\s))\s{0,4}[\"'“]?")
_VERB = re.compile(r"\s+(?:is|was|of|at|stands at|remains|to be|would be)\s+")
_BRACKET = re.compile(r"\s{0,2}[(\[]\s?(?=[^()\[\]]{1,40}[)\]])")
_SAME = re.compile(r"\s{0,2}[:=]?\s{0,3}\d{1,3}(?:\.\d+)?\s?%\s$")
_SPACE = re.compile(r"\s{1,3}")
_BEHIND = re.compile(r"\s+(?P<how>in|that|for|on|about|regarding)\s+(?P<about>[^,;.()|\n]{1,80})")
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
_ADVERB = re.compile(rf"(?<!\w)(?P<adverb>{'|'.join(sorted(_ADVERBS, key=len, reverse=True))})\s+$")


class Statement(Struct, frozen=True, gc=False):
    """What was stated, and the words."""

    text: str
    items: list[values.Item]


class Fault(Struct, frozen=True, gc=False):
    """Words that seem to state a confidence, and why none could be read."""

    text: str
    reason: str


def labels_of(line: Line) -> list[re.Match[str]]:
    """Return the words of a line that may announce a confidence."""
    return [match for match in _LABEL.finditer(line.lowered) if _is_whole_word(line, match.start())]


def _is_whole_word(line: Line, start: int) -> bool:
    """Return whether it is a whole word: not `high-confidence`, `self-confidence`, `unsure`."""
    before = line.text[start - 1] if start else " "
    return not before.isalnum() and before != "-"


def title_before(line: Line, labels: list[re.Match[str]]) -> str:
    """Return the title of a heading that ends with a confidence: `Severity (confidence: 92%)`."""
    match = _TITLE.match(line.text, 0, labels[0].start()) if labels else None
    return match["title"].strip(" :") if match is not None else ""


def is_label_alone(line: Line, labels: list[re.Match[str]]) -> bool:
    """Return whether a line is only a label: `Confidence:`."""
    label = labels[0]
    if label["adjective"]:
        return False
    kind = _KIND.match(line.lowered, label.end())
    rest = line.text[kind.end() if kind else label.end() :].strip(' :*"')
    before = line.lowered[: label.start()]
    return not rest and len(before) < _BEFORE and not _last_value(before, adjective=False)


def read_statements(
    line: Line, labels: list[re.Match[str]], above: str = ""
) -> Iterator[Statement | Fault]:
    """Yield what a line states, and what it seems to state, at these labels.

    `above` is the line before it, if its sentence continues in this one.
    """
    for number, label in enumerate(labels):
        start = labels[number - 1].end() if number else 0
        end = labels[number + 1].start() if number + 1 < len(labels) else len(line.text)
        start, end = max(start, label.start() - _BEFORE), min(end, label.end() + _AFTER)
        if label["adjective"] and _SAME.match(line.text, start, label.start()) and number:
            continue  # "Confidence: 100% certain" says it once.
        found = _Place(line, label, start, end).read(above if start == 0 else "")
        if found is not None:
            yield found


def read_cell(text: str) -> Statement | Fault | None:
    """Read a cell of a column of confidences: there a bare number counts."""
    items, end = values.read_items(text[:_AFTER])
    return Statement(text[:end], items) if items and end == len(text) else read_below(text)


def read_below(text: str) -> Statement | Fault | None:
    """Read a line below a label or heading that announced confidence."""
    piece = text[:_AFTER]
    items, end = values.read_items(piece, strict=True)
    if items:
        return Statement(piece[:end].strip(), items)
    return Fault(piece.strip(), UNTIED) if "%" in piece else None


class _Place:
    """A label and the text around it."""

    def __init__(self, line: Line, label: re.Match[str], start: int, end: int) -> None:
        self._line = line
        self._text = line.text
        self._low = line.lowered
        self._label = label
        self._start = start
        self._end = end

    @property
    def _behind(self) -> str:
        return self._low[self._label.end() : self._end]

    def read(self, above: str) -> Statement | Fault | None:
        before = self._low[self._start : self._label.start()]
        if not is_stated(f"{above[-_BEFORE:].lower()} {before}" if above else before, self._behind):
            return None
        if self._label["adjective"]:
            return self._preceding(before)
        following = self._labelled()
        if isinstance(following, Statement):
            return _with_word(following, before)
        if _is_test(before):
            return None
        return self._preceding(before) or following or self._untied(before)

    @property
    def _in_brackets(self) -> bool:
        return self._text[self._start : self._label.start()].rstrip().endswith("(")

    def _subject(self) -> str:
        """Return what a remark in brackets is about: `Trails: 3 closed (confidence 88%)`."""
        if not self._in_brackets:
            return ""
        before = self._text[self._start : self._label.start()].rstrip(" (")
        sentence = sentence_of(before)
        name, colon, _ = sentence.partition(":")
        is_bold = not self._start and self._line.marks[:1] == [0] < self._line.marks[1:2]
        is_whole = is_bold and self._label.start() < self._line.marks[1]
        if not (colon or is_whole) or len(name.split()) > 5 or len(sentence) >= _BEFORE - 2:
            return ""
        return name

    # -------------------------------------------------------------- label, then value

    def _labelled(self) -> Statement | Fault | None:
        low, place, end = self._low, self._label.end(), self._end
        kind = _KIND.match(low, place, end)
        place = kind.end() if kind else place
        inside = _QUALIFIED.match(low, place, end) or _CONCERNING.match(low, place, end)
        name = self._text[inside.start("about") : inside.end("about")] if inside else ""
        place = inside.end() if inside else place
        scale = _SCALE.fullmatch(name)
        sign = _SIGN.match(low, place, end)
        if sign is not None and scale is not None:
            return self._on_scale(int(scale["of"]), sign.end())
        if sign is not None:
            return self._after_sign(name, sign.end())
        for pattern in (_VERB, _BRACKET, _SPACE):
            between = pattern.match(low, place, end)
            if between is not None:
                return self._after_words(name, between.end())
        return None

    def _after_sign(self, name: str, place: int) -> Statement | Fault | None:
        tail = self._tail(place)
        before, start = self._name_before()
        items, end = values.read_items(tail)
        if items:
            named = [item.named(name or before or self._subject()) for item in items]
            return Statement(self._words(start, place + end), named)
        if not self._line.is_label(self._label.start()) and not before:
            return None  # A definition: `confidence: how sure it is`.
        end = sentence_end(tail)
        said = any(not letter.isspace() and letter not in "*\"'," for letter in tail[:end])
        return Fault(self._words(start, place + end), NO_VALUE) if said else None

    def _on_scale(self, of: int, place: int) -> Statement | Fault | None:
        """Read `Confidence (1-5): 4`."""
        value = values.read_on_scale(self._low, place, of)
        if value is None:
            return self._after_sign("", place)
        before, start = self._name_before()
        item = values.Item(value, "", False, "").named(before)
        return Statement(self._words(start, value.end), [item])

    def _after_words(self, name: str, place: int) -> Statement | None:
        """Read what follows a verb or a space: there a bare number does not count."""
        items, end = values.read_items(self._tail(place), strict=True, named=False)
        if not items:
            return None
        name = name or self._subject()
        if values.is_overall(self._low[self._start : self._label.start()]):
            name = f"overall {name}"
        text = self._words(self._label.start(), place + end)
        return Statement(text, [item.named(name) for item in items])

    def _tail(self, place: int) -> str:
        """Return the text that may belong to the label: up to its closing bracket, if it is in brackets."""
        tail = self._text[place : self._end]
        return tail[: closing_bracket(tail)] if self._in_brackets else tail

    def _name_before(self) -> tuple[str, int]:
        """Return the words right before the label, `Timber confidence:`, and where they begin."""
        at = self._label.start()
        start = max(self._start, self._line.mark_before(at))
        if start == at:  # The label is bold: what precedes it belongs to something else.
            before = self._low[max(self._start, at - 12) : at]
            return ("overall" if values.is_overall(before) else ""), at
        delimiters = list(_CLAUSE.finditer(self._text, start, at))
        start = delimiters[-1].end() if delimiters else start
        words = self._text[start:at].replace("_", " ").split()
        return (" ".join(words), start) if len(words) <= 5 else ("", at)

    def _words(self, start: int, end: int) -> str:
        return self._text[start:end].strip(" *|,")

    # -------------------------------------------------------------- value, then label

    def _preceding(self, before: str) -> Statement | Fault | None:
        found = _last_value(before, adjective=bool(self._label["adjective"]))
        if found is None or not self._is_judgement(found[1]) or _TEST.search(before, 0, found[0]):
            return None
        start, value = found
        if self._label["noun"] and value.is_number and is_spread(self._behind):
            return None
        if is_denied(before[:start]):
            return Fault(self._sentence(before), DENIED)
        behind = _BEHIND.match(self._low, self._label.end(), self._end)
        named = _NAME_BEFORE.search(self._text, self._start, self._start + start)
        overall = values.is_overall(before[:start])
        name = values.about(named["name"]) if named is not None else ""
        if behind is not None:
            words = self._text[behind.start("about") : behind.end("about")]
            name = values.about(words, keep=behind["how"] == "that")
        end = behind.end() if behind else self._label.end()
        text = self._text[self._start + start : end].strip()
        return Statement(text, [values.Item(value, name, overall, "")])

    def _is_judgement(self, value: values.Value) -> bool:
        """Return whether it is `92% sure` or `highly confident`, and not another use of these words."""
        return value.scaled or self._label["adjective"] not in ("sure", "certain")

    # -------------------------------------------------------------- neither

    def _untied(self, before: str) -> Fault | None:
        """Return the sentence, if it has a percentage that may be meant."""
        after = self._text[self._label.end() : self._end]
        rest = after[: sentence_end(after)]
        if "%" not in rest[:_BEFORE]:
            return None
        return Fault(self._sentence(before), UNTIED)

    def _sentence(self, before: str) -> str:
        """Return the sentence of the label."""
        start = self._label.start() - len(sentence_of(before))
        return self._text[start : self._label.end() + sentence_end(self._behind) + 1].strip()


def _with_word(statement: Statement, before: str) -> Statement:
    """Add the word in `High confidence (95%)`."""
    word = _last_value(before, adjective=False)
    if word is None or word[1].is_number or len(statement.items) != 1:
        return statement
    item = statement.items[0]
    if item.value.level:
        return statement
    return Statement(statement.text, [item.at_level(word[1].level)])


def _is_test(before: str) -> bool:
    """Return whether it is a statistical level: `at the 95% confidence level`."""
    found = _last_value(before, adjective=False)
    return found is not None and _TEST.search(before, 0, found[0]) is not None


def _last_value(before: str, *, adjective: bool) -> tuple[int, values.Value] | None:
    """Return the value that a piece of text ends with, and where it begins."""
    end = len(before.rstrip())
    adverb = _ADVERB.search(before) if adjective else None
    if adverb is not None:
        return adverb.start(), values.Value(end, level=_ADVERBS[adverb["adverb"]])
    for start in values.beginnings(before):
        value = values.read_value(before, start)
        if value is not None and value.end == end and not value.fault:
            return (start, value) if value.scaled or value.level else None
    return None
