"""What a person may ask of the panel: the one table of commands, with the key that each has.

A command is typed as `/name words`; anything else is a message to the app (`//` sends a line that begins
with a slash). On a screen a key types its command: those that need words put the beginning into the
input line.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from adk_prism.errors import UsageError


class Command(Struct, frozen=True):
    """One row of the table."""

    name: str
    help: str
    key: str = ""
    """As textual names it; empty: it has none."""
    takes: str = ""
    """What it needs to be given; in brackets what may be left out."""
    group: str = "panel"

    @property
    def needs(self) -> bool:
        """Whether it cannot be run without words."""
        return bool(self.takes) and not self.takes.startswith("[")


COMMANDS: Sequence[Command] = (
    Command("ok", "search as planned", "o", group="plan"),
    Command("short", "a short run of the plan: its first results", "s", group="plan"),
    Command("modify", "change the plan", "m", "WORDS", group="plan"),
    Command("cancel", "drop the plan", "c", group="plan"),
    Command("remedy", "choose a remedy: 1 to 9", "", "NUMBER", group="plan"),
    Command("approve", "approve the call that waits", "y", group="answer"),
    Command("deny", "deny the call that waits, and say why", "n", "[WHY]", group="answer"),
    Command("assume", "add an assumption", "a", "WORDS", group="box"),
    Command("unassume", "remove an assumption", "r", "NUMBER", group="box"),
    Command("ask", "add an open question", "u", "WORDS", group="box"),
    Command("resolve", "remove an open question", "x", "NUMBER", group="box"),
    Command("export", "write the search strategy to a file", "e", "[FILE]", group="box"),
    Command("grounding", "show the grounding box", "g"),
    Command("history", "show all searches", "h"),
    Command("timeline", "show what ran when", "t"),
    Command("state", "show the session's state", "v"),
    Command("proof", "show confidence and sources", "p"),
    Command("help", "show this list", "question_mark"),
    Command("stop", "stop the run", "escape", group="run"),
    Command("quit", "leave", "q", group="run"),
)
_BY_NAME = {command.name: command for command in COMMANDS}

PANELS = ("grounding", "history", "timeline", "state", "proof", "help")
"""Commands that show a panel of their name."""

KEY_NAMES = {"question_mark": "?", "escape": "Esc"}


class Typed(Struct, frozen=True):
    """A command with its words."""

    command: Command
    words: str = ""


def parse(line: str) -> Typed | str:
    """Read a line: a command, or a message to the app. Raise `UsageError` for no such command."""
    if line.startswith("//"):
        return line[1:]
    if not line.startswith("/"):
        return line
    name, _, words = line[1:].partition(" ")
    command = _BY_NAME.get(name.strip().lower())
    words = words.strip()
    if command is None:
        raise UsageError(
            f"There is no command /{name[:40]}; /help lists them, and //{name[:20]} is sent as it is."
        )
    if command.needs and not words:
        raise UsageError(f"/{command.name} needs {command.takes}: {command.help}.")
    if words and not command.takes:
        raise UsageError(f"/{command.name} takes no words; {words[:40]!r} was given.")
    return Typed(command, words)


def command(name: str) -> Command:
    """Return a row of the table."""
    return _BY_NAME[name]
