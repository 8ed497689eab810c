"""What is wrong with a SQLite file, found at the start: damaged pages, and what its journal has lost.

SQLite reads a damaged page only when a query needs it, and then fails that query; of a damaged journal it
takes what comes before the damage, and does not say that there was more. Both are looked for here, within
limits of time and size, so that the operator learns of it when the server starts.

The journal's format is that of https://www.sqlite.org/fileformat2.html#the_write_ahead_log.
"""

from __future__ import annotations

import sqlite3
import struct
import time
from contextlib import closing
from pathlib import Path

LONGEST_CHECK = 2.0
"""Seconds that the check of a file may take: some GiB of a file that is in memory."""
LARGEST_JOURNAL = 16 * 1024**2
"""Bytes of a journal that is checked: a second of work. Ours have less."""

_STEPS = 10_000
"""Of SQLite's machine between two looks at the clock."""
_HEADER, _FRAME = 32, 24
_BIG_ENDIAN = 0x377F0683
_MAGIC = (0x377F0682, _BIG_ENDIAN)


def damage_of(file: Path) -> str:
    """Return what is wrong with a database, in a few words; nothing if none is found in time."""
    try:
        with closing(
            sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True)
        ) as connection:
            until = time.monotonic() + LONGEST_CHECK
            connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError:
        return ""  # it took too long, or the file is in use
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if found == "ok" else str(found).replace("\n", " ")


def lost_in_journal(file: Path) -> int:
    """Return how many pages a damaged journal holds that SQLite will not read. Call it before SQLite does."""
    journal = Path(f"{file}-wal")
    try:
        if not 0 < journal.stat().st_size <= LARGEST_JOURNAL:
            return 0
        data = journal.read_bytes()
    except OSError:
        return 0
    if len(data) < _HEADER:
        return 0
    magic, _, page, _, *salt = struct.unpack(">6I", data[:24])
    if magic not in _MAGIC or not 512 <= page <= 65536:
        return (len(data) - _HEADER) // (4096 + _FRAME)  # all of it: the header itself is damaged
    order = ">" if magic == _BIG_ENDIAN else "<"
    size = _FRAME + page
    frames = [data[at : at + size] for at in range(_HEADER, len(data) - size + 1, size)]
    # Frames with other salts are left from before the journal was last reset.
    ours = [frame for frame in frames if struct.unpack(">2I", frame[8:16]) == tuple(salt)]
    sums = _checksum(data[:24], order)
    for number, frame in enumerate(frames):
        sums = _checksum(frame[:8] + frame[_FRAME:], order, sums)
        if sums != struct.unpack(">2I", frame[16:24]):
            return max(0, len(ours) - number)
    return 0


def _checksum(data: bytes, order: str, sums: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for one, two in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + two + first) & 0xFFFFFFFF
    return first, second
