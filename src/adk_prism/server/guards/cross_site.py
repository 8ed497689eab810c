"""Whether a GET that does something comes from where it may.

A foreign page can make a browser send a GET without asking anyone: as an image, a link, a frame. Such
a request carries no Origin, so the guard lets it pass as it passes a program's. Browsers say in
`Sec-Fetch-Site` how a request came about; a program sends no such header.
"""

from __future__ import annotations

from fastapi import Request

from adk_prism.errors import Forbidden

_OWN = ("same-origin", "none")
"""From a page of this server, or from the person at the browser."""


def refuse_cross_site(request: Request) -> None:
    """Raise `Forbidden` for a request that another site's page makes, unless its origin was allowed."""
    site = request.headers.get("sec-fetch-site", _OWN[0])
    # With an Origin it is a script's request, and the guard has looked at it.
    if site not in _OWN and "origin" not in request.headers:
        raise Forbidden("A page of another site may not start a run with GET; use POST.")
