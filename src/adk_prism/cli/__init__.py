"""`adk-prism`: one command, a module for each of its verbs.

Decides how a command line is read and how a failure looks: one line on stderr, exit 2 for usage and
1 for anything else that is known to go wrong. This module imports nothing of the package but the
errors; the module of a verb is imported when that verb is named, so `--help` is quick and `replay`
never loads ADK or a web server.

A verb's module has `register(parser)`, which adds its arguments, and `execute(args) -> int`. A verb
without a module is not in this version, and says so.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import NoReturn, Protocol, cast

from adk_prism.errors import NotBuilt, PrismError, UsageError

USAGE, FAILURE, INTERRUPTED = 2, 1, 130
"""Exit codes; 130 is what shells give a command that Ctrl+C ended."""

VERBS = {
    "serve": "serve ADK apps over every protocol",
    "run": "run an app once, on stdout",
    "replay": "show a recording or capture as a protocol, on stdout",
    "laws": "check the five laws on recordings",
    "fields": "show which upstream fields are handled",
    "types": "print TypeScript types for useChat",
    "view": "show what the panels show, as JSON",
    "share": "write a run as one HTML file",
    "console": "open the terminal panel",
    "doctor": "show which versions are installed and what works with them",
}


class Verb(Protocol):
    """What a verb's module offers."""

    def register(self, parser: argparse.ArgumentParser) -> None:
        """Add the verb's arguments."""

    def execute(self, args: argparse.Namespace) -> int:
        """Do it and return the exit code. Raise `PrismError` for what goes wrong."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, as all of ours."""

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError`."""
        raise UsageError(f"{message}; see {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (without the program's name) and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(words)
    except PrismError as error:
        return fail(error.detail, USAGE if isinstance(error, UsageError) else FAILURE)
    except BrokenPipeError:
        # Who read our output has gone (`| head`). Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except KeyboardInterrupt:
        return INTERRUPTED


def fail(line: str, code: int = FAILURE) -> int:
    """Say in one line on stderr what went wrong; return the exit code."""
    print(f"adk-prism: {line}", file=sys.stderr)
    return code


def _run(words: list[str]) -> int:
    name = next((word for word in words if not word.startswith("-")), "")
    verb = _load(name) if name in VERBS else None
    try:
        args = _parser(name, verb).parse_args(words)
    except SystemExit as done:  # After --help or --version, which argparse prints itself.
        return int(done.code or 0)
    if verb is None:
        raise UsageError(f"no command given; there are {', '.join(VERBS)}; see adk-prism --help")
    return verb.execute(args)


def _load(name: str) -> Verb:
    if not _is_built(name):
        raise NotBuilt(f"`{name}` is not in this version of adk-prism.")
    return cast("Verb", import_module(f"{__name__}.{name}"))


def _is_built(name: str) -> bool:
    return find_spec(f"{__name__}.{name}") is not None


def _parser(name: str, verb: Verb | None) -> Parser:
    from adk_prism.version import VERSION

    parser = Parser(prog="adk-prism", description="One ADK run in; every front end out.")
    parser.add_argument("--version", action="version", version=f"adk-prism {VERSION}")
    verbs = parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
    for each, text in VERBS.items():
        note = "" if _is_built(each) else " (not in this version)"
        sub = verbs.add_parser(each, help=text + note, description=text)
        if verb is not None and each == name:
            verb.register(sub)
    return parser
