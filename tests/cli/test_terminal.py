"""Colour and progress: on a terminal that has them, and nowhere else."""

from __future__ import annotations

import io
import re
import sys
import threading
from collections.abc import Callable

import pytest
from tests.patience import PATIENCE
from tests.recordings.library import HERE

from adk_prism.cli import main, terminal
from adk_prism.cli.terminal import CLEAR, has_colour, is_screen, painted, progress
from adk_prism.extension import KERNEL_COMMANDS, installed


class Screen(io.StringIO):
    """Output that says it is a terminal, and when it was written to."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def write(self, text: str) -> int:
        done = super().write(text)
        self.written.set()
        return done

    def isatty(self) -> bool:
        return True


CASES = {
    "a terminal": (Screen, {}, True),
    "an empty NO_COLOR": (Screen, {"NO_COLOR": ""}, True),
    "NO_COLOR": (Screen, {"NO_COLOR": "1"}, False),
    "a dumb terminal": (Screen, {"TERM": "dumb"}, False),
    "a pipe": (io.StringIO, {}, False),
}


@pytest.mark.parametrize(("kind", "environment", "expected"), CASES.values(), ids=CASES)
def test_colour_is_for_terminals_that_want_it(
    monkeypatch: pytest.MonkeyPatch,
    kind: Callable[[], io.StringIO],
    environment: dict[str, str],
    expected: bool,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    colour = has_colour(kind())
    assert colour is expected
    assert painted("x", "error", colour=colour) == ("\x1b[31mx\x1b[0m" if expected else "x")


def test_progress_is_said_while_it_lasts_and_wiped_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress("Reading…", after=0.0):
        assert screen.written.wait(PATIENCE)
        assert screen.getvalue() == f"{CLEAR}Reading… 0 s"
    assert screen.getvalue().endswith(CLEAR)


def test_no_progress_in_a_pipe_or_before_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for stream, after in ((io.StringIO(), 0.0), (Screen(), 60.0)):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress("Reading…", after=after):
            pass
        assert stream.getvalue() == ""
    assert not is_screen(io.StringIO())


def test_a_mistake_is_red_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    assert main(["view", str(HERE / "state.jsonl"), "--at", "999"]) == 2
    assert screen.getvalue().startswith(f"{CLEAR}\x1b[31madk-prism:\x1b[0m Cursor 999")


def test_a_table_is_whole_in_a_pipe_and_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns that can be spared go first, in their order; then the last one is cut."""
    rows = [
        ("run", "started", "app", "message"),
        ("run-1", "2026-11-18 20:12", "tour", "word " * 9),
    ]
    assert terminal.table(rows, ("started", "app"))[1].endswith("word word")
    monkeypatch.setattr(terminal, "is_screen", lambda stream: True)
    found = {}
    for columns in (200, 48, 34, 24):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = terminal.table(rows, ("started", "app"))
        assert max(map(len, lines)) <= columns
        found[columns] = lines[0].split()
    assert [len(names) for names in found.values()] == [4, 3, 3, 2]
    assert found[24] == ["run", "message"]


def test_help_of_all_commands_is_grouped(capsys: pytest.CaptureFixture[str]) -> None:
    """Each command stands once, below the heading of its group."""
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    headings = [
        line for line in out.splitlines() if line.endswith(":") and not line.startswith(" ")
    ]
    assert headings[0] == "Serve and chat:"
    assert headings[-1] == "options:"
    assert "More:" not in headings
    for name in (*KERNEL_COMMANDS, *installed().commands()):
        assert len(re.findall(rf"^  {name}( |$)", out, re.MULTILINE)) == 1, name
