"""Messages of a body that are kept only if they turn out to be the end of its history.

In AG-UI the result of a client's tool is a message of its own. Those at the end of the list, and right before
the user's new message, are news. Those further up mostly repeat what the client was shown, but one may answer
a call that the user had passed over: clients put it beside its call. So short ones are kept, too.
"""

from __future__ import annotations

_SPEAKERS = {b'"user"', b'"assistant"'}
"""Whoever speaks after results makes them history."""


LONGEST_EARLIER = 16 * 1024
"""Bytes of a result further up that is kept: what a person chose or typed."""
MOST_EARLIER = 256 * 1024
"""Bytes of all results further up that are kept."""


class HeldResults:
    """The results since somebody spoke, whole and shortened, with what else came between."""

    def __init__(self, roles: frozenset[bytes], limit: int) -> None:
        """`limit` is that of everything that is kept of the body."""
        self._roles = roles
        self._room = min(MOST_EARLIER, limit // 8)
        """Bytes that are left for results further up."""
        self._held: list[tuple[bytes, bytes]] = []
        """Each message whole (empty: too large for that), and as history."""
        self.size = 0
        """Bytes of the whole ones."""

    def takes(self, role: bytes) -> bool:
        """Tell whether a message belongs here: a result, or what nobody said after one."""
        return role in self._roles or (bool(self._held) and role not in _SPEAKERS)

    def add(self, message: bytes, shown: bytes) -> None:
        """Hold a message; `shown` is what is kept of it as history."""
        self._held.append((message, shown))
        self.size += len(message) + len(shown)

    def shorten(self) -> None:
        """Keep nothing whole: there is no room for it."""
        self._held = [(b"", shown) for _, shown in self._held]
        self.size = sum(len(shown) for _, shown in self._held)

    @property
    def are_whole(self) -> bool:
        """Whether there was room for all of them."""
        return all(message for message, _ in self._held)

    def dropped(self) -> bytes:
        """Return what is held as history, since somebody spoke; hold nothing any more."""
        return b"".join(self._earlier_one(*each) + b"," for each in self._taken())

    def _earlier_one(self, message: bytes, shown: bytes) -> bytes:
        if not message or len(message) > min(LONGEST_EARLIER, self._room):
            return shown
        self._room -= len(message)
        return message

    def kept(self) -> bytes:
        """Return what is held whole, at the end of the list; hold nothing any more."""
        return b"".join(message + b"," for message, _ in self._taken())

    def _taken(self) -> list[tuple[bytes, bytes]]:
        held, self._held, self.size = self._held, [], 0
        return held
