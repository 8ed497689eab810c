"""The rows of a fire's own files. Bounds stand where a number outside them cannot be meant.

Units are in the names: acres, miles, inches of diameter at breast height (`dbh_in`), board feet
(`bf`), per cent (`_pct`), dNBR multiplied by 1000. `synthetic` marks a row that was made up.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from msgspec import Meta, Struct

Text = Annotated[str, Meta(min_length=1, max_length=200)]
Id = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$")]
# Upper bounds also refuse infinity, and any bound refuses NaN.
Acres = Annotated[float, Meta(gt=0, le=10_000_000)]
Miles = Annotated[float, Meta(ge=0, le=10_000)]
Percent = Annotated[float, Meta(ge=0, le=100)]
Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Dnbr = Annotated[float, Meta(ge=-9999, le=9999)]
Usd = Annotated[float, Meta(ge=0, le=1_000_000)]
Structure = Literal["bridge", "culvert", "puncheon", "wall", "other"]
_MTBS_NAMES = {
    "event_id": "Event_ID",
    "incid_name": "Incid_Name",
    "asmnt_type": "Asmnt_Type",
    "incgreen_t": "IncGreen_T",
    "low_t": "Low_T",
    "mod_t": "Mod_T",
    "high_t": "High_T",
}


class Reference(Struct, frozen=True, forbid_unknown_fields=True):
    """Where something was read."""

    source: Text
    reference: str
    uri: str = ""


class Growth(Struct, frozen=True):
    """The size of the fire on one day."""

    date: date
    acres: Acres
    source: str
    contained_pct: Percent | None = None


class Fact(Struct, frozen=True):
    """One sourced sentence about the incident."""

    text: Text
    source: str


class Incident(Struct, frozen=True):
    """What is known of the fire itself. `scenario_date` is the day that answers speak of."""

    fire_id: Id
    name: Text
    started_on: date
    scenario_date: date
    acres: Acres
    latitude: Annotated[float, Meta(ge=-90, le=90)]
    longitude: Annotated[float, Meta(ge=-180, le=180)]
    sources: dict[str, Reference]
    aliases: tuple[str, ...] = ()
    contained_on: date | None = None
    cause: str = ""
    place: str = ""
    forests: tuple[str, ...] = ()
    growth: tuple[Growth, ...] = ()
    facts: tuple[Fact, ...] = ()
    synthetic: bool = False


class SourceNote(Struct, frozen=True):
    """What `sources.json` says of one file."""

    source: Text
    reference: str
    synthetic: bool
    dated: date
    uri: str = ""
    assessment: Literal["initial", "extended", "field-checked", ""] = ""


class Sector(Struct, frozen=True):
    """A piece of the burned area with its mean dNBR and the spread of its pixels."""

    sector_id: Id
    name: Text
    acres: Acres
    dnbr_mean: Dnbr
    dnbr_sd: Annotated[float, Meta(gt=0, le=9999)]
    cloud_pct: Percent = 0
    slope_pct: Annotated[float, Meta(ge=0, le=1000)] | None = None
    field_checks: Count = 0
    pixels: Count | None = None
    synthetic: bool = False


class Mtbs(Struct, frozen=True, rename=_MTBS_NAMES):
    """One row of the MTBS burned-area boundaries, under MTBS's own column names.

    9999, -9999, 999 and -999 stand for a threshold that the analyst did not use.
    """

    event_id: Text
    low_t: Dnbr
    mod_t: Dnbr
    high_t: Dnbr
    incgreen_t: Dnbr = -9999
    asmnt_type: str = ""
    incid_name: str = ""
    synthetic: bool = False


class Trail(Struct, frozen=True):
    """One trail as a whole."""

    trail_id: Id
    name: Text
    miles: Annotated[float, Meta(gt=0, le=10_000)]
    trail_class: Annotated[int, Meta(ge=1, le=5)] | None = None
    visits_per_year: Count | None = None
    synthetic: bool = False


class Segment(Struct, frozen=True):
    """A stretch of trail; without `surveyed_on` it was not surveyed since the fire."""

    trail_id: Id
    segment_id: Id
    from_mile: Miles
    to_mile: Miles
    sector_id: str = ""
    surveyed_on: date | None = None
    tread_loss_pct: Percent = 0
    structure: Structure | None = None
    structure_state: Literal["intact", "damaged", "failed"] | None = None
    hazard_trees: Count = 0
    synthetic: bool = False


class Unit(Struct, frozen=True):
    """A cruised unit with its design."""

    unit_id: Id
    name: Text
    acres: Acres
    baf: Annotated[float, Meta(gt=0, le=1000)]
    measured_on: date
    sector_id: str = ""
    allowed_error_pct: Annotated[float, Meta(gt=0, le=100)] | None = None
    synthetic: bool = False


class Tree(Struct, frozen=True):
    """A tallied tree; a plot where none was tallied is one row without a species."""

    unit_id: Id
    plot_id: Id
    species: str = ""
    dbh_in: Annotated[float, Meta(gt=0, le=500)] | None = None
    gross_bf: Annotated[float, Meta(ge=0, le=1_000_000)] | None = None
    defect_pct: Percent = 0
    status: Literal["dead", "dying", "live"] = "dead"
    tree: str = ""
    synthetic: bool = False


class Price(Struct, frozen=True):
    """A range of prices in US dollars per thousand board feet."""

    species: Text
    low_usd_per_mbf: Usd
    high_usd_per_mbf: Usd
    synthetic: bool = False


class Proposal(Struct, frozen=True):
    """Something that somebody wants to do on the ground."""

    proposal_id: Id
    name: Text
    activity: Text
    acres: Acres | None = None
    temp_road_miles: Miles | None = None
    road_miles: Miles | None = None
    extraordinary_circumstances: Literal["not reviewed", "none found", "present"] = "not reviewed"
    synthetic: bool = False
