"""The fires that there is data about. A fire's name in a request is looked up, never a path."""

from __future__ import annotations

from pathlib import Path

from .fire import FireFolder
from .folder import BUNDLED, DATA_VARIABLE, REFERENCE
from .problem import DataProblem
from .records import Incident
from .reference import ReferenceTables


class Library:
    """A folder with one subfolder per fire. It is read again for each question."""

    def __init__(self, folder: Path | None = None) -> None:
        """Use the bundled data unless a folder is given."""
        self._folder = folder or BUNDLED
        self.tables = ReferenceTables(self._folder)

    def fire_ids(self) -> list[str]:
        """Return the names of all fires; raise `DataProblem` if the folder is not there."""
        if not self._folder.is_dir():
            text = f"{DATA_VARIABLE} does not name a folder that can be read."
            raise DataProblem("missing file", text, field=DATA_VARIABLE)
        found = [entry for entry in self._folder.iterdir() if (entry / "incident.json").is_file()]
        return sorted(entry.name for entry in found if entry.name != REFERENCE)

    def fire(self, fire_id: str) -> FireFolder:
        """Return a fire's folder; raise `DataProblem` for one that there is no data about."""
        wanted = fire_id.strip().lower()
        for known in self.fire_ids():
            if known.lower() == wanted:
                return FireFolder(self._folder / known)
        raise DataProblem("unknown fire", self._not_here(fire_id), field="fire_id")

    def incidents(self) -> tuple[list[Incident], list[DataProblem]]:
        """Return every fire's incident, and what is wrong with those that cannot be read."""
        incidents: list[Incident] = []
        problems: list[DataProblem] = []
        for fire_id in self.fire_ids():
            try:
                incidents.append(self.fire(fire_id).incident())
            except DataProblem as problem:
                problems.append(problem)
        return incidents, problems

    def _not_here(self, fire_id: str) -> str:
        known = ", ".join(self.fire_ids()) or "none"
        return f"There is no data about {fire_id[:60]!r}. Fires with data: {known}."
