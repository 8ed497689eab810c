"""`adk-prism laws`: checks the five laws on recordings, in every protocol and dialect."""

from __future__ import annotations

import argparse

from adk_prism.cli import fail, words
from adk_prism.cli.terminal import printable, progress
from adk_prism.errors import SourceError
from adk_prism.facts.capture_ending import CaptureEnding
from adk_prism.pipeline.protocols import formats
from adk_prism.runlog.entry import Entry
from adk_prism.source.recording_file import read_run
from adk_prism.testing.laws import LAWS, check_laws


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("files", metavar="FILE", nargs="+", help=words.LAWS_FILE)


def execute(args: argparse.Namespace) -> int:
    """Check each file; stop at the first broken law."""
    protocols = formats()
    titles = ", ".join(format.title for format in protocols)
    for file in args.files:
        with progress(words.CHECKING.format(file=file)):
            entries = _read(file)
            broken = check_laws(entries, protocols)
        if broken:
            return fail(f"{file}: {printable(str(broken[0]))}.")
        print(
            words.LAWS_HOLD.format(
                file=file, laws=len(LAWS), entries=len(entries), protocols=titles
            )
        )
    return 0


def _read(file: str) -> list[Entry]:
    try:
        return list(read_run(file, end=CaptureEnding()))
    except SourceError as error:
        raise SourceError(f"{file}: {error.detail}") from None
