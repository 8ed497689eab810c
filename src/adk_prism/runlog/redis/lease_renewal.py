"""Renews the leases of a process, in a thread with its own connection.

A synchronous function of an agent can block the event loop for longer than a lease lasts, while its process
is alive: so leases are not renewed on the loop. They are renewed while they are held (the task that records
a run releases its lease, whatever ends that task), the process lives, and its loop has run within
`LONGEST_BLOCK`: a loop that is blocked for longer is stuck, and another process should continue.

One round trip renews many leases, three times per lease time. While Redis is down, no lease is sure and none
is lost: no other process can take one either.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from adk_prism.runlog.leases import Lease
from adk_prism.runlog.redis.client import STORE_ERRORS, asking_in_thread
from adk_prism.runlog.redis.scripts import RENEW

RENEWALS = 3
"""Per lease time: two may fail."""

RETRY = 0.2
"""Seconds until a renewal or a connection that failed is tried again."""

AT_A_TIME = 500
"""Leases in one round trip."""

LONGEST_BLOCK = 600.0
"""Seconds for which an event loop may be blocked while its process keeps its leases: longer than any useful
synchronous tool takes."""

Arguments = Callable[[Lease], tuple[tuple[str, ...], list[Any]]]
"""Returns the keys and the arguments with which the script keeps a lease."""
Apply = Callable[[Sequence[tuple[Lease, bool]], float], None]
"""Is called, in the thread, with the leases and whether each was kept, and until when."""


class Renewal:
    """Renews leases until it is stopped."""

    def __init__(
        self,
        url: str,
        ttl: float,
        held: Callable[[], Sequence[Lease]],
        arguments: Arguments,
        apply: Apply,
    ) -> None:
        self._redis = asking_in_thread(url, answer=ttl)
        self._ttl = ttl
        self._held = held
        self._arguments = arguments
        self._apply = apply
        self._digest = ""
        self._turned = time.monotonic()
        self._stopped = threading.Event()
        # A daemon: a Redis that does not answer must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="adk-prism leases", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def turned(self) -> None:
        """Note that the event loop turns."""
        self._turned = time.monotonic()

    def stop(self) -> None:
        """End, and wait until nothing more is renewed. Blocks for at most the answer of Redis."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(self._ttl)
        with suppress(*STORE_ERRORS):
            self._redis.close()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self.renew()
            except STORE_ERRORS:
                self._digest = ""  # A Redis that was restarted has forgotten the script.
                self._stopped.wait(RETRY)
            else:
                self._stopped.wait(self._ttl / RENEWALS)

    def renew(self) -> None:
        """Renew every lease once. Raise what Redis raises."""
        if time.monotonic() - self._turned > LONGEST_BLOCK:
            return
        leases = list(self._held())
        for start in range(0, len(leases), AT_A_TIME):
            some = leases[start : start + AT_A_TIME]
            until = time.monotonic() + self._ttl
            kept = [bool(each) for each in self._keep(some)]
            if not self._stopped.is_set():
                self._apply(list(zip(some, kept, strict=True)), until)

    def _keep(self, leases: Sequence[Lease]) -> list[Any]:
        if not self._digest:
            self._digest = str(self._redis.script_load(RENEW))
        with self._redis.pipeline(transaction=False) as pipeline:
            for lease in leases:
                keys, arguments = self._arguments(lease)
                # By name: redis-py's pipelines of clusters have no method for it.
                queue: Any = pipeline.execute_command
                queue("EVALSHA", self._digest, len(keys), *keys, *arguments)
            return list(pipeline.execute())
