"""Which conversation the panel is in."""

from __future__ import annotations

from urllib.parse import quote

from msgspec import Struct

USER = "user"
"""Whose the sessions are where a server asks nobody who it is: as in the page, which has them too."""


class Place(Struct, frozen=True):
    """An app and a session of it."""

    app: str
    session: str
    user: str = USER

    @property
    def path(self) -> str:
        """Return the session's address."""
        names = (quote(name, safe="") for name in (self.app, self.user, self.session))
        return "/apps/{}/users/{}/sessions/{}".format(*names)

    @property
    def body(self) -> dict[str, str]:
        """Return what names it in a run request."""
        return {"appName": self.app, "userId": self.user, "sessionId": self.session}
