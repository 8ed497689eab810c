"""`adk-prism view`: what the panels show of a recording or capture, at any cursor, as JSON."""

from __future__ import annotations

import argparse
import sys

import msgspec

from adk_prism.facts.capture_ending import CaptureEnding
from adk_prism.source.recording import read_run
from adk_prism.view.film import fold

PANELS = ("timeline", "state", "graph", "conversation", "proof", "grounding")


def register(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("file", metavar="FILE", help="a recording or capture; - for standard input")
    parser.add_argument("--at", type=int, metavar="CURSOR", help="the playhead; without: the end")
    parser.add_argument("--panel", choices=PANELS, default="", help="one panel; without: all")


def execute(args: argparse.Namespace) -> int:
    """Print the view. Raise `SourceError` for a file that cannot be read, `BadPosition` for a cursor."""
    source = sys.stdin.buffer if args.file == "-" else args.file
    film = fold(read_run(source, end=CaptureEnding()))
    shown = msgspec.json.encode(film.at(args.at, args.panel))
    sys.stdout.write(msgspec.json.format(shown, indent=2).decode() + "\n")
    return 0
