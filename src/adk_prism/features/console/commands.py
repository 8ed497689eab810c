"""The table of console commands and their keys.

A command is typed as `/name text`; anything else is a message to the app (`//` sends a line that starts
with a slash). On a screen a key runs its command; commands that need text are first put into the input line.
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
    """The key's textual name; empty if it has none."""
    takes: str = ""
    """Its argument; in brackets if optional."""
    group: str = "panel"

    @property
    def needs(self) -> bool:
        """Whether it needs an argument."""
        return bool(self.takes) and not self.takes.startswith("[")


COMMANDS: Sequence[Command] = (
    Command("ok", "search as planned", "o", group="plan"),
    Command("short", "run the plan for its first results only", "s", group="plan"),
    Command("modify", "change the plan", "m", "TEXT", group="plan"),
    Command("cancel", "cancel the plan", "c", group="plan"),
    Command("remedy", "choose a remedy: 1 to 9", "", "NUMBER", group="plan"),
    Command("approve", "approve the pending tool call", "y", group="answer"),
    Command("deny", "deny the pending tool call", "n", "[REASON]", group="answer"),
    Command("assume", "add an assumption", "a", "TEXT", group="box"),
    Command("unassume", "remove an assumption", "r", "NUMBER", group="box"),
    Command("ask", "add an open question", "u", "TEXT", group="box"),
    Command("resolve", "remove an open question", "x", "NUMBER", group="box"),
    Command("export", "write the search strategy to a file", "e", "[FILE]", group="box"),
    Command("grounding", "show the research plan", "g"),
    Command("history", "show all searches", "h"),
    Command("timeline", "show when each agent and tool ran", "t"),
    Command("state", "show the session's state", "v"),
    Command("proof", "show confidence and sources", "p"),
    Command("help", "show this list", "question_mark"),
    Command("stop", "stop the run", "escape", group="run"),
    Command("quit", "quit", "q", group="run"),
)
_BY_NAME = {command.name: command for command in COMMANDS}

PANELS = ("grounding", "history", "timeline", "state", "proof", "help")
"""Commands that show the panel of the same name."""

KEY_NAMES = {"question_mark": "?", "escape": "Esc"}


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
        raise UsageError(
            f"Unknown command /{name[:40]}. /help lists the commands; //{name[:20]} sends it as"
            " a message."
        )
    if command.needs and not text:
        raise UsageError(f"/{command.name} needs {command.takes}: {command.help}.")
    if text and not command.takes:
        raise UsageError(f"/{command.name} takes no argument, got {text[:40]!r}.")
    return Typed(command, text)


def command(name: str) -> Command:
    """Return a row of the table."""
    return _BY_NAME[name]
