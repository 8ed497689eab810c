"""The reference tables, each read when it is asked for.

A file in the user's own `reference` folder takes the place of the bundled one of the same name, so
that a table can be calibrated without copying the others.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from adk_prism.proof import Citation, fingerprint

from .files import read_csv, read_json
from .folder import BUNDLED, REFERENCE
from .problem import DataProblem
from .records import Reference
from .sheet import plain
from .tables import (
    Checks,
    ConfidencePolicy,
    Deterioration,
    NepaTable,
    SeverityScheme,
    StudentT,
    TrailScale,
)

T = TypeVar("T")
PROJECT = "adk-prism's own scale (project-defined)"


class ReferenceTables:
    """Reads the tables from a folder of fires, or from the bundled one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / REFERENCE

    def severity(self) -> SeverityScheme:
        return self._json("severity_classes.json", SeverityScheme)

    def checks(self) -> Checks:
        return self._json("checks.json", Checks)

    def confidence(self) -> ConfidencePolicy:
        return self._json("confidence.json", ConfidencePolicy)

    def trail_scale(self) -> TrailScale:
        return self._json("trail_scale.json", TrailScale)

    def nepa(self) -> NepaTable:
        return self._json("nepa_rules.json", NepaTable)

    def species(self) -> dict[str, str]:
        return self._json("species.json", dict[str, str])

    def deterioration(self) -> tuple[Deterioration, ...]:
        return self._csv("deterioration.csv", Deterioration)

    def student_t(self) -> tuple[StudentT, ...]:
        return self._csv("student_t.csv", StudentT)

    def citation(self, name: str) -> Citation:
        """Return a published source by its name in citations.json."""
        found = self._json("citations.json", dict[str, Reference]).get(name)
        if found is None:
            text = f"reference/citations.json has no entry {name!r}, which a table names."
            raise DataProblem("malformed file", text, file="reference/citations.json", field=name)
        return Citation(found.source, found.reference, found.uri)

    def own_citation(self, file: str, used: object, source: str = PROJECT) -> Citation:
        """Return the citation of a table of ours, with a hash of the entries that were used."""
        return Citation(source, f"reference/{file}", hash=fingerprint(plain(used)))

    def _json(self, name: str, shape: type[T]) -> T:
        return read_json(self._path(name), f"{REFERENCE}/{name}", shape)

    def _csv(self, name: str, row: type[T]) -> tuple[T, ...]:
        return read_csv(self._path(name), f"{REFERENCE}/{name}", row)

    def _path(self, name: str) -> Path:
        own = self._folder / name
        return own if own.exists() else BUNDLED / REFERENCE / name
