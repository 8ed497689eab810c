"""One confidence from several readings, how it was derived, and where two readings disagree.

Numbers that tools computed take precedence over numbers stated in text, and statements about the whole
over statements about parts. Of several the lowest counts: an answer is as reliable as its weakest part.
If a layer gives a total, its parts are shown but do not count again. Two numbers are equal if they differ
by no more than rounding to whole percents.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from msgspec import Struct

from adk_prism.facts.proof_model import Disagreement, Level, Reading, Relation
from adk_prism.proof_text.prose.confidence_value import LEVELS

ROUNDING = 0.00501

NONE_STATED = "none stated"
IN_WORDS = "stated in words only"


class Confidence(Struct, frozen=True, gc=False):
    """A number, or none, and how it was derived."""

    value: float | None
    derivation: str
    level: Level | Literal[""] = ""


NO_CONFIDENCE = Confidence(None, NONE_STATED)


def derive(readings: Sequence[Reading]) -> Confidence:
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


def _lowest(numbers: list[Reading], words: str) -> Confidence:
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


def _lowest_level(readings: Sequence[Reading]) -> Level | Literal[""]:
    levels = [reading.level for reading in readings if reading.level]
    return min(levels, key=LEVELS.index) if levels else ""


def repeats(reading: Reading, others: Sequence[Reading]) -> bool:
    """Return whether one of the others gives the same number."""
    return any(_is_near(reading.least, other.least) for other in others)


def _is_near(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= ROUNDING


def disagreements(
    stated: Sequence[Reading], based_on: Sequence[Reading], latest: Sequence[Reading] = ()
) -> list[Disagreement]:
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
            found.append(Disagreement(reading.least, relation, reading.text, name, low, high))
    return found


def _numbers(readings: Sequence[Reading]) -> list[float]:
    return [number for number in (reading.least for reading in readings) if number is not None]


def _part_relation(reading: Reading, based_on: Sequence[Reading]) -> Relation | None:
    """Return "nobody's" if the number stated for a part is given by no one."""
    return None if reading.least is None or repeats(reading, based_on) else "nobody's"


def _relation(
    number: float | None, totals: Sequence[float], lows: Collection[float]
) -> Relation | None:
    """Compare a number for the whole with the totals; None if it equals the lowest."""
    if number is None or any(_is_near(number, low) for low in lows):
        return None
    if number < min(totals):
        return "lower"
    return "higher" if number > max(totals) + ROUNDING else "within"
