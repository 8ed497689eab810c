"""`view`: the panels of a file as JSON; what is wrong with a file is said, and what is not is shown."""

from __future__ import annotations

import json
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
