"""The table of commands: one meaning for a key, and the guide tells the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adk_prism.errors import UsageError
from adk_prism.features.console.commands import COMMANDS, Typed, parse
from adk_prism.features.console.history import help_rows

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "console.md"


def test_a_key_has_one_meaning() -> None:
    """No letter twice, and none that the screen takes for something else."""
    keys = [command.key for command in COMMANDS if command.key]
    assert len(keys) == len(set(keys))
    assert not {"i", "slash", "enter", "tab"} & set(keys)


def test_help_and_guide_name_every_command() -> None:
    """What can be typed is in both."""
    shown = "\n".join(row.text for row in help_rows(100))
    told = GUIDE.read_text()
    for command in COMMANDS:
        assert f"/{command.name}" in shown
        assert re.search(rf"`/{command.name}[ `]", told), command.name


@pytest.mark.parametrize(
    ("line", "means"),
    [
        ("hello", "hello"),
        ("//etc is a folder", "/etc is a folder"),
        ("/OK", ("ok", "")),
        ("/assume  Since   2020 ", ("assume", "Since   2020")),
        ("/export", ("export", "")),
        ("/export a b.md", ("export", "a b.md")),
    ],
)
def test_a_line_is_read(line: str, means: object) -> None:
    """A command with its words, or a message as it is."""
    read = parse(line)
    assert ((read.command.name, read.words) if isinstance(read, Typed) else read) == means


@pytest.mark.parametrize("line", ["/", "/ ok", "/nope x", "/ok now", "/remedy", "/modify  "])
def test_a_line_that_is_no_command(line: str) -> None:
    """Refused with what to do, never sent to the app by mistake."""
    with pytest.raises(UsageError):
        parse(line)


@pytest.mark.parametrize("width", [24, 40, 60, 100])
def test_the_help_wraps(width: int) -> None:
    """Nothing is cut off, and nothing is wider than the screen."""
    rows = [row.text for row in help_rows(width)]
    assert max(map(len, rows)) <= width
    words = " ".join(" ".join(rows).split())
    for command in COMMANDS:
        assert command.help in words
