"""Where this server is, as its clients see it: the beginning of every absolute URL that we send."""

from __future__ import annotations

from starlette.requests import HTTPConnection

from adk_prism.server.settings import Settings


def base_url(connection: HTTPConnection, settings: Settings) -> str:
    """Return the URL of `/` without its last slash: the public one, or the one that was called.

    A prefix under which the application is mounted, or that a proxy takes off, is in it.
    """
    if settings.public_url:
        return settings.public_url.rstrip("/")
    url = connection.url
    prefix = connection.scope.get("root_path", "").rstrip("/")
    return f"{url.scheme}://{url.netloc}{prefix}"
