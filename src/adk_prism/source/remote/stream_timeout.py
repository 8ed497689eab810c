"""How long a stream may be silent, and may take: one timer for a run, not one for each piece of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from adk_prism.source.remote.app_options import Remote
from adk_prism.source.remote.http_exchange import Exchange


class Watch:
    """Ends a stream that takes too long, with the error that `failed` makes of the reason."""

    def __init__(
        self, remote: Remote, stream: Exchange, ends: float, failed: Callable[[str], Exception]
    ) -> None:
        self._remote = remote
        self._stream = stream
        self._ends = ends
        self._failed = failed
        self._time = asyncio.get_running_loop().time
        self._since = self._time()
        self._timer = self._wait()

    def note(self) -> None:
        """Note that something came."""
        self._since = self._time()

    def close(self) -> None:
        """Watch no more."""
        self._timer.cancel()

    def _wait(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_at(
            min(self._since + self._remote.idle, self._ends), self._look
        )

    def _look(self) -> None:
        now = self._time()
        if now >= self._ends:
            why = f"its run took longer than {self._remote.total:g} seconds"
        elif now >= self._since + self._remote.idle:
            why = f"it did not send an event within {self._remote.idle:g} seconds"
        else:
            self._timer = self._wait()
            return
        self._stream.abort(self._failed(why))
