"""Which fire a question names, and on which day it wants the answer."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

import pytest
from tests.apps.recovery.folders import FIRE, Folder

from adk_prism_apps.recovery.library import Library
from adk_prism_apps.recovery.library.naming import named_fire
from adk_prism_apps.recovery.script.dates import day_asked
from adk_prism_apps.recovery.skills.incident import find_fire


@dataclass(frozen=True)
class Name:
    """A question; the fire that it names, or the name of one without data."""

    text: str
    known: bool = False
    unknown: str = ""


NAMES = (
    Name("Give me a recovery briefing for Cedar Creek Fire", known=True),
    Name("cedar creek: which trails?", known=True),
    Name("CEDAR CREEK FIRE STATUS", known=True),
    Name("Cedar Creek Fire (2022)", known=True),
    Name("the 2022 Cedar Creek fire", known=True),
    Name("fire_id:cedar-creek-2022", known=True),
    Name("Ceder Creek severity", known=True),
    Name("cedarcreek", known=True),
    Name("the 2018 Cedar Creek fire", unknown="Cedar Creek Fire of 2018"),
    Name("Cedar Creek Fire of 2018", unknown="Cedar Creek Fire of 2018"),
    Name("Bootleg Fire severity", unknown="Bootleg Fire"),
    Name("what about the bootleg fire?", unknown="bootleg fire"),
    Name("Tell me about the Holiday Farm Fire", unknown="Holiday Farm Fire"),
    Name("How did August Complex do?", unknown="August Complex"),
    Name("Bear Creek Fire", unknown="Bear Creek Fire"),
    Name("Which trails have to close after the fire?"),
    Name("Is post-fire salvage allowed?"),
    Name("Where did the fire burn hottest?"),
    Name("What about a prescribed fire?"),
    Name(""),
)


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name.text)
def test_a_fire_is_named_known_or_not(name: Name) -> None:
    incidents, _ = Library().incidents()
    found = named_fire(name.text, incidents)

    assert (found.incident is not None, found.unknown) == (name.known, name.unknown)


def test_a_misspelt_name_is_taken_and_said_to_be() -> None:
    finding = find_fire(Library(), "Ceder Creek severity")
    assert finding.data["matched"] == "misspelt"
    assert "misspelt" in finding.text()


def test_of_two_fires_the_named_or_the_last_one_is_meant(folder: Folder) -> None:
    """With two fires and no name the person is asked, unless one was spoken of before."""
    shutil.copytree(folder.root / FIRE, folder.root / "cedar-2019")
    other = folder.root / "cedar-2019" / "incident.json"
    text = other.read_text().replace('"cedar-creek-2022"', '"cedar-2019"')
    text = text.replace('"Cedar Creek Fire"', '"Cedar Fire"').replace('["Cedar Creek"]', "[]")
    other.write_text(text)
    library = Library(folder.root)

    assert find_fire(library, "Cedar Creek Fire").data["fire_id"] == FIRE
    assert find_fire(library, "the Cedar Fire").data["fire_id"] == "cedar-2019"
    assert find_fire(library, "Which trails?").headline == "Which fire is meant?"
    assert find_fire(library, "And trails?", last_fire="cedar-2019").data["fire_id"] == "cedar-2019"


def test_a_fire_whose_data_is_bad_is_not_said_to_be_unknown(folder: Folder) -> None:
    shutil.copytree(folder.root / FIRE, folder.root / "bad-2020")
    (folder.root / "bad-2020" / "incident.json").write_text("{}")
    finding = find_fire(Library(folder.root), "the Bad Fire")

    assert not finding.data["found"]
    assert "Cannot be read: bad-2020/incident.json" in finding.text()


def test_every_fact_of_the_incident_has_a_source() -> None:
    incident = find_fire(Library(), "Cedar Creek").data["incident"]
    used = {item["source"] for item in (*incident["growth"], *incident["facts"])}

    assert used <= incident["sources"].keys()
    assert incident["acres"] == 127_311
    assert incident["contained_on"] is None


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("as of 2026-11-15, which CE?", "2026-11-15"),
        ("What held on 15 November 2026?", "2026-11-15"),
        ("What held on Nov. 15th, 2026?", "2026-11-15"),
        ("in November 2026", "2026-11"),
        ("as of 2026", "2026-12-31"),
        ("What are today's rules?", "today"),
        ("under current NEPA regulations", "today"),
        ("the fire that started in August 2022", ""),
        ("the August 2022 fire", ""),
        ("Cedar Creek Fire 2022", ""),
        ("Give me a briefing", ""),
        ("may we log 2022 acres?", ""),
    ],
)
def test_the_day_that_a_question_asks_about(question: str, day: str) -> None:
    assert day_asked(question) == day
