"""The proof panel: who gave what, where it came from, and how it looked at every playhead."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.features.proof.proofs import asked, replied
from tests.laws.events import entries, event, text
from tests.recordings.library import CAPTURES, HERE, RECORDINGS, load

from adk_prism.cli import main
from adk_prism.features.page.film import Film, fold

Json = dict[str, Any]

CAPTURE = HERE / "raw" / "x_recovery_capture.jsonl"


def panel(at: int | None = None, name: str = "raw/x_recovery_capture") -> Json:
    shown: Json = msgspec.json.decode(
        msgspec.json.encode(fold(load(name)).at(at, "proof")["proof"])
    )
    return shown


def numbers(proof: Json) -> list[float]:
    return [reading["value"] for reading in proof["readings"]]


def sources(proof: Json) -> list[str]:
    return [", ".join(filter(None, (c["source"], c.get("reference")))) for c in proof["citations"]]


def test_the_captured_specialists_prove_what_they_said() -> None:
    """92 %, 90 %, 91 % and 90/95 %, each with its sources."""
    found = {p["subject"]["name"]: (numbers(p), sources(p)) for p in panel()["specialists"]}
    assert found == {
        "burn_analyst": ([0.92], ["MTBS, Imagery date: 2022-09-15"]),
        "trail_assessor": ([0.9], ["Cedar Creek field assessment 2022-10-25"]),
        "cruising_assistant": (
            [0.91],
            [
                "Cedar Creek timber plot data, PNW salvage deterioration models, "
                "Regional market analysis 2025",
            ],
        ),
        "nepa_advisor": ([0.9, 0.95], ["36 CFR 220.6(e)(13)"]),
    }


def test_the_captured_answer_agrees_with_them() -> None:
    """Its overall number is the lowest of theirs; each part is somebody's."""
    answer = panel()["answer"]
    assert (answer["confidence"], answer["derivation"]) == (0.9, "stated as overall")
    assert [(r.get("section"), r.get("about"), r["value"]) for r in answer["readings"]] == [
        ("Fire Severity", None, 0.92),
        ("Infrastructure Damage", None, 0.9),
        ("Timber Salvage", None, 0.91),
        ("NEPA Pathway", "timber", 0.95),
        ("NEPA Pathway", "trails", 0.9),
        (None, None, 0.9),
    ]
    assert "disagreements" not in answer
    # "Two bridges are out and one trail has slid", says a specialist with a source.
    assert "uncited" not in answer


def test_the_capture_is_complete_once() -> None:
    """At the coordinator's last word, although STOP stands on three of its events."""
    assert panel()["completion"] == 6
    assert panel()["events"] == {
        "function call": 2,
        "function response": 2,
        "model text": 1,
        "other": 0,
    }


def test_a_playhead_shows_what_was_known() -> None:
    """Nothing from later, and no proof of the whole before the end."""
    assert panel(2)["specialists"] == []
    before = panel(4)
    assert [p["origin"] for p in before["specialists"]] == ["parsed", "parsed", "parsed", "absent"]
    assert before["answer"] is None
    assert before["completion"] is None
    later = panel(5)["specialists"][3]
    assert (later["subject"]["name"], numbers(later), later["since"]) == (
        "nepa_advisor",
        [0.9, 0.95],
        5,
    )


def test_every_piece_names_its_entry() -> None:
    """A click jumps there."""
    shown = panel()
    for proof in (shown["answer"], *shown["specialists"]):
        pieces = (*proof["readings"], *proof["citations"], *proof["reasoning_chain"])
        assert pieces
        assert all(2 <= piece["cursor"] <= 6 for piece in pieces)


def test_a_plain_run_says_that_there_is_none() -> None:
    """*absent*, and no number in its place."""
    shown = panel(name="text")
    assert shown["answer"] == {
        "origin": "absent",
        "confidence": None,
        "derivation": "none stated",
        "readings": [],
        "citations": [],
        "reasoning_chain": [],
    }
    assert shown["specialists"] == []


def test_the_providers_sources_are_listed() -> None:
    """With their entries, whether or not anybody states a proof."""
    shown = panel(name="sources")
    assert shown["sources"]
    assert {"source", "title", "uri", "cursor"} == set(shown["sources"][0])


@pytest.mark.parametrize("name", [*RECORDINGS, *CAPTURES])
def test_a_film_that_grows_shows_what_a_whole_one_shows(name: str) -> None:
    """At every cursor: later entries change nothing of the past."""
    run, growing = load(name), Film()
    whole = fold(run)
    step = max(1, len(run) // 20)
    for entry in run:
        growing.feed(entry)
        if entry.cursor % step == 0 or entry.cursor == len(run):
            assert growing.at(panel="proof")["proof"] == whole.at(entry.cursor, "proof")["proof"]


def test_a_specialist_who_gave_none_is_shown() -> None:
    """The panel says so; no client is sent that."""
    run = entries(
        (event(asked("burn", "c1")), event(replied("burn", "c1", "Which?")), event(text("Which?")))
    )
    (proof,) = fold(run).at(panel="proof")["proof"]["specialists"]
    assert (proof["origin"], proof["confidence"], proof["readings"]) == ("absent", None, [])


def test_the_command_prints_the_panel(capsys: pytest.CaptureFixture[str]) -> None:
    """`adk-prism view --panel proof` on any capture."""
    assert main(["view", str(CAPTURE), "--panel", "proof"]) == 0
    assert msgspec.json.decode(capsys.readouterr().out)["proof"] == panel()
