"""`Idempotency-Key`: the same key and body start one run, however often they are sent.

The run's id is derived from the key and its scope, and the body's digest is in the run's first record, so
nothing has to be kept beside the log: it holds after a restart and as long as the run does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from adk_prism.errors import NotFound, Unprocessable, UsageError
from adk_prism.pipeline.session_locks import SessionLocks
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import Origin, RunId, RunStarted

LONGEST_KEY = 255

Begin = Callable[[RunId | None, str], Awaitable[RunId]]
"""Starts a run under the given id, with the given digest; with None, under an id of its own."""


class Idempotency:
    """Keys of one server."""

    def __init__(self, log: RunLog, keys: SessionLocks | None = None) -> None:
        """`keys` keeps requests with one key apart, in all processes that share the log."""
        self._log = log
        self._keys = keys or SessionLocks()

    async def once(
        self, key: str, scope: str, body: bytes, begin: Begin, *, digest: str = ""
    ) -> RunId:
        """Start a run, or return the one that this key started. Raise `Unprocessable` for another body.

        `digest`: the SHA-256 of the body, where only a part of it was kept.
        """
        if not key:
            return await begin(None, "")
        if len(key) > LONGEST_KEY or not key.isprintable():
            raise UsageError(f"Idempotency-Key must have 1 to {LONGEST_KEY} printable characters.")
        named = hashlib.sha256(f"{scope}\0{key}".encode()).hexdigest()
        run = RunId(f"run-{named[:32]}")
        digest = digest or hashlib.sha256(body).hexdigest()
        async with self._keys.held(Origin(app="", user="", session=run)):
            known = await self._digest(run)
            if known is None:
                return await begin(run, digest)
            if known != digest:
                raise Unprocessable(
                    "This Idempotency-Key, or run id, was used with another request."
                )
            return run

    async def _digest(self, run: RunId) -> str | None:
        try:
            async with aclosing(self._log.read(run)) as batches:
                async for batch in batches:
                    head = batch[0].record
                    return head.digest if isinstance(head, RunStarted) else None
        except NotFound:
            return None
        return None
