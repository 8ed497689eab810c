"""The address under which a client reaches this server, for links in what it is sent."""

from __future__ import annotations

from fastapi import Request

from adk_prism.server.settings import Settings


def base_url(request: Request, settings: Settings) -> str:
    """Return the configured public address, else the one the client used (its Host was checked)."""
    return (settings.public_url or str(request.base_url)).rstrip("/")
