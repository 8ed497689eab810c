"""Sessions whose run was left by the client that had started it through ADK's own routes.

`adk api_server` ends a run when its client closes the connection: that is how ADK's clients stop one. Here a
run survives its client. So that the person can go on at once, the next message to the session interrupts it.
"""

from __future__ import annotations

from adk_prism.runlog.entry import Origin

MOST = 10_000
"""Sessions that are remembered: far more than are left within one run's time. Of a forgotten one, the next
message is treated as the setting says."""


class LeftRuns:
    """Which sessions were left, in this process."""

    def __init__(self) -> None:
        self._origins: dict[Origin, None] = {}

    def note(self, origin: Origin) -> None:
        """Note that the client of a session's run has gone."""
        self._origins[origin] = None
        if len(self._origins) > MOST:
            del self._origins[next(iter(self._origins))]

    def take(self, origin: Origin) -> bool:
        """Return whether a session was left, and forget it: another run is about to begin."""
        was_left = origin in self._origins
        self._origins.pop(origin, None)
        return was_left
