"""The list of commands and keys, made from their table."""

from __future__ import annotations

from adk_prism.console.commands import COMMANDS, KEY_NAMES
from adk_prism.console.rows import Row

_GROUPS = {
    "plan": "A search plan or help that waits",
    "answer": "A call that waits for you",
    "box": "The grounding box (changes no model sees until your next message)",
    "panel": "Panels",
    "run": "Run",
}


def rows(width: int) -> list[Row]:
    """Return every command with its key."""
    shown = [
        Row("Type a message and press Enter. Keys work outside the input line: Tab leaves it,"),
        Row("Enter or / comes back. A line that begins with / is a command, // sends a slash."),
    ]
    for group, title in _GROUPS.items():
        shown.append(Row(title, "title"))
        for command in COMMANDS:
            if command.group == group:
                key = KEY_NAMES.get(command.key, command.key) or "1-9"
                name = f"/{command.name} {command.takes}".rstrip()
                shown.append(Row(f"  {key:<4}{name:<20}{command.help}"[:width]))
    return shown
