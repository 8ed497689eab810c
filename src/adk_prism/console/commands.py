"""The table of console commands and their keys.

A command is typed as `/name text`; anything else is a message to the app (`//` sends a line that starts
with a slash). On a screen a key runs its command; commands that need text are first put into the input line.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from adk_prism.console import words
from adk_prism.errors import UsageError


class Command(Struct, frozen=True):
    """One row of the table."""

    name: str
    help: str
    key: str = ""
    """The key's textual name; empty if it has none."""
    takes: str = ""
    """Its argument; in brackets if optional."""
    group: str = "panel"

    @property
    def needs(self) -> bool:
        """Whether it needs an argument."""
        return bool(self.takes) and not self.takes.startswith("[")


COMMANDS: Sequence[Command] = (
    Command("ok", words.HELP_OK, "o", group="plan"),
    Command("short", words.HELP_SHORT, "s", group="plan"),
    Command("modify", words.HELP_MODIFY, "m", "TEXT", group="plan"),
    Command("cancel", words.HELP_CANCEL, "c", group="plan"),
    Command("remedy", words.HELP_REMEDY, "", "NUMBER", group="plan"),
    Command("approve", words.HELP_APPROVE, "y", group="answer"),
    Command("deny", words.HELP_DENY, "n", "[REASON]", group="answer"),
    Command("assume", words.HELP_ASSUME, "a", "TEXT", group="box"),
    Command("unassume", words.HELP_UNASSUME, "r", "NUMBER", group="box"),
    Command("ask", words.HELP_ASK, "u", "TEXT", group="box"),
    Command("resolve", words.HELP_UNASK, "x", "NUMBER", group="box"),
    Command("export", words.HELP_EXPORT, "e", "[FILE]", group="box"),
    Command("grounding", words.HELP_PLAN, "g"),
    Command("history", words.HELP_HISTORY, "h"),
    Command("timeline", words.HELP_TIMELINE, "t"),
    Command("state", words.HELP_STATE, "v"),
    Command("proof", words.HELP_PROOF, "p"),
    Command("help", words.HELP_HELP, "question_mark"),
    Command("stop", words.HELP_STOP, "escape", group="run"),
    Command("quit", "quit", "q", group="run"),
)
_BY_NAME = {command.name: command for command in COMMANDS}

PANELS = ("grounding", "history", "timeline", "state", "proof", "help")
"""Commands that show the panel of the same name."""

KEY_NAMES = {"question_mark": "?", "escape": words.ESCAPE_KEY}


class Typed(Struct, frozen=True):
    """A command with its argument."""

    command: Command
    words: str = ""


def parse(line: str) -> Typed | str:
    """Parse a line as a command or a message. Raise `UsageError` for an unknown command."""
    if line.startswith("//"):
        return line[1:]
    if not line.startswith("/"):
        return line
    name, _, text = line[1:].partition(" ")
    command = _BY_NAME.get(name.strip().lower())
    text = text.strip()
    if command is None:
        raise UsageError(words.UNKNOWN_COMMAND.format(name=name[:40], text=name[:20]))
    if command.needs and not text:
        raise UsageError(
            words.NEEDS_ARGUMENT.format(
                command=command.name, argument=command.takes, help=command.help
            )
        )
    if text and not command.takes:
        raise UsageError(words.TAKES_NO_ARGUMENT.format(command=command.name, given=text[:40]))
    return Typed(command, text)


def command(name: str) -> Command:
    """Return a row of the table."""
    return _BY_NAME[name]
