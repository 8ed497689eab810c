"""Which conversation the panel is in."""

from __future__ import annotations

from msgspec import Struct

USER = "user"
"""Whose the sessions are: the user that the chat routes take by default, so the page has them too."""


class Place(Struct, frozen=True):
    """An app and a session of it."""

    app: str
    session: str
    user: str = USER

    @property
    def path(self) -> str:
        """Return the session's address."""
        return f"/apps/{self.app}/users/{self.user}/sessions/{self.session}"

    @property
    def body(self) -> dict[str, str]:
        """Return what names it in a run request."""
        return {"appName": self.app, "userId": self.user, "sessionId": self.session}
