"""`adk-prism`: one command, a module for each of its verbs.

Decides how a command line is read and how a failure looks: one line on stderr, exit 2 for usage and
1 for anything else that is known to go wrong. This module imports nothing of the package but the
errors; the module of a verb is imported when that verb is named, so `--help` is quick and `replay`
never loads ADK or a web server.

A verb's module has `register(parser)`, which adds its arguments, and `execute(args) -> int`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn, Protocol, cast

from adk_prism.errors import NotBuilt, PrismError, UsageError

USAGE, FAILURE = 2, 1

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
}

NOT_BUILT = frozenset({"view", "share", "console"})
"""Named, so that their names stay free for them; answered with a clear refusal until they exist."""


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
        print(f"adk-prism: {error.detail}", file=sys.stderr)
        return USAGE if isinstance(error, UsageError) else FAILURE
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): nobody is left to tell.
        sys.stderr.close()
        return FAILURE
    except KeyboardInterrupt:
        return 130


def _run(words: list[str]) -> int:
    name = next((word for word in words if not word.startswith("-")), "")
    if name in NOT_BUILT:
        raise NotBuilt(f"{name} is not in this version.")
    verb = cast("Verb", import_module(f"{__name__}.{name}")) if name in VERBS else None
    try:
        args = _parser(name, verb).parse_args(words)
    except SystemExit as exit:  # After --help or --version, which argparse prints itself.
        return int(exit.code or 0)
    if verb is None:
        raise UsageError(f"no command given; there are: {', '.join(VERBS)}; see adk-prism --help")
    return verb.execute(args)


def _parser(name: str, verb: Verb | None) -> Parser:
    parser = Parser(prog="adk-prism", description="One ADK run in; every front end out.")
    parser.add_argument("--version", action="version", version=_version())
    verbs = parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
    for each, text in VERBS.items():
        note = " (not in this version)" if each in NOT_BUILT else ""
        sub = verbs.add_parser(each, help=text + note, description=text)
        if verb is not None and each == name:
            verb.register(sub)
    return parser


def _version() -> str:
    from adk_prism import __version__

    return f"adk-prism {__version__}"
