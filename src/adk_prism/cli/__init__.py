"""The `adk-prism` command, with one module per subcommand.

Parses the command line and reports errors: one line on stderr, exit 2 for usage errors and 1 for other
known errors. A subcommand's module is imported only when it is used, so that `--help` is quick and `replay`
never loads ADK or a web server.

A subcommand's module has `register(parser)`, which adds its arguments, and `execute(args) -> int`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import NoReturn, Protocol, cast

from adk_prism.cli import words
from adk_prism.cli.server_output import keep_printing
from adk_prism.cli.terminal import CLEAR, has_colour, is_screen, painted
from adk_prism.console.rows import Style, clean
from adk_prism.errors import NotBuilt, PrismError, UsageError

USAGE, FAILURE, INTERRUPTED = 2, 1, 130
"""Exit codes; shells use 130 for a command that was ended with Ctrl+C."""

VERBS = words.COMMANDS


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
        super().start_section(heading and painted(heading, "title", colour=has_colour(sys.stdout)))


class Parser(argparse.ArgumentParser):
    """An argument parser that reports errors in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError`."""
        raise UsageError(words.SEE_HELP.format(message=message, command=self.prog))


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (without the program's name) and return its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    keep_printing("stderr")
    try:
        return _run(given)
    except PrismError as error:
        return fail(error.detail, USAGE if isinstance(error, UsageError) else FAILURE)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`); without this Python prints another error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except KeyboardInterrupt:
        return INTERRUPTED


def fail(line: str, code: int = FAILURE) -> int:
    """Print what went wrong, in one line to stderr; return the exit code."""
    _say(line, "error")
    return code


def note(line: str) -> None:
    """Print one line to stderr that is not the result, and no failure."""
    _say(line, "strong")


def _say(line: str, style: Style) -> None:
    stream = sys.stderr
    prefix = painted("adk-prism:", style, colour=has_colour(stream))
    # The line may hold the progress of a command that is still at work.
    start = CLEAR if is_screen(stream) else ""
    # What is said may quote what others wrote.
    print(f"{start}{prefix} {clean(line)}", file=stream)


def _run(given: list[str]) -> int:
    name = next((word for word in given if not word.startswith("-")), "")
    verb = _load(name) if name in VERBS else None
    try:
        args = _parser(name, verb).parse_args(given)
    except SystemExit as done:  # After --help or --version, which argparse prints itself.
        return int(done.code or 0)
    if verb is None:
        raise UsageError(words.COMMAND_REQUIRED.format(commands=", ".join(VERBS)))
    return verb.execute(args)


def _load(name: str) -> Verb:
    if not _is_built(name):
        raise NotBuilt(words.NOT_IN_THIS_VERSION.format(name=name))
    return cast("Verb", import_module(_module(name)))


def _is_built(name: str) -> bool:
    return find_spec(_module(name)) is not None


def _module(name: str) -> str:
    return f"{__name__}.{name.replace('-', '_')}"


def _parser(name: str, verb: Verb | None) -> Parser:
    from adk_prism.version import VERSION

    parser = Parser(prog="adk-prism", formatter_class=HelpText, description=words.DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"adk-prism {VERSION}")
    verbs = parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
    for each, text in VERBS.items():
        absent = "" if _is_built(each) else words.ABSENT
        sub = verbs.add_parser(each, help=text + absent, description=text, formatter_class=HelpText)
        if verb is not None and each == name:
            verb.register(sub)
    return parser
