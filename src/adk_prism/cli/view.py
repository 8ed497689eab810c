"""`adk-prism view`: prints the panels of a recording at any cursor, as JSON."""

from __future__ import annotations

import argparse
import sys

import msgspec

from adk_prism.cli.prices import add_prices, given_prices
from adk_prism.errors import SourceError
from adk_prism.facts.capture_ending import CaptureEnding
from adk_prism.source.recording import read_run
from adk_prism.view.film import Film

PANELS = ("timeline", "state", "graph", "conversation", "proof", "grounding", "artifacts", "nodes")


def register(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "file", metavar="FILE", help="a recording or saved /run_sse output; - reads stdin"
    )
    parser.add_argument(
        "--at", type=int, metavar="CURSOR", help="show the panels at this event (default: the last)"
    )
    parser.add_argument("--panel", choices=PANELS, default="", help="show one panel (default: all)")
    parser.add_argument(
        "--from",
        type=int,
        dest="since",
        metavar="CURSOR",
        help="also show state changes since this event",
    )
    parser.add_argument("--key", default="", help="also show every write to this state key")
    add_prices(parser)


def execute(args: argparse.Namespace) -> int:
    """Print the panels. Raise `BadPosition` for a bad cursor, `SourceError` for an unreadable file.

    The readable part of a damaged file is printed before the error is raised.
    """
    film = Film(given_prices(args))
    broken = _feed(film, args.file)
    if broken is None or film.last:
        shown = film.at(args.at, args.panel, since=args.since, key=args.key)
        text = msgspec.json.format(msgspec.json.encode(shown), indent=2).decode()
        sys.stdout.write(f"{text}\n")
    if broken is not None:
        raise broken
    return 0


def _feed(film: Film, file: str) -> SourceError | None:
    """Read a file as far as possible; return the error, if any."""
    source = sys.stdin.buffer if file == "-" else file
    try:
        for entry in read_run(source, end=CaptureEnding()):
            film.feed(entry)
    except SourceError as error:
        return error
    return None
