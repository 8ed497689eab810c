"""`adk-prism laws`: checks the five laws on recordings, in every protocol and dialect."""

from __future__ import annotations

import argparse

from adk_prism.cli import fail
from adk_prism.cli.terminal import printable, progress
from adk_prism.errors import SourceError
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.features.captures.recording_file import read_run
from adk_prism.log.entry import Entry
from adk_prism.protocols.registry import formats
from adk_prism.testing.laws import LAWS, check_laws


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="a recording, ADK events as JSON lines, or saved /run_sse output",
    )


def execute(args: argparse.Namespace) -> int:
    """Check each file; stop at the first broken law."""
    protocols = formats()
    titles = ", ".join(format.title for format in protocols)
    for file in args.files:
        with progress(f"Checking {file}…"):
            entries = _read(file)
            broken = check_laws(entries, protocols)
        if broken:
            return fail(f"{file}: {printable(str(broken[0]))}.")
        print(f"{file}: {len(LAWS)} laws hold, {len(entries)} entries, {titles}")
    return 0


def _read(file: str) -> list[Entry]:
    try:
        return list(read_run(file, end=CaptureEnding()))
    except SourceError as error:
        raise SourceError(f"{file}: {error.detail}") from None
