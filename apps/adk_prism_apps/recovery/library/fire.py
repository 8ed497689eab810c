"""The files of one fire. Each is read and checked when it is asked for, so that one bad file
stops only the skills that need it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from .files import read_csv, read_json
from .problem import DataProblem
from .records import (
    Incident,
    Mtbs,
    Price,
    Proposal,
    Sector,
    Segment,
    SourceNote,
    Trail,
    Tree,
    Unit,
)
from .sheet import Sheet

T = TypeVar("T")


class FireFolder:
    """One fire's folder. Every method raises `DataProblem` for a file that cannot be used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.fire_id = path.name

    def incident(self) -> Incident:
        """Return the incident; every fact in it names one of its sources."""
        incident = read_json(self._path / "incident.json", self._name("incident.json"), Incident)
        if incident.fire_id != self.fire_id:
            self._refuse("incident.json", "fire_id", f"is not the folder's name {self.fire_id!r}")
        named = {growth.source for growth in incident.growth}
        named |= {fact.source for fact in incident.facts}
        unknown = sorted(named - incident.sources.keys())
        if unknown:
            self._refuse("incident.json", "sources", f"has no entry {unknown[0]!r}")
        return incident

    def sectors(self) -> Sheet[Sector]:
        sheet = self._sheet("sectors.csv", Sector)
        self._need_rows(sheet)
        self._unique(sheet.file, "sector_id", (row.sector_id for row in sheet.rows))
        return sheet

    def mtbs(self) -> Sheet[Mtbs] | None:
        """Return MTBS's own row for this fire, or None if the user has none."""
        return self._sheet("mtbs.csv", Mtbs) if self._has("mtbs.csv") else None

    def perimeter(self) -> Sheet[dict[str, Any]]:
        """Return the GeoJSON features of the perimeter, their geometry not yet looked at."""
        document = read_json(
            self._path / "perimeter.geojson", self._name("perimeter.geojson"), dict[str, Any]
        )
        features = document.get("features", [document])
        if not isinstance(features, list) or not all(isinstance(item, dict) for item in features):
            self._refuse("perimeter.geojson", "features", "is not a list of GeoJSON features")
        return Sheet("perimeter.geojson", tuple(features), self._note("perimeter.geojson"))

    def trails(self) -> Sheet[Trail]:
        sheet = self._sheet("trails.csv", Trail)
        self._need_rows(sheet)
        self._unique(sheet.file, "trail_id", (row.trail_id for row in sheet.rows))
        return sheet

    def segments(self, trails: Sequence[Trail]) -> Sheet[Segment]:
        """Return the segments; each is a stretch of one of the trails."""
        sheet = self._sheet("trail_segments.csv", Segment)
        self._unique(sheet.file, "segment_id", (row.segment_id for row in sheet.rows))
        known = {trail.trail_id for trail in trails}
        for row in sheet.rows:
            if row.trail_id not in known:
                self._refuse(sheet.file, "trail_id", f"names {row.trail_id!r}, not in trails.csv")
            if row.to_mile <= row.from_mile:
                self._refuse(sheet.file, "to_mile", f"of {row.segment_id} is not past from_mile")
        return sheet

    def units(self) -> Sheet[Unit]:
        sheet = self._sheet("cruise_units.csv", Unit)
        self._need_rows(sheet)
        self._unique(sheet.file, "unit_id", (row.unit_id for row in sheet.rows))
        return sheet

    def trees(self, units: Sequence[Unit]) -> Sheet[Tree]:
        """Return the tally; each tree stands in one of the units and has been measured."""
        sheet = self._sheet("cruise_trees.csv", Tree)
        known = {unit.unit_id for unit in units}
        for row in sheet.rows:
            if row.unit_id not in known:
                self._refuse(sheet.file, "unit_id", f"names {row.unit_id!r}, not in the units")
            if row.species and row.dbh_in is None:
                self._refuse(sheet.file, "dbh_in", f"is missing for a tree of plot {row.plot_id}")
            if row.species and row.gross_bf is None:
                self._refuse(sheet.file, "gross_bf", f"is missing for a tree of plot {row.plot_id}")
        return sheet

    def prices(self) -> Sheet[Price] | None:
        """Return the price ranges, or None if there are none."""
        if not self._has("prices.csv"):
            return None
        sheet = self._sheet("prices.csv", Price)
        for row in sheet.rows:
            if row.low_usd_per_mbf > row.high_usd_per_mbf:
                self._refuse(sheet.file, "low_usd_per_mbf", f"of {row.species} is above the high")
        return sheet

    def proposals(self) -> Sheet[Proposal]:
        sheet = self._sheet("proposals.csv", Proposal)
        self._need_rows(sheet)
        self._unique(sheet.file, "proposal_id", (row.proposal_id for row in sheet.rows))
        return sheet

    def _has(self, file: str) -> bool:
        return (self._path / file).exists()

    def _name(self, file: str) -> str:
        return f"{self.fire_id}/{file}"

    def _sheet(self, file: str, row: type[T]) -> Sheet[T]:
        return Sheet(file, read_csv(self._path / file, self._name(file), row), self._note(file))

    def _note(self, file: str) -> SourceNote:
        name = self._name("sources.json")
        notes = read_json(self._path / "sources.json", name, dict[str, SourceNote])
        note = notes.get(file)
        if note is None:
            self._refuse("sources.json", file, "has no entry: say where the file comes from")
        return note

    def _need_rows(self, sheet: Sheet[Any]) -> None:
        if not sheet.rows:
            self._refuse(sheet.file, "", "has no rows")

    def _unique(self, file: str, field: str, ids: Iterable[str]) -> None:
        twice = [name for name, count in Counter(ids).items() if count > 1]
        if twice:
            self._refuse(file, field, f"has {twice[0]!r} more than once")

    def _refuse(self, file: str, field: str, complaint: str) -> NoReturn:
        subject = f"`{field}` {complaint}" if field else complaint
        text = f"{self._name(file)}: {subject}."
        raise DataProblem("malformed file", text, file=self._name(file), field=field)
