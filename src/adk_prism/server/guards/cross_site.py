"""Refuses cross-site GET requests that have an effect.

A page of another site can make a browser send a GET, as an image, a link or a frame. Such a request has no
`Origin`, so the guard accepts it like a program's. Browsers send `Sec-Fetch-Site`; programs do not.
"""

from __future__ import annotations

from fastapi import Request

from adk_prism.errors import Forbidden

_OWN = ("same-origin", "none")
"""From a page of this server, or typed by the user."""


def refuse_cross_site(request: Request) -> None:
    """Raise `Forbidden` for a request that another site's page makes, unless its origin was allowed."""
    site = request.headers.get("sec-fetch-site", _OWN[0])
    # A script's request has an Origin, which the guard has checked.
    if site not in _OWN and "origin" not in request.headers:
        raise Forbidden("A page of another site may not start a run with GET; use POST.")
