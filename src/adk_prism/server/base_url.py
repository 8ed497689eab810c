"""The address under which a client reaches this server, for links in what it is sent."""

from __future__ import annotations

from starlette.requests import HTTPConnection

from adk_prism.server.settings import Settings


def base_url(connection: HTTPConnection, settings: Settings) -> str:
    """Return the configured public address, else the one the client used (its Host was checked).

    It has no slash at its end. A prefix under which the application is mounted, or that a proxy
    takes off, is in it; Starlette's own `base_url` leaves the prefix of a mount out.
    """
    if settings.public_url:
        return settings.public_url.rstrip("/")
    url = connection.url
    prefix = connection.scope.get("root_path", "").rstrip("/")
    return f"{url.scheme}://{url.netloc}{prefix}"


def page_url(socket: HTTPConnection, settings: Settings) -> str:
    """Return the address at which a page finds the server whose socket this is."""
    url = base_url(socket, settings)
    return f"http{url.removeprefix('ws')}" if url.startswith("ws") else url
