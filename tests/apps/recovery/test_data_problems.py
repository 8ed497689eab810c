"""Bad data: a message that names the file and the field, and the other specialists still work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.app_runner import AppRunner
from tests.apps.recovery.folders import FIRE, Folder

from adk_prism_apps.recovery.agent import recovery_app
from adk_prism_apps.recovery.finding import Finding
from adk_prism_apps.recovery.library import DataProblem, Library, data_folder
from adk_prism_apps.recovery.skills.case import Case, open_case
from adk_prism_apps.recovery.skills.closure import evaluate_closures
from adk_prism_apps.recovery.skills.cruise import cruise_statistics
from adk_prism_apps.recovery.skills.incident import find_fire
from adk_prism_apps.recovery.skills.pathway import screen_nepa
from adk_prism_apps.recovery.skills.salvage import assess_salvage
from adk_prism_apps.recovery.skills.severity import assess_severity


@dataclass(frozen=True)
class Cell:
    """One bad cell, the skill that meets it, and the field that its message names."""

    skill: Callable[[Case], Finding]
    file: str
    column: str
    value: str
    row: int = 0


CELLS = (
    Cell(assess_severity, "sectors.csv", "acres", "many"),
    Cell(assess_severity, "sectors.csv", "acres", "-4"),
    Cell(assess_severity, "sectors.csv", "acres", "nan"),
    Cell(assess_severity, "sectors.csv", "acres", "inf"),
    Cell(assess_severity, "sectors.csv", "acres", ""),
    Cell(assess_severity, "sectors.csv", "dnbr_sd", "0"),
    Cell(assess_severity, "sectors.csv", "cloud_pct", "140"),
    Cell(assess_severity, "sectors.csv", "sector_id", "S02"),
    Cell(assess_severity, "sectors.csv", "sector_id", "../etc"),
    Cell(evaluate_closures, "trails.csv", "miles", "0"),
    Cell(evaluate_closures, "trails.csv", "trail_class", "9"),
    Cell(evaluate_closures, "trail_segments.csv", "to_mile", "0"),
    Cell(evaluate_closures, "trail_segments.csv", "trail_id", "T99"),
    Cell(evaluate_closures, "trail_segments.csv", "structure", "tunnel"),
    Cell(evaluate_closures, "trail_segments.csv", "surveyed_on", "October"),
    Cell(cruise_statistics, "cruise_units.csv", "baf", "0"),
    Cell(cruise_statistics, "cruise_trees.csv", "dbh_in", ""),
    Cell(cruise_statistics, "cruise_trees.csv", "gross_bf", ""),
    Cell(cruise_statistics, "cruise_trees.csv", "unit_id", "U99"),
    Cell(cruise_statistics, "cruise_trees.csv", "status", "sleeping"),
    Cell(assess_salvage, "prices.csv", "low_usd_per_mbf", "9000"),
    Cell(lambda case: screen_nepa(case, {}), "proposals.csv", "proposal_id", ""),
    Cell(lambda case: screen_nepa(case, {}), "proposals.csv", "extraordinary_circumstances", "?"),
)


@pytest.mark.parametrize("cell", CELLS, ids=lambda c: f"{c.file} {c.column}={c.value}")
def test_a_bad_cell_is_named(folder: Folder, cell: Cell) -> None:
    folder.set_cell(cell.file, cell.row, cell.column, cell.value)
    with pytest.raises(DataProblem) as problem:
        cell.skill(folder.case())

    assert cell.file in problem.value.message
    assert problem.value.field == cell.column
    assert str(folder.root) not in problem.value.message


@dataclass(frozen=True)
class Content:
    """A file that is something else."""

    name: str
    content: bytes
    says: str


CONTENTS = (
    Content("empty", b"", "has no rows"),
    Content("header only", b"sector_id,name,acres,dnbr_mean,dnbr_sd\n", "has no rows"),
    Content("binary", b"\xff\xfe\x00\x01", "is not UTF-8"),
    Content("short row", b"sector_id,name,acres\nS01\n", "number of cells"),
    Content("long row", b"sector_id\nS01,2\n", "number of cells"),
    Content("open quote", b'sector_id,name\nS01,"never closed\n', "not CSV"),
    Content("too long", b"sector_id\n" + b"S01\n" * 60_000, "line 2"),
    Content("huge", b"x" * 8_000_001, "larger than 8,000,000 bytes"),
)


@pytest.mark.parametrize("content", CONTENTS, ids=lambda c: c.name)
def test_a_file_that_is_no_table_is_named(folder: Folder, content: Content) -> None:
    folder.path("sectors.csv").write_bytes(content.content)
    with pytest.raises(DataProblem, match=r"sectors\.csv") as problem:
        assess_severity(folder.case())

    assert content.says in problem.value.message


def test_a_byte_order_mark_is_no_part_of_the_first_column(folder: Folder) -> None:
    text = folder.path("sectors.csv").read_text()
    folder.path("sectors.csv").write_text(text, encoding="utf-8-sig")

    assert assess_severity(folder.case()).data["total_acres"] == 127_311


def test_a_missing_file_is_named(folder: Folder) -> None:
    folder.path("trails.csv").unlink()
    with pytest.raises(DataProblem, match=f"no {FIRE}/trails.csv"):
        evaluate_closures(folder.case())


def test_a_file_without_a_source_is_refused(folder: Folder) -> None:
    folder.change_json("sources.json", lambda notes: notes.pop("sectors.csv"))
    with pytest.raises(DataProblem, match="say where the file comes from"):
        assess_severity(folder.case())


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda d: d.update(acres="big"), "acres"),
        (lambda d: d.pop("started_on"), "started_on"),
        (lambda d: d.update(fire_id="another"), "fire_id"),
        (lambda d: d["facts"][0].update(source="nobody"), "sources"),
        (lambda d: d.update(latitude=91), "latitude"),
    ],
)
def test_a_bad_incident_is_named(folder: Folder, change: Callable[..., None], field: str) -> None:
    folder.change_json("incident.json", change)
    with pytest.raises(DataProblem, match=r"incident\.json") as problem:
        folder.case()

    assert problem.value.field == field


def test_json_that_is_none_is_said_to_be(folder: Folder) -> None:
    folder.path("incident.json").write_text("{oops")
    with pytest.raises(DataProblem, match="is not JSON"):
        folder.case()


def test_a_reference_table_of_the_users_own_takes_the_bundled_ones_place(folder: Folder) -> None:
    """One table can be calibrated; a bad one is named like any other file."""
    for file in (folder.root / "reference").iterdir():
        file.unlink()
    assert assess_severity(folder.case()).data["total_acres"] == 127_311
    (folder.root / "reference" / "checks.json").write_text('{"scheme": "mine"}')
    with pytest.raises(DataProblem, match=r"reference/checks\.json"):
        assess_severity(folder.case())


@pytest.mark.parametrize("fire_id", ["", "bootleg-2021", "../cedar-creek-2022", "reference", "."])
def test_an_unknown_fire_is_said_to_be_unknown(fire_id: str) -> None:
    """A name is looked up in a list; it is never made into a path."""
    with pytest.raises(DataProblem, match="There is no data about") as problem:
        open_case(Library(), fire_id)

    assert problem.value.kind == "unknown fire"


@pytest.mark.parametrize("day", ["soon", "2022-13-01", "2022-02-30", "1999-01-01"])
def test_a_day_that_is_none_or_before_the_fire_is_refused(day: str) -> None:
    with pytest.raises(DataProblem, match="as_of is"):
        open_case(Library(), FIRE, day)


def test_the_folder_is_named_by_the_environment(tmp_path: Path) -> None:
    chosen = data_folder({"ADK_PRISM_RECOVERY_DATA": str(tmp_path / "none")})
    with pytest.raises(DataProblem, match="ADK_PRISM_RECOVERY_DATA"):
        Library(chosen).fire_ids()
    assert (data_folder({}) / FIRE).is_dir()


def test_an_empty_folder_has_no_fires(tmp_path: Path) -> None:
    finding = find_fire(Library(tmp_path), "Cedar Creek")
    assert finding.data == {"found": False, "asked": "", "known": []}
    assert "no data about any fire" in finding.text()


async def test_one_bad_file_leaves_the_other_specialists_at_work(folder: Folder) -> None:
    """A bad tally stops the cruise alone; the briefing says which file and field."""
    folder.set_cell("cruise_trees.csv", 0, "dbh_in", "thick")
    take = await AppRunner(recovery_app(0, folder.root)).send("Give me a briefing")
    sections = {
        item["specialist"]: item for item in take.response("compose_briefing")["data"]["sections"]
    }  # type: ignore[index]

    assert take.error is None
    assert sections["cruising_assistant"]["confidence"] is None
    assert "cruise_trees.csv, line 2" in sections["cruising_assistant"]["problems"][0]
    assert all(
        sections[name]["headlines"] for name in ("burn_analyst", "trail_assessor", "nepa_advisor")
    )
    assert "cruise_trees.csv" in take.text
    assert "dbh_in" in take.text


async def test_a_bad_incident_ends_in_one_clear_sentence(folder: Folder) -> None:
    folder.change_json("incident.json", lambda incident: incident.pop("acres"))
    take = await AppRunner(recovery_app(0, folder.root)).send("Give me a briefing")

    assert take.error is None
    assert "incident.json" in take.text
    assert "`acres`" in take.text
    assert [call.name for call in take.calls] == ["find_fire"]
