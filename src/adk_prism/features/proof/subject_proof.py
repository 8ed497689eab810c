"""The proof of one subject: what it has given so far, answer by answer.

An answer to the same question (the same finding, the same tool with the same input, the same call)
replaces the earlier one; other answers are added, so a specialist that is asked twice keeps all its
numbers. Text about a finding is replaced together with the finding. The newest answers count; older ones
beyond the limit are counted as omitted.

A text is compared with what the tools of the same call computed. If those tools cite sources as data,
citations in the text are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct

from adk_prism.features.proof import model
from adk_prism.features.proof.proof_layer_reader import MOST, Pieces
from adk_prism.features.proof.prose.confidence_value import LEVELS

# ---------------------------------------------------------------------------
# One confidence from several readings, how it was derived, and where two readings disagree.
#
# Numbers that tools computed take precedence over numbers stated in text, and statements about the
# whole over statements about parts. Of several the lowest counts: an answer is as reliable as its
# weakest part. If a layer gives a total, its parts are shown but do not count again. Two numbers are
# equal if they differ by no more than rounding to whole percents.

ROUNDING = 0.00501

NONE_STATED = "none stated"
IN_WORDS = "stated in words only"


class Confidence(Struct, frozen=True, gc=False):
    """A number, or none, and how it was derived."""

    value: float | None
    derivation: str
    level: model.Level | Literal[""] = ""


NO_CONFIDENCE = Confidence(None, NONE_STATED)


def derive(readings: Sequence[model.Reading]) -> Confidence:
    """Return the one confidence that follows from some readings."""
    computed = [r for r in readings if r.origin == "computed" and not r.part]
    stated = [reading for reading in readings if reading.origin != "computed"]
    overall = [reading for reading in stated if reading.overall]
    for group, words in (
        (computed, "computed"),
        (overall, "stated as overall"),
        (stated, "stated in the text"),
    ):
        numbers = [reading for reading in group if reading.least is not None]
        if numbers:
            return _lowest(numbers, words)
    level = _lowest_level(readings)
    return Confidence(None, IN_WORDS, level) if level else NO_CONFIDENCE


def _lowest(numbers: list[model.Reading], words: str) -> Confidence:
    lowest = min(numbers, key=lambda reading: reading.least or 0.0)
    level = _lowest_level(numbers)
    if len(numbers) > 1:
        whose = f", by {lowest.text}" if lowest.origin == "computed" else ""
        derivation = f"lowest of {len(numbers)} {words}{whose}"
    elif lowest.value is None:
        derivation = f"low end of a range {words}"
    elif lowest.origin == "computed":
        derivation = f"{words} by {lowest.text}"
    else:
        derivation = words
    if lowest.reason:
        derivation = f"{derivation}: {lowest.reason}"
    return Confidence(lowest.least, derivation, level)


def _lowest_level(readings: Sequence[model.Reading]) -> model.Level | Literal[""]:
    levels = [reading.level for reading in readings if reading.level]
    return min(levels, key=LEVELS.index) if levels else ""


def repeats(reading: model.Reading, others: Sequence[model.Reading]) -> bool:
    """Return whether one of the others gives the same number."""
    return any(_is_near(reading.least, other.least) for other in others)


def _is_near(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= ROUNDING


def disagreements(
    stated: Sequence[model.Reading],
    based_on: Sequence[model.Reading],
    latest: Sequence[model.Reading] = (),
) -> list[model.Disagreement]:
    """Return where a text states other numbers than those that it is based on.

    `latest` are the numbers of the last answers: a follow-up may have replaced the others.
    """
    numbers = _numbers(based_on)
    if not numbers:
        return []
    totals = _numbers([reading for reading in based_on if not reading.part]) or numbers
    lows = {min(totals), min(_numbers(latest), default=min(totals))}
    found = []
    alone = len(stated) == 1
    for reading in stated:
        of_all = reading.overall or alone
        relation = (
            _relation(reading.least, totals, lows) if of_all else _part_relation(reading, based_on)
        )
        if relation is not None and reading.least is not None:
            name = reading.about or reading.section
            low, high = min(numbers), max(numbers)
            found.append(model.Disagreement(reading.least, relation, reading.text, name, low, high))
    return found


def _numbers(readings: Sequence[model.Reading]) -> list[float]:
    return [number for number in (reading.least for reading in readings) if number is not None]


def _part_relation(
    reading: model.Reading, based_on: Sequence[model.Reading]
) -> model.Relation | None:
    """Return "nobody's" if the number stated for a part is given by no one."""
    return None if reading.least is None or repeats(reading, based_on) else "nobody's"


def _relation(
    number: float | None, totals: Sequence[float], lows: Collection[float]
) -> model.Relation | None:
    """Compare a number for the whole with the totals; None if it equals the lowest."""
    if number is None or any(_is_near(number, low) for low in lows):
        return None
    if number < min(totals):
        return "lower"
    return "higher" if number > max(totals) + ROUNDING else "within"


# ---------------------------------------------------------------------------

ANSWERS = 16
"""The most answers of one subject in its proof: layers of its tools, and its texts."""

_FROM_THE_START = ("uncited", "specialists")
"""Lists of which the first items are shown; of readings the lowest are, of all others the newest."""

Key = tuple[str, ...]

ANSWER, SUMMARY = "answer", "layer"
"""The keys of a specialist's text, and of its own layer, which summarises the layers of its tools."""
_OWN = frozenset((ANSWER, SUMMARY))


class SubjectProof:
    """The answers of one subject, and the proof that follows from them."""

    def __init__(self, kind: model.SubjectKind, name: str) -> None:
        self.kind: model.SubjectKind = kind
        self.name = name
        self.path = ""
        self.is_reported = False
        """Its proof was added to the facts, and nothing has changed since."""
        self._calls: dict[str, None] = {}
        self._answers: dict[Key, Pieces] = {}
        self._steps: list[Callable[[], model.Step]] = []
        """Written when a proof is made: most runs need none."""
        self._omitted = 0
        self._summed: Summary | None = None
        """Cached until an answer changes it."""

    @property
    def is_empty(self) -> bool:
        """Whether it has given nothing; a sequence of calls alone is not a proof."""
        return not self._answers

    def add_call(self, call: str) -> None:
        """Note a call that the subject answers."""
        self._calls[call] = None
        if len(self._calls) > ANSWERS:
            del self._calls[next(iter(self._calls))]

    def add(self, key: Key, pieces: Pieces, call: str = "") -> None:
        """Add what an answer in a `call` gives; it replaces what the same key gave before."""
        pieces.call = call
        known = self._answers.pop(key, None)
        self._summed = None
        if pieces.count:
            self._answers[key] = pieces
        if pieces.count or known is not None:
            self.is_reported = False
        if known is not None and known.call != call:
            self._replace(known)
        if len(self._answers) > ANSWERS:
            self._omitted += self._answers.pop(next(iter(self._answers))).count

    def add_text(self, pieces: Pieces, call: str = "") -> None:
        """Add what a text in a `call` gives."""
        self.add((ANSWER, call), pieces, call)

    def add_summary(self, pieces: Pieces, call: str) -> None:
        """Add the citations of a layer that summarises the layers of a `call`'s tools."""
        self.add((SUMMARY, call), Pieces(citations=pieces.citations), call)

    def layers(self, call: str) -> list[Pieces]:
        """Return what the tools of a call gave as data."""
        answers = self._answers.items()
        return [pieces for key, pieces in answers if pieces.call == call and key[0] not in _OWN]

    def _replace(self, old: Pieces) -> None:
        """Drop what an earlier call's text said about a layer that a later call has replaced."""
        left = self.layers(old.call)
        said = [key for key in ((ANSWER, old.call), (SUMMARY, old.call)) if key in self._answers]
        for key in said:
            if not left:
                del self._answers[key]
                continue
            known = [reading for pieces in left for reading in pieces.readings]
            pieces = self._answers[key]
            pieces.readings = [
                reading
                for reading in pieces.readings
                if not repeats(reading, old.readings) or repeats(reading, known)
            ]

    def add_step(self, write: Callable[[], model.Step]) -> None:
        """Add a step of the sequence of calls and responses."""
        if len(self._steps) < MOST:
            self._steps.append(write)
        else:
            self._omitted += 1

    # -------------------------------------------------------------- result

    @property
    def latest(self) -> list[model.Reading]:
        """The confidences of its last call; all of them if that call gave none."""
        call = next(reversed(self._calls), "")
        answers = (pieces for pieces in self._answers.values() if pieces.call == call)
        return [
            reading for pieces in answers for reading in pieces.readings
        ] or self.summary.readings

    @property
    def summary(self) -> Summary:
        """What follows from the answers so far."""
        if self._summed is None:
            self._summed = _sum(self._answers.values())
        return self._summed

    def proof(self, **more: Any) -> model.Proof:
        """Return the proof so far; `more` overrides fields, for the proof of the whole answer."""
        summary = self.summary
        confidence = summary.confidence
        answers = self._answers.values()
        fields: dict[str, Any] = {
            "subject": model.Subject(self.kind, self.name, list(self._calls), self.path),
            "origin": summary.origin,
            "confidence": confidence.value,
            "derivation": confidence.derivation,
            "level": confidence.level,
            "readings": summary.readings,
            "citations": summary.citations,
            "reasoning_chain": self._chain(),
            "factors": [factor for pieces in answers for factor in pieces.factors],
            "unread": [unread for pieces in answers for unread in pieces.unread],
            "disagreements": list(_contradictions(answers)),
            **more,
        }
        omitted = self._omitted + sum(pieces.omitted for pieces in answers)
        for name, pieces in fields.items():
            if isinstance(pieces, list) and len(pieces) > MOST:
                omitted += len(pieces) - MOST
                fields[name] = _shown(name, pieces)
        return model.Proof(**fields, omitted=omitted)

    def _chain(self) -> list[model.Step]:
        """Return the stated steps and the calls, in order."""
        stated = [step for pieces in self._answers.values() for step in pieces.steps]
        return sorted([*(write() for write in self._steps), *stated], key=lambda step: step.cursor)


def _shown(name: str, pieces: list[Any]) -> list[Any]:
    """Return as many pieces as a proof may show, in their order."""
    if name != "readings":
        return pieces[:MOST] if name in _FROM_THE_START else pieces[-MOST:]
    # What lowers an answer is what a reader looks for, and a total is never left out.
    by_weight = sorted(range(len(pieces)), key=lambda index: _weight(pieces[index]))
    return [pieces[index] for index in sorted(by_weight[:MOST])]


def _weight(reading: model.Reading) -> tuple[bool, float]:
    is_total = reading.overall or (reading.origin == "computed" and not reading.part)
    return not is_total, 1.0 if reading.least is None else reading.least


class Summary(Struct, frozen=True, gc=False):
    """What follows from a set of answers."""

    readings: list[model.Reading]
    citations: list[model.Citation]
    confidence: Confidence
    origin: model.ProofOrigin


def _sum(answers: Collection[Pieces]) -> Summary:
    readings = [reading for pieces in answers for reading in pieces.readings]
    citations = model.unique_citations(_citations(answers))
    given = {piece.origin for piece in readings}
    given.update(piece.origin for piece in citations)
    given.update(step.origin for pieces in answers for step in pieces.steps)
    parsed: model.ProofOrigin = "parsed" if answers else "absent"
    return Summary(
        readings, citations, derive(readings), "computed" if "computed" in given else parsed
    )


def _citations(answers: Collection[Pieces]) -> Iterator[model.Citation]:
    """Yield the citations; if a call cites sources as data, none from its text."""
    given = [(p.call, citation) for p in answers for citation in p.citations]
    cited = {call for call, citation in given if citation.origin == "computed"}
    for call, citation in given:
        if citation.origin == "computed" or call not in cited:
            yield citation


def _contradictions(answers: Collection[Pieces]) -> Iterator[model.Disagreement]:
    """Yield where a subject's text states another number than its tools computed, in the same call if any."""
    computed = [(p.call, r) for p in answers for r in p.readings if r.origin == "computed"]
    for pieces in answers if computed else ():
        stated = [reading for reading in pieces.readings if reading.origin == "parsed"]
        own = [reading for call, reading in computed if call == pieces.call]
        yield from disagreements(stated, own or [reading for _, reading in computed])
