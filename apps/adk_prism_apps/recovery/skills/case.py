"""What every skill starts from: the library, one fire of it, and the date of the assessment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from ..calendar_day import resolve_day
from ..library import FireFolder, Library
from ..library.records import Incident
from ..library.reference import ReferenceTables


@dataclass(frozen=True, slots=True)
class Case:
    """One fire on one day."""

    folder: FireFolder
    incident: Incident
    tables: ReferenceTables
    as_of: date

    @property
    def data(self) -> dict[str, Any]:
        """The beginning of every finding's data."""
        return {"fire_id": self.incident.fire_id, "as_of": self.as_of.isoformat()}


def open_case(library: Library, fire_id: str, as_of: str = "") -> Case:
    """Return the case; raise `DataProblem` for an unknown fire or a day that is none."""
    folder = library.fire(fire_id)
    incident = folder.incident()
    return Case(folder, incident, library.tables, resolve_day(as_of, incident))
