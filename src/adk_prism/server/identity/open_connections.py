"""Open requests, streams and sockets, and whether their callers may still have them.

A credential is checked when a connection begins. A stream or a socket can last for hours, so what let its
caller in is checked again every second, once for all connections that it opened: a token that was removed
from its file, a share link that was revoked at any replica, a function that no longer knows the caller. What
can no longer be confirmed ends.

Runs belong to the server and go on; their caller can no longer follow them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from adk_prism.diagnostics import Diagnostic, Report, cause_of

CHECK_EVERY = 1.0
"""Seconds between two looks at all open connections; the second begins when the first is done."""
PATIENCE = 10.0
"""Seconds for which a check may fail, as while a file of tokens is being written, before access ends."""

StillAllowed = Callable[[], Awaitable[bool]]
"""Returns whether a credential still gives what it gave. May raise: then nobody knows."""


class _Credential:
    """One credential, and what it opened."""

    def __init__(self, check: StillAllowed) -> None:
        self.check = check
        self.opened: set[asyncio.Timeout] = set()
        self.failing_since: float | None = None


class OpenConnections:
    """What is open in one server."""

    def __init__(self, report: Report, clock: Callable[[], float] = time.monotonic) -> None:
        self._report = report
        self._clock = clock
        self._open: dict[str, _Credential] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def holding(self, name: str, check: StillAllowed, limit: asyncio.Timeout) -> Iterator[None]:
        """Note a connection: `limit` ends it when the credential of this name is no longer valid."""
        held = self._open.get(name)
        if held is None:
            held = self._open[name] = _Credential(check)
        held.opened.add(limit)
        if self._timer is None and self._looking is None:
            self._timer = asyncio.get_running_loop().call_later(CHECK_EVERY, self._look)
        try:
            yield
        finally:
            held.opened.discard(limit)
            if not held.opened and self._open.get(name) is held:
                del self._open[name]
            if not self._open and self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _look(self) -> None:
        self._timer = None
        self._looking = asyncio.get_running_loop().create_task(self._check_all())

    async def _check_all(self) -> None:
        try:
            for name, held in list(self._open.items()):
                if held.opened and not await self._is_allowed(held):
                    self.end(name)
        finally:
            self._looking = None
            if self._open:
                self._timer = asyncio.get_running_loop().call_later(CHECK_EVERY, self._look)

    async def _is_allowed(self, held: _Credential) -> bool:
        try:
            async with asyncio.timeout(PATIENCE):
                allowed = await held.check()
        except Exception as error:  # an operator's function may raise anything
            now = self._clock()
            if held.failing_since is None:
                held.failing_since = now
                self._report(Diagnostic(kind="credential not checked", cause=cause_of(error)))
            return now - held.failing_since < PATIENCE
        held.failing_since = None
        return allowed

    def end(self, name: str) -> None:
        """End everything that a credential opened."""
        held = self._open.pop(name, None)
        for limit in held.opened if held is not None else ():
            if not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time())
