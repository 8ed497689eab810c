"""`adk-prism share`: writes a recording as one HTML file that opens from disk, without a server."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from adk_prism.adk.recording_file import read_run
from adk_prism.cli import RECORDING_FILE
from adk_prism.cli.terminal import counted, progress
from adk_prism.errors import SourceError
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.features.share.page_file import read_page, shared_file


def register(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("file", metavar="FILE", help=RECORDING_FILE)
    parser.add_argument(
        "-o", "--output", metavar="HTML", required=True, help="file to write; - writes to stdout"
    )
    parser.add_argument(
        "--model-calls",
        action="store_true",
        help="include what was sent to models, if the recording has it",
    )


def execute(args: argparse.Namespace) -> int:
    """Write the file. Raise `SourceError` if it cannot be read or written, `NotBuilt` without the page."""
    page = read_page()
    source = sys.stdin.buffer if args.file == "-" else args.file
    with progress(f"Reading {args.file}…"):
        entries = list(read_run(source, end=CaptureEnding()))
        text = shared_file(entries, page, with_calls=args.model_calls)
    if args.output == "-":
        sys.stdout.write(text)
        return 0
    path = Path(args.output)
    _write(path, text)
    size = f"{path.stat().st_size / 1e6:.1f} MB"
    print(
        f"Wrote {path}: {size}, 1 run with {counted(len(entries), 'event')}. Open it in any"
        " browser."
    )
    return 0


def _write(path: Path, text: str) -> None:
    """Write the whole file or nothing."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise SourceError(f"{path} cannot be written: {error.strerror or error}.") from None
