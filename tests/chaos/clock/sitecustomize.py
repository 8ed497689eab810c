"""A machine whose clock is wrong: every process that has this folder on its path, and says by how much.

The offset is in a file, which may change while the process runs: then the clock jumps. Only the time of day
is touched, as an administrator or a time service would; the monotonic clock goes on.
"""

import os
import time

_FILE = os.environ.get("PRISM_TEST_CLOCK", "")
_right = time.time


def _offset() -> float:
    with open(_FILE) as file:
        return float(file.read() or 0)


if _FILE:
    time.time = lambda: _right() + _offset()
    time.time_ns = lambda: int(time.time() * 1e9)
