"""The address under which a client reaches this server, for links in what it is sent.

The configured one, else what a trusted proxy says, else what the client called (its Host was checked).
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from adk_prism.server.guards.forwarded_headers import TrustedProxies, page_scheme, written
from adk_prism.server.settings import Settings


def base_url(connection: HTTPConnection, settings: Settings) -> str:
    """Return an absolute http(s) address without a slash at its end, also for a socket.

    A prefix under which the application is mounted, or that a proxy takes off, is in it, unless the
    configured address has a path of its own. Starlette's own `base_url` leaves the prefix of a mount out.
    """
    prefix: str = connection.scope.get("root_path", "").rstrip("/")
    if settings.public_url:
        public = settings.public_url.rstrip("/")
        return public if urlsplit(public).path else public + prefix
    forwarded = TrustedProxies(settings.trusted_proxy).origin(connection.scope)
    if forwarded is not None:
        return written(forwarded) + prefix
    return f"{page_scheme(connection.scope)}://{connection.url.netloc}{prefix}"
