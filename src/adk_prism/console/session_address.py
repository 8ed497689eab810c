"""Identifies the session that the console shows."""

from __future__ import annotations

from urllib.parse import quote

from msgspec import Struct

USER = "user"
"""The user of a server without sign-in; the page uses the same one, so both see the same sessions."""


class SessionAddress(Struct, frozen=True):
    """An app, a user and a session."""

    app: str
    session: str
    user: str = USER

    @property
    def path(self) -> str:
        """Return the session's URL path."""
        names = (quote(name, safe="") for name in (self.app, self.user, self.session))
        return "/apps/{}/users/{}/sessions/{}".format(*names)

    @property
    def body(self) -> dict[str, str]:
        """Return the fields that name it in a run request."""
        return {"appName": self.app, "userId": self.user, "sessionId": self.session}
