"""`adk-prism view`: what the panels show of a recording or capture, at any cursor, as JSON."""

from __future__ import annotations

import argparse
import sys

import msgspec

from adk_prism.errors import SourceError
from adk_prism.facts.capture_ending import CaptureEnding
from adk_prism.source.recording import read_run
from adk_prism.view.film import Film

PANELS = ("timeline", "state", "graph", "conversation", "proof", "grounding")


def register(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("file", metavar="FILE", help="a recording or capture; - for standard input")
    parser.add_argument("--at", type=int, metavar="CURSOR", help="the playhead; without: the end")
    parser.add_argument("--panel", choices=PANELS, default="", help="one panel; without: all")
    parser.add_argument(
        "--from",
        type=int,
        dest="since",
        metavar="CURSOR",
        help="also how the state differs from there",
    )
    parser.add_argument("--key", default="", help="also every write of this key of the state")


def execute(args: argparse.Namespace) -> int:
    """Print the view. Raise `BadPosition` for a cursor, `SourceError` for a file that cannot be read.

    Of a file that breaks off, what was read is printed before the error is raised.
    """
    film = Film()
    broken = _feed(film, args.file)
    if broken is None or film.last:
        shown = film.at(args.at, args.panel, since=args.since, key=args.key)
        text = msgspec.json.format(msgspec.json.encode(shown), indent=2).decode()
        sys.stdout.write(f"{text}\n")
    if broken is not None:
        raise broken
    return 0


def _feed(film: Film, file: str) -> SourceError | None:
    """Feed a file, as far as it can be read; return why it could not be read to its end."""
    source = sys.stdin.buffer if file == "-" else file
    try:
        for entry in read_run(source, end=CaptureEnding()):
            film.feed(entry)
    except SourceError as error:
        return error
    return None
