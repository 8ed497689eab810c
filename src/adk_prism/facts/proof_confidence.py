"""One number for several statements: which counts, how that is said, and where two disagree.

What tools computed goes before what a text states, and what a text states of everything before what it
states of parts. Of several the lowest counts: an answer is as sure as its weakest part. A number and the
one that it rests on are the same if they differ by no more than rounding to whole percents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from adk_prism.facts.proof_model import Disagreement, Level, Reading, Relation
from adk_prism.facts.prose.confidence_value import LEVELS

ROUNDING = 0.00501

NONE_STATED = "none stated"
IN_WORDS = "stated in words only"


class Confidence(Struct, frozen=True, gc=False):
    """A number, or none, and how it came about."""

    value: float | None
    derivation: str
    level: Level | Literal[""] = ""


NO_CONFIDENCE = Confidence(None, NONE_STATED)


def derive(readings: Sequence[Reading]) -> Confidence:
    """Return the one confidence that follows from some statements."""
    computed = [reading for reading in readings if reading.origin == "computed"]
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
    return Confidence(lowest.least, _because(derivation, lowest.reason), level)


def _because(derivation: str, reason: str) -> str:
    return f"{derivation}: {reason}" if reason else derivation


def _lowest_level(readings: Sequence[Reading]) -> Level | Literal[""]:
    levels = [reading.level for reading in readings if reading.level]
    return min(levels, key=LEVELS.index) if levels else ""


def disagreements(stated: Sequence[Reading], rests_on: Sequence[Reading]) -> list[Disagreement]:
    """Return what a text states otherwise than the numbers that it rests on."""
    numbers = [number for number in (reading.least for reading in rests_on) if number is not None]
    if not numbers:
        return []
    found = []
    alone = len(stated) == 1
    for reading in stated:
        relation = _relation(reading, numbers, of_all=reading.overall or alone)
        if relation is not None and reading.least is not None:
            name = reading.about or reading.section
            low, high = min(numbers), max(numbers)
            found.append(Disagreement(reading.least, relation, reading.text, name, low, high))
    return found


def _relation(reading: Reading, numbers: Sequence[float], *, of_all: bool) -> Relation | None:
    """Tell how a number lies to others; None where it agrees.

    What is stated of everything should be the lowest; what is stated of a part, any of them.
    """
    number = reading.least
    if number is None:
        return None
    if not of_all:
        known = any(abs(number - other) <= ROUNDING for other in numbers)
        return None if known else "nobody's"
    low, high = min(numbers), max(numbers)
    if abs(number - low) <= ROUNDING:
        return None
    if number < low:
        return "lower"
    return "higher" if number > high + ROUNDING else "within"
