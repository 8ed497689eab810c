"""An exclusive advisory lock on a file. The system releases it when the process ends.

The lock is on a file beside the one it protects, so that opening and closing the protected file (as
SQLite does, with POSIX locks of its own) cannot release it. The lock file stays: removing it would
let two processes lock two files of one name.
"""

from __future__ import annotations

import os
import sys

from adk_prism.errors import LogError

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        # flock and not lockf: it also keeps two logs of one process apart.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class FileLock:
    """Held from its creation to `release`, or to the end of the process."""

    def __init__(self, path: str) -> None:
        """Take the lock. Raise `LogError` if another process holds it."""
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _try_lock(self._descriptor)
        except OSError as error:
            os.close(self._descriptor)
            raise LogError(
                "Another adk-prism uses this run log. Stop it, or pass --log."
            ) from error

    def release(self) -> None:
        """Release the lock. The file stays."""
        os.close(self._descriptor)
