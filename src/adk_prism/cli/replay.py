"""`adk-prism replay`: prints a recording as the bytes of a protocol, without calling a model.

Reads, projects and writes entry by entry, so that a run may have any length; everything before an unreadable
entry is written. Neither ADK nor a web server is loaded.
"""

from __future__ import annotations

import argparse
import sys

from adk_prism.cli import words
from adk_prism.facts.capture_ending import CaptureEnding
from adk_prism.pipeline.protocols import names, protocol
from adk_prism.pipeline.replay import replay
from adk_prism.runlog.entry import BEGINNING, parse_position
from adk_prism.source.recording_file import read_run

STDIN = "-"


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("file", metavar="FILE", help=words.REPLAY_FILE)
    parser.add_argument("--as", dest="protocol", required=True, metavar="PROTOCOL", help=names())
    parser.add_argument("--after", metavar="POSITION", default="", help=words.REPLAY_AFTER)
    parser.add_argument("--dialect", metavar="DIALECT", default="", help=words.REPLAY_DIALECT)
    parser.add_argument("--raw", action="store_true", help=words.REPLAY_RAW)


def execute(args: argparse.Namespace) -> int:
    """Write the stream. Raise `UsageError` for bad arguments, `SourceError` for an unreadable file."""
    format = protocol(args.protocol).format(args.dialect, raw=args.raw)
    after = parse_position(args.after) if args.after else BEGINNING
    is_piped = args.file == STDIN
    entries = read_run(sys.stdin.buffer if is_piped else args.file, end=CaptureEnding())
    out = sys.stdout.buffer
    try:
        for frames in replay(entries, format, after):
            out.write(frames)
            if is_piped:
                out.flush()  # The input may be live.
    finally:
        out.flush()
    return 0
