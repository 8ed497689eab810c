"""`adk-prism replay`: a recording or capture as the bytes of a protocol, with no model called.

Reads, projects and writes entry by entry, so a run may be of any length; what comes before something
unreadable is written first. Neither ADK nor a web server is loaded.
"""

from __future__ import annotations

import argparse
import sys

from adk_prism.facts.capture_ending import CaptureEnding
from adk_prism.pipeline.replay import replay
from adk_prism.projection.registry import protocol
from adk_prism.runlog.entry import BEGINNING, parse_position
from adk_prism.source.recording import read_run

STDIN = "-"


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a recording, JSON lines of ADK events, or the body of /run_sse; - reads from stdin",
    )
    parser.add_argument(
        "--as", dest="protocol", required=True, metavar="PROTOCOL", help="adk, ai-sdk or studio"
    )
    parser.add_argument(
        "--after",
        metavar="POSITION",
        default="",
        help="go on after a frame (12.3) or after an entry (12)",
    )
    parser.add_argument(
        "--dialect", metavar="5|6|7", default="", help="version of the AI SDK (default: 6)"
    )


def execute(args: argparse.Namespace) -> int:
    """Write the stream. Raise `UsageError` for what was typed, `SourceError` for what is in the file."""
    spec = protocol(args.protocol, args.dialect)
    after = parse_position(args.after) if args.after else BEGINNING
    is_piped = args.file == STDIN
    entries = read_run(sys.stdin.buffer if is_piped else args.file, end=CaptureEnding())
    out = sys.stdout.buffer
    try:
        for frames in replay(entries, spec, after):
            out.write(frames)
            if is_piped:
                out.flush()  # What is piped in may be live.
    finally:
        out.flush()
    return 0
