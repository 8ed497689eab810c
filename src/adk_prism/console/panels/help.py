"""The list of commands and keys."""

from __future__ import annotations

from adk_prism.console.commands import COMMANDS, KEY_NAMES
from adk_prism.console.rows import Row

_GROUPS = {
    "plan": "Pending search plan or search help",
    "answer": "Pending tool call",
    "box": "Research plan (changes reach the model with your next message)",
    "panel": "Panels",
    "run": "Run",
}


def rows(width: int) -> list[Row]:
    """Return every command with its key."""
    shown = [
        Row(
            "Type a message and press Enter. Command keys work outside the input line: press Tab to leave it,"
        ),
        Row(
            "Enter or / to return. A line that starts with / is a command; // sends a leading slash."
        ),
    ]
    for group, title in _GROUPS.items():
        shown.append(Row(title, "title"))
        for command in COMMANDS:
            if command.group == group:
                key = KEY_NAMES.get(command.key, command.key) or "1-9"
                name = f"/{command.name} {command.takes}".rstrip()
                shown.append(Row(f"  {key:<4}{name:<20}{command.help}"[:width]))
    return shown
