"""The bundled data says of itself what it is: sourced, or made up."""

from __future__ import annotations

import json

import pytest
from tests.apps.recovery.folders import FIRE, bundled_rows

from adk_prism_apps.recovery.library.folder import BUNDLED
from adk_prism_apps.recovery.library.reference import ReferenceTables

FILES = sorted(path.name for path in (BUNDLED / FIRE).iterdir())
TABLES = sorted(path.name for path in (BUNDLED / "reference").iterdir())


@pytest.mark.parametrize("file", [name for name in FILES if name.endswith(".csv")])
def test_every_row_says_that_it_is_synthetic(file: str) -> None:
    assert {row["synthetic"] for row in bundled_rows(file)} == {"true"}


def test_every_file_has_a_source_that_says_synthetic() -> None:
    notes = json.loads((BUNDLED / FIRE / "sources.json").read_text())

    assert sorted(notes) == [
        name for name in FILES if name not in ("incident.json", "sources.json")
    ]
    assert all(note["synthetic"] and "(synthetic)" in note["source"] for note in notes.values())


def test_the_outline_says_that_it_is_not_the_real_one() -> None:
    document = json.loads((BUNDLED / FIRE / "perimeter.geojson").read_text())
    assert document["features"][0]["properties"]["synthetic"] is True


def test_every_citation_of_the_tables_is_there() -> None:
    tables = ReferenceTables(BUNDLED)
    names = {row.citation for row in tables.deterioration()} | {tables.severity().citation}
    for name in names | {"mtbs", "fsm-2523", "fsh-2409-12", "sphere-area", "student-t"}:
        assert tables.citation(name).source


@pytest.mark.parametrize(
    "wrong", ["127,341", "127831", "127341", "GTR-850", "11,709", "spotted owl"]
)
def test_what_could_not_be_verified_is_not_in_the_data(wrong: str) -> None:
    folders = ((FIRE, FILES), ("reference", TABLES))
    texts = [(BUNDLED / folder / name).read_text() for folder, names in folders for name in names]
    assert not any(wrong in text for text in texts)


def test_project_defined_tables_say_so() -> None:
    for name in ("checks.json", "confidence.json", "trail_scale.json"):
        assert json.loads((BUNDLED / "reference" / name).read_text())["scheme"] == "project-defined"
