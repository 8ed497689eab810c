"""A recording or capture that a client sends: read as any file, and cleaned as our own events are.

Decides what of it may enter the log. Entries, times, the message and what it continues are kept. What only
the server that ran it could know is removed: its idempotency key, and its place in a chat.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from msgspec import structs

from adk_prism.errors import SourceError
from adk_prism.facts.capture_ending import CaptureEnding
from adk_prism.runlog.entry import Entry, Origin, RunStarted, pack, unpack
from adk_prism.source.recording import read_run
from adk_prism.source.redaction import foreign_json


def read_upload(file: BinaryIO) -> Iterator[Entry]:
    """Yield the entries of an uploaded file, from its beginning, redacted, with an end.

    Raise `SourceError` at the first value that cannot be read, naming its line.
    """
    file.seek(0)
    for entry in read_run(file, end=CaptureEnding()):
        yield _cleaned(entry)


def _cleaned(entry: Entry) -> Entry:
    kind, payload = pack(entry.record)
    try:
        clean = foreign_json(payload)
    except (ValueError, RecursionError):
        raise SourceError(
            f"Entry {entry.cursor} may hold a credential, and is nested too deeply to look for it."
        ) from None
    return entry if clean is payload else Entry(entry.cursor, entry.time, unpack(kind, clean))


def as_upload(head: RunStarted, run: str, origin: Origin) -> RunStarted:
    """Return an uploaded run's first record, under the name that it gets here."""
    return structs.replace(head, run=run, origin=origin, replaces="", digest="", uploaded=True)
