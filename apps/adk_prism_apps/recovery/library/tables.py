"""The shapes of the reference tables: what the skills look up rather than decide themselves."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

Share = Annotated[float, Meta(ge=0, le=1)]


class SeverityClass(Struct, frozen=True):
    """A class holds from `low` up to, but not including, `high`; the last includes it."""

    name: str
    group: Literal["regrowth", "unburned", "low", "moderate", "high"]
    low: float = field(name="from")
    high: float = field(name="to")


class SeverityScheme(Struct, frozen=True):
    """Severity classes in order, with what has to be said about them."""

    scheme: str
    citation: str
    caution: str
    classes: tuple[SeverityClass, ...]
    units: str = "dNBR x 1000"


class Checks(Struct, frozen=True):
    """Project-defined limits of when something deserves a second look."""

    area_tolerance: Share
    steep_slope_pct: float
    close_call_sd: float
    steep_groups: tuple[str, ...]
    scheme: str
    note: str = ""


class ConfidencePolicy(Struct, frozen=True):
    """The only numbers in a confidence that the data itself does not give."""

    weakness_cost: Share
    weakness_why: str
    age_limit_days: dict[str, Annotated[int, Meta(gt=0)]]
    age_why: str
    scheme: str


class DamageRule(Struct, frozen=True):
    """Matches a segment that has all that the rule names."""

    because: str
    damage_class: str = field(name="class")
    tread_loss_pct_from: float | None = None
    structure: str | None = None
    state: str | None = None


class ClosureRule(Struct, frozen=True):
    """Matches a classified segment that has all that the rule names."""

    status: Literal["close", "caution"]
    because: str
    damage_class: str | None = field(name="class", default=None)
    structure: str | None = None
    hazard_trees_per_mile_above: float | None = None
    severity_groups: tuple[str, ...] | None = None


class DamageClass(Struct, frozen=True):
    """One step of the damage scale, lightest first."""

    name: str
    meaning: str


class TrailScale(Struct, frozen=True):
    """The damage scale with its rules; of those that match, the first counts."""

    scheme: str
    note: str
    classes: tuple[DamageClass, ...]
    damage_rules: tuple[DamageRule, ...]
    closure_rules: tuple[ClosureRule, ...]

    def step(self, name: str | None) -> int:
        """Return how far up the scale a class is; -1 for none."""
        names = [kind.name for kind in self.classes]
        return names.index(name) if name in names else -1

    def is_heavy(self, name: str | None) -> bool:
        """Return whether a class is one of the two heaviest."""
        return self.step(name) >= len(self.classes) - 2


class Deterioration(Struct, frozen=True):
    """The share of volume lost by a year after death. No `loss_high`: no upper bound is known."""

    species: str
    year: Annotated[float, Meta(gt=0, le=100)]
    loss_low: Share
    citation: str
    analogue: bool
    note: str
    loss_high: Share | None = None


class StudentT(Struct, frozen=True):
    """Two-sided 95 % quantile of Student's t."""

    df: int
    t95: float


class RuleEvent(Struct, frozen=True):
    """Something that happened to a rule besides its own dates."""

    since: date = field(name="from")
    status: Literal["set aside"] = "set aside"
    by: str = ""
    note: str = ""


class NepaRule(Struct, frozen=True):
    """A categorical exclusion. `effective_to` is the first day on which it no longer holds."""

    citation: str
    regime: str
    activity: str
    title: str
    limits: dict[Literal["acres", "temp_road_miles", "road_miles", "years_after_fire"], float]
    effective_from: date
    source: str
    verify: str
    effective_to: date | None = None
    superseded_by: str | None = None
    events: tuple[RuleEvent, ...] = ()
    note: str = ""
    note_until: date | None = None

    def note_on(self, day: date) -> str:
        """Return what has to be said of the rule on a day."""
        return "" if self.note_until is not None and day >= self.note_until else self.note


class Regime(Struct, frozen=True):
    """The set of procedures that a rule belongs to."""

    part: str
    title: str
    source: str
    verify: str
    effective_from: date | None = None
    effective_to: date | None = None
    superseded_by: str | None = None
    document: str = ""
    circumstances: str = ""
    notes: tuple[str, ...] = ()


class NepaTable(Struct, frozen=True):
    """All rules, with the day on which they were last checked."""

    checked_on: date
    evidence: Literal["primary", "secondary"]
    note: str
    closing: str
    activities: dict[str, str]
    regimes: tuple[Regime, ...]
    rules: tuple[NepaRule, ...]
