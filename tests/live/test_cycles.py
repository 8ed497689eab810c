"""Clients that come, talk and vanish leave nothing behind: no task, no file, no memory."""

from __future__ import annotations

from tests.live.agent import TOOLS
from tests.live.cycles import cycle

CYCLES = 100
GROWTH = 1500
"""Bytes a cycle may leave: the log remembers the names of removed runs, the client's libraries the last
addresses. A run that is held is a hundred times as much."""


async def test_nothing_is_left_of_clients_that_vanish() -> None:
    """Counted after some, and after many more."""
    before, after = await cycle(CYCLES)
    assert after.tasks <= before.tasks + 1  # uvicorn may be about to let go of the last connection
    assert after.files <= before.files + 1
    assert after.size - before.size < CYCLES * GROWTH
    assert not any(tool.behavior for tool in TOOLS)
