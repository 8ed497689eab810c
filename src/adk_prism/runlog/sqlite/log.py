"""A run log in one SQLite file: the default, for one process.

What a commit promises (the file is in WAL mode):
- `synchronous="normal"`: survives a crash or kill -9 of the process; a power failure may take the last
  moments, and never anything but the end of the log;
- `synchronous="full"`: survives a power failure too; every group waits for a flush of the disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from adk_prism.runlog.buffered_log import BufferedLog
from adk_prism.runlog.recent_entries import TAIL_BYTES
from adk_prism.runlog.sqlite.file import Synchronous
from adk_prism.runlog.sqlite.store import SqliteStore


class SqliteLog(BufferedLog):
    """Keeps runs in a file."""

    def __init__(
        self,
        path: str | Path,
        *,
        synchronous: Synchronous = "normal",
        tail_bytes: int = TAIL_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        store = SqliteStore(Path(path), synchronous)
        super().__init__(store, tail_bytes=tail_bytes, clock=clock)
