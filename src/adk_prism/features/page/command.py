"""`adk-prism view`: prints the panels of a recording at any cursor.

A person at a terminal reads text; a pipe, and `--json`, get JSON with everything. `--text` prints the text
anywhere.
"""

from __future__ import annotations

import argparse
import shutil
import sys

from adk_prism.cli import RECORDING_FILE
from adk_prism.cli.terminal import progress, write_json, write_rows
from adk_prism.errors import SourceError
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.features.captures.recording_file import read_run
from adk_prism.features.captures.stored_runs import add_prices, given_prices
from adk_prism.features.page.film import Film
from adk_prism.features.page.text import recording_rows

PANELS = ("timeline", "state", "graph", "conversation", "proof", "grounding", "artifacts", "nodes")
WIDEST = 120
"""Most columns of text: longer lines are hard to read."""


def register(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("file", metavar="FILE", help=RECORDING_FILE)
    parser.add_argument(
        "--at", type=int, metavar="CURSOR", help="show the panels at this event (default: the last)"
    )
    parser.add_argument(
        "--panel", choices=PANELS, default="", help="show only this panel (default: all)"
    )
    parser.add_argument(
        "--from",
        type=int,
        dest="since",
        metavar="CURSOR",
        help="also show how the state changed since this event",
    )
    parser.add_argument("--key", default="", help="also show every write to this state key")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--json",
        action="store_true",
        help="print JSON with everything; without a terminal this is the default",
    )
    form.add_argument(
        "--text", action="store_true", help="print readable text; on a terminal this is the default"
    )
    add_prices(parser)


def execute(args: argparse.Namespace) -> int:
    """Print the panels. Raise `BadPosition` for a bad cursor, `SourceError` for an unreadable file.

    The readable part of a damaged file is printed before the error is raised.
    """
    film = Film(given_prices(args))
    with progress(f"Reading {args.file}…"):
        broken = _feed(film, args.file)
    if broken is None or film.last:
        shown = film.at(args.at, args.panel, since=args.since, key=args.key)
        is_text = args.text or (sys.stdout.isatty() and not args.json)
        if is_text:
            write_rows(recording_rows(shown, min(shutil.get_terminal_size().columns, WIDEST)))
        else:
            write_json(shown)
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
