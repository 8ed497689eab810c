"""The chat sockets of one server, to be closed when it goes down."""

from __future__ import annotations

from collections.abc import Callable


class Sockets:
    """Knows how to close each socket that is open."""

    def __init__(self) -> None:
        self._closers: dict[object, Callable[[], None]] = {}

    def hold(self, close: Callable[[], None]) -> Callable[[], None]:
        """Note how to close a socket; return what forgets it."""
        token = object()
        self._closers[token] = close

        def forget() -> None:
            self._closers.pop(token, None)

        return forget

    async def drain(self, grace: float) -> None:
        """Close every socket: its client comes back."""
        del grace
        for close in list(self._closers.values()):
            close()
