"""`laws`: one line for each file that keeps them, and the first law that is broken otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.recordings.library import HERE

from adk_prism.cli import main
from adk_prism.features.conform import laws as command
from adk_prism.testing.laws import LAWS, Broken

SOUND = [str(HERE / "approval.jsonl"), str(HERE / "raw" / "text.jsonl")]


def test_sound_files_get_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    """Recordings and raw captures alike; what was checked is said."""
    assert main(["laws", *SOUND]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert [line.partition(": ")[0] for line in lines] == SOUND
    assert all(f"{len(LAWS)} laws hold" in line and "ai-sdk 7" in line for line in lines)
    assert err == ""


def test_the_first_broken_law_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law, protocol, position and what; exit 1; the files after it are not looked at."""
    found = [Broken("balanced", "ai-sdk 6", "4.1", "text-end: \x1b[2Jt\n is not open")]
    monkeypatch.setattr(command, "check_laws", lambda *_: found)
    assert main(["laws", *SOUND]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        f"adk-prism: {SOUND[0]}: balanced is broken in ai-sdk 6 at 4.1:"
        " text-end:  [2Jt  is not open.\n"
    )


def test_a_file_that_cannot_be_read_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """It is one of several, so its name is part of the line."""
    file = tmp_path / "bad.jsonl"
    file.write_text("oops\n")
    assert main(["laws", SOUND[0], str(file)]) == 1
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert err.startswith(f"adk-prism: {file}: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("words", [["laws"], ["laws", "nowhere.jsonl"]], ids=" ".join)
def test_no_file_is_a_mistake(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, one line."""
    assert main(words) == 2
    assert capsys.readouterr().err.count("\n") == 1
