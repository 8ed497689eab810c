"""Clients that come, talk and vanish leave nothing behind: no task, no file, no memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE
from tests.voice.cycles import Left

ROOT = Path(__file__).parents[2]
CYCLES = 50
GROWTH = 1500
"""Bytes a cycle may leave: the log remembers the names of removed runs, the client's libraries the last
addresses. A run that is held is a hundred times as much."""


def test_nothing_is_left_of_clients_that_vanish() -> None:
    """Counted after some, and twice after many more, in a process of its own: in this one, pytest keeps log
    records, and other tests may have set up a tracer that keeps spans."""
    command = [sys.executable, "-m", "tests.voice.cycles", str(CYCLES)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=4 * PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    before, between, after = (Left(*json.loads(line)) for line in done.stdout.splitlines())
    assert after.tasks <= before.tasks + 1  # uvicorn may be about to let go of the last connection
    assert after.files <= before.files + 1
    # What grows once is a module or a file's text that something imported or quoted, and no leak.
    growth = min(between.size - before.size, after.size - between.size)
    assert growth < CYCLES * GROWTH
