"""Which rule holds on a day, and what a citation refers to then.

A rule holds from `effective_from` until `effective_to` (the first day on which it no longer does),
unless an event has set it aside. Nothing is inferred: of a paragraph that is not in the
table, only what became of its part is reported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal

from ..library.tables import NepaRule, NepaTable, Regime

Status = Literal["in force", "superseded", "set aside", "not yet in force", "not in the table"]

_CITATION = re.compile(
    r"(\d{1,2})\s*C\.?\s*F\.?\s*R\.?\s*(?:§+|parts?|sec(?:tion|\.)?)?\s*(\d+[a-z]?)"
    r"(?:\s*[-–]\s*\d+)?(\.\d+[a-z]?)?((?:\s*\(\s*[0-9a-z]{1,4}\s*\))*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Cited:
    """A citation of the Code of Federal Regulations, in one spelling."""

    title: str
    part: str
    section: str = ""
    paragraphs: str = ""

    @property
    def text(self) -> str:
        return f"{self.title} CFR {self.part}{self.section}{self.paragraphs}"

    @property
    def part_text(self) -> str:
        return f"{self.title} CFR {self.part}"


def cited_in(text: str) -> list[Cited]:
    """Return the citations in a text, in order, each once."""
    found = (
        Cited(title, part.lower(), section.lower(), re.sub(r"\s", "", paragraphs).lower())
        for title, part, section, paragraphs in _CITATION.findall(text)
    )
    return list(dict.fromkeys(found))


def status_of(rule: NepaRule | Regime, day: date) -> Status:
    """Return a rule's status on a day."""
    if rule.effective_from is not None and day < rule.effective_from:
        return "not yet in force"
    if rule.effective_to is not None and day >= rule.effective_to:
        return "superseded"
    events = rule.events if isinstance(rule, NepaRule) else ()
    return next((event.status for event in events if day >= event.since), "in force")


def rule_for(table: NepaTable, activity: str, day: date) -> NepaRule | None:
    """Return the rule for an activity that is of force on a day, or was set aside by then."""
    held = [rule for rule in table.rules if rule.activity == activity]
    by_status = {status_of(rule, day): rule for rule in held}
    return by_status.get("in force") or by_status.get("set aside")


def regime_of(table: NepaTable, rule: NepaRule) -> Regime | None:
    """Return the procedures that a rule belongs to."""
    return next((regime for regime in table.regimes if regime.part == rule.regime), None)


def find_rule(table: NepaTable, cited: Cited) -> NepaRule | None:
    """Return the rule that a citation names."""
    return next((rule for rule in table.rules if rule.citation == cited.text), None)


def find_regime(table: NepaTable, cited: Cited) -> Regime | None:
    """Return the procedures that a citation's part belongs to."""
    return next((regime for regime in table.regimes if _covers(regime, cited)), None)


def _covers(regime: Regime, cited: Cited) -> bool:
    first, _, last = regime.part.partition("-")
    if not last:
        return first == cited.part_text
    title, _, number = first.partition(" CFR ")
    numbers = (number, cited.part, last)
    return (
        title == cited.title
        and all(text.isdigit() for text in numbers)
        and (int(number) <= int(cited.part) <= int(last))
    )
