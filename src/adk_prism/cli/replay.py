"""`adk-prism replay`: prints a recording as the bytes of a protocol, without calling a model.

Reads, projects and writes entry by entry, so that a run may have any length; everything before an unreadable
entry is written. Neither ADK nor a web server is loaded.
"""

from __future__ import annotations

import argparse
import sys

from adk_prism.adk.recording_file import read_run
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.log.entry import BEGINNING, parse_position
from adk_prism.protocols.registry import names, protocol, replay

STDIN = "-"


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a recording, ADK events as JSON lines, or saved /run_sse output; - reads stdin",
    )
    parser.add_argument("--as", dest="protocol", required=True, metavar="PROTOCOL", help=names())
    parser.add_argument(
        "--after",
        metavar="POSITION",
        default="",
        help="start after a frame (12.3) or an entry (12)",
    )
    parser.add_argument(
        "--dialect",
        metavar="DIALECT",
        default="",
        help="version of the protocol; ai-sdk has 6 (default), 7 and 5; ag-ui 0.0.59 (default) and 1.0",
    )
    parser.add_argument(
        "--raw", action="store_true", help="ag-ui: send ADK's own events too, as RAW events"
    )


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
