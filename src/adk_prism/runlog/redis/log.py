"""A run log in Redis Streams, for any number of processes.

What a commit promises is what Redis promises: with `appendonly yes` it survives a kill of Redis, except for
the last moments that `appendfsync everysec` allows.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from adk_prism.runlog.buffered_log import BufferedLog
from adk_prism.runlog.recent_entries import TAIL_BYTES
from adk_prism.runlog.redis.keys import DEFAULT_PREFIX
from adk_prism.runlog.redis.store import RedisStore


class RedisLog(BufferedLog):
    """Keeps runs in Redis."""

    def __init__(
        self,
        url: str,
        *,
        prefix: str = DEFAULT_PREFIX,
        tail_bytes: int = TAIL_BYTES,
        clock: Callable[[], float] = time.time,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`warn` is called for a Redis that can be used, but should be configured differently."""
        super().__init__(RedisStore(url, prefix, warn), tail_bytes=tail_bytes, clock=clock)
