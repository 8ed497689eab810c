"""Ids and times that are the same in every capture, through ADK's own seams for them."""

from __future__ import annotations

from itertools import count

from google.adk.platform import time as adk_time
from google.adk.platform import uuid as adk_uuid

# Any moment will do; this one is easy to recognise.
_BEGINNING = 1_750_000_000.0
_TICK = 0.001


def start_counting() -> None:
    """Let ADK's ids and clock count from one, in this context and the tasks made from it."""
    ids = count(1)
    ticks = count(1)
    adk_uuid.set_id_provider(lambda: f"00000000-0000-4000-8000-{next(ids):012d}")
    adk_time.set_time_provider(lambda: round(_BEGINNING + next(ticks) * _TICK, 3))
