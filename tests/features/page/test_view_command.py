"""`view`: the panels of a file, as JSON in a pipe, as text for a person; what is wrong with it is said."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.library import HERE

from adk_prism.cli import main

STATE = HERE / "state.jsonl"
Json = dict[str, Any]


def shown(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, Json, str]:
    code = main(["view", *map(str, words)])
    said = capsys.readouterr()
    return code, json.loads(said.out or "{}"), said.err


def test_all_panels_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    code, view, _ = shown(capsys, STATE)
    assert code == 0
    assert view["outcome"] == "finished"
    assert view["at"] == view["last"]
    assert view.keys() >= {"timeline", "state", "graph", "conversation", "proof"}


@pytest.mark.parametrize(
    ("words", "terminal", "is_json"),
    [
        ((), False, True),
        ((), True, False),
        (("--json",), True, True),
        (("--text",), False, False),
    ],
)
def test_a_person_gets_text_and_a_program_json(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    terminal: bool,
    is_json: bool,
) -> None:
    """By where it is printed, unless one is asked for."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert main(["view", str(STATE), *words]) == 0
    assert capsys.readouterr().out.startswith("{" if is_json else "Run run-1 of tour: finished")


@pytest.mark.parametrize("file", sorted(HERE.glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_recording_is_readable(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    """Every panel, in lines that a terminal can show."""
    for panel in ([], ["--panel", "nodes"]):
        assert main(["view", str(file), "--text", *panel]) == 0
        text = capsys.readouterr().out
        assert all(line.isprintable() for line in text.splitlines())


@pytest.mark.parametrize(
    ("recording", "lines"),
    [
        (
            "agent_tool",
            ['→ translator {"request":"Good morning"}', '  ← {"result":"Bom dia (synthetic)"}'],
        ),
        ("approval", ["  ? needs approval"]),
    ],
)
def test_a_call_and_its_result_are_two_lines(
    recording: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """As the console writes them; a call that is not over has its status."""
    file = STATE.with_name(f"{recording}.jsonl")
    assert main(["view", str(file), "--text", "--panel", "conversation"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert set(lines) <= set(shown)
    assert not any("null" in line for line in shown)


def test_the_text_has_the_history_of_a_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(STATE), "--text", "--from", "1", "--key", "trip"]) == 0
    text = capsys.readouterr().out
    assert "Changes since event 1" in text
    assert "Writes to trip" in text


def test_the_state_is_compared_and_a_key_has_its_history(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """To any cursor, as over HTTP."""
    code, view, _ = shown(capsys, STATE, "--panel", "state", "--from", "1", "--key", "trip")
    assert code == 0
    assert [change["key"] for change in view["state"]["difference"]] == [
        "trip",
        "user:last_destination",
    ]
    assert [write["writer"] for write in view["state"]["history"]] == ["note_trip", "note_budget"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--at", "999"), "Cursor 999 is not in this run"),
        (("--at", "0"), "Cursor 0 is not in this run"),
        (("--panel", "proof", "--key", "trip"), "are of the state, not 'proof'"),
    ],
)
def test_what_cannot_be_shown_is_said(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    code, view, error = shown(capsys, STATE, *words)
    assert (code, view) == (2, {})
    assert said in error


def test_of_a_file_that_breaks_off_the_rest_is_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With the reason, and with no end that nobody recorded."""
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"\n".join(STATE.read_bytes().split(b"\n")[:7])[:-5])
    code, view, error = shown(capsys, cut)
    assert code == 1
    assert "line 7" in error
    assert (view["at"], view["outcome"]) == (6, None)


def test_a_file_that_is_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.jsonl"
    nothing.write_text("not a recording")
    code, view, error = shown(capsys, nothing)
    assert (code, view) == (1, {})
    assert error.startswith("adk-prism: ")
