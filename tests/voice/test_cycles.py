"""Clients that come, talk and vanish leave nothing behind: no task, no file, no memory."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from tests.voice.agent import TOOLS
from tests.voice.cycles import cycle

CYCLES = 50
GROWTH = 1500
"""Bytes a cycle may leave: the log remembers the names of removed runs, the client's libraries the last
addresses. A run that is held is a hundred times as much."""


@pytest.fixture
def nothing_is_logged() -> Iterator[None]:
    """Log nothing: pytest keeps every log record of a test, and an earlier test may have set a level."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("nothing_is_logged")
async def test_nothing_is_left_of_clients_that_vanish() -> None:
    """Counted after some, and twice after many more."""
    before, between, after = await cycle(CYCLES)
    assert after.tasks <= before.tasks + 1  # uvicorn may be about to let go of the last connection
    assert after.files <= before.files + 1
    # What grows once is a module or a file's text that something imported or quoted, and no leak.
    growth = min(between.size - before.size, after.size - between.size)
    assert growth < CYCLES * GROWTH
    assert not any(tool.behavior for tool in TOOLS)
