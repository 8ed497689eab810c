"""The `adk-prism` command, with one module per subcommand.

Parses the command line and reports errors: one line on stderr, exit 2 for usage errors and 1 for other
known errors. A subcommand's module is imported only when it is used, so that `--help` is quick and `replay`
never loads ADK or a web server.

A subcommand's module has `register(parser)`, which adds its arguments, and `execute(args) -> int`.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import NoReturn, Protocol, cast

from adk_prism.cli import terminal
from adk_prism.errors import Diagnostic, PrismError, UsageError
from adk_prism.extension import KERNEL_COMMANDS, Command, installed

USAGE, FAILURE, INTERRUPTED = 2, 1, 130
"""Exit codes; shells use 130 for a command that was ended with Ctrl+C."""

RUN_OR_FILE = "a run's id, or a recording; - reads stdin"
RECORDING_FILE = "a recording or saved /run_sse output; - reads stdin"
AGENTS_DIR = "folder of ADK apps (default: the example apps)"
ACCESS_TOKEN = "your access token; prefer ADK_PRISM_TOKEN, which ps does not show"
REQUEST_HEADER = "header for every request, e.g. authorization='Bearer …'; repeatable, never shown"
"""Help texts of arguments that several commands have."""


class Verb(Protocol):
    """The interface of a subcommand's module."""

    def register(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""

    def execute(self, args: argparse.Namespace) -> int:
        """Run the subcommand; return the exit code. Raise `PrismError` on failure."""


class HelpText(argparse.HelpFormatter):
    """Help with headings that stand out on a terminal."""

    def start_section(self, heading: str | None) -> None:
        """Begin a group of arguments."""
        super().start_section(
            heading and terminal.painted(heading, "title", colour=terminal.has_colour(sys.stdout))
        )


_GROUPS = {
    "Serve and chat": ("serve", "run", "console"),
    "Look at runs": ("runs", "view", "replay", "share", "export"),
    "Test and compare": ("watch", "rerun", "compare", "eval-set", "eval", "shrink"),
    "Build with": ("mcp", "setup", "types"),
    "Operate": ("prices", "backup", "restore", "migrate"),
    "Check": ("doctor", "conform", "laws", "fields"),
}
"""Commands as `adk-prism --help` lists them; those of features that are not installed are left out."""


class Parser(argparse.ArgumentParser):
    """An argument parser that reports errors in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError`."""
        raise UsageError(f"{message}; see {self.prog} --help")


class _GroupedHelp(HelpText, argparse.RawDescriptionHelpFormatter):
    """Help that keeps the lines of the list of commands."""


def _listed(commands: Mapping[str, Command]) -> str:
    """Return the commands in their groups, a summary beside each."""
    named = {name for names in _GROUPS.values() for name in names}
    groups = {**_GROUPS, "More": [name for name in commands if name not in named]}
    indent, width = 2 + max(map(len, commands)) + 2, shutil.get_terminal_size().columns - 2
    lines: list[str] = []
    for title, names in groups.items():
        found = [name for name in names if name in commands]
        heading = terminal.painted(f"{title}:", "title", colour=terminal.has_colour(sys.stdout))
        lines += ["", heading] if found else []
        for name in found:
            text, start = commands[name].summary, f"  {name}".ljust(indent)
            lines += textwrap.wrap(
                text, max(width, indent + 20), initial_indent=start, subsequent_indent=" " * indent
            )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (without the program's name) and return its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    terminal.keep_printing("stderr")
    try:
        return _run(given)
    except PrismError as error:
        return fail(error.detail, USAGE if isinstance(error, UsageError) else FAILURE)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`); without this Python prints another error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except KeyboardInterrupt:
        if terminal.is_screen(sys.stderr):
            print(file=sys.stderr)  # The shell's next line begins behind no ^C.
        return INTERRUPTED


def fail(line: str, code: int = FAILURE) -> int:
    """Print what went wrong, in one line to stderr; return the exit code."""
    _say(line, "error")
    return code


def note(line: str) -> None:
    """Print one line to stderr that is not the result, and no failure."""
    _say(line, "strong")


def _say(line: str, style: terminal.Style) -> None:
    stream = sys.stderr
    prefix = terminal.painted("adk-prism:", style, colour=terminal.has_colour(stream))
    # The line may hold the progress of a command that is still at work.
    start = terminal.CLEAR if terminal.is_screen(stream) else ""
    # What is said may quote what others wrote.
    print(f"{start}{prefix} {terminal.clean(line)}", file=stream)


class DiagnosticPrinter:
    """Prints diagnostics in one line each, for the user of the command."""

    def __init__(self, say: Callable[[str], object] = fail, *, traces: bool = False) -> None:
        """With `traces`, an exception's traceback follows its line."""
        self._say = say
        self._traces = traces
        self._printed: set[str] = set()
        """References of printed diagnostics: a failed agent and its failed run share one."""
        # ADK would log the same errors to stderr with stack traces.
        logging.getLogger("google_adk").setLevel(logging.CRITICAL)
        warnings.filterwarnings("ignore", message=r"\[EXPERIMENTAL\]", category=UserWarning)

    def __call__(self, diagnostic: Diagnostic) -> None:
        from adk_prism.adk.errors import place_in

        if self._traces and (place := place_in(diagnostic.cause)) is not None:
            print(terminal.clean(diagnostic.cause), file=sys.stderr)
            self._say(": ".join(place))
        if diagnostic.correlation in self._printed:
            return
        self._printed |= {diagnostic.correlation} - {""}
        cause = diagnostic.message or diagnostic.cause.rstrip().rpartition("\n")[2]
        parts = [diagnostic.kind, diagnostic.detail, diagnostic.correlation, cause]
        line = ": ".join(part.rstrip(".") for part in parts if part)
        self._say(terminal.printable(line))


def _run(given: list[str]) -> int:
    name = next((word for word in given if not word.startswith("-")), "")
    commands = KERNEL_COMMANDS | dict(sorted(installed().commands().items()))
    verb = cast("Verb", import_module(commands[name].module)) if name in commands else None
    try:
        args = _parser(commands, name, verb).parse_args(given)
    except SystemExit as done:  # After --help or --version, which argparse prints itself.
        return int(done.code or 0)
    if verb is None:
        raise UsageError(f"a command is required: {', '.join(commands)}; see adk-prism --help")
    return verb.execute(args)


def _parser(commands: Mapping[str, Command], name: str, verb: Verb | None) -> Parser:
    from adk_prism.version import VERSION

    about = "Serve Google ADK agents to any front end: one recorded run, every protocol."
    parser = Parser(
        prog="adk-prism",
        usage="adk-prism [-h] [--version] COMMAND ...",
        formatter_class=_GroupedHelp,
        description=f"{about}\n{_listed(commands)}",
    )
    parser.add_argument("--version", action="version", version=f"adk-prism {VERSION}")
    verbs = parser.add_subparsers(
        prog="adk-prism", metavar="COMMAND", parser_class=Parser, help=argparse.SUPPRESS
    )
    for each, command in commands.items():
        text = command.summary
        sub = verbs.add_parser(each, description=text, formatter_class=HelpText)
        if verb is not None and each == name:
            verb.register(sub)
    return parser
