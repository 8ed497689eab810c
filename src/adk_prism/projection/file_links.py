"""Where a client finds a file: in the frame itself, at this server, or at its own address.

A data URL while it is small, else a link to the run's file route. Links of the web stay as they are; any
other reference (`gs://…`) is only ever given as a link to this server, which decides whether to fetch it.
Without a server (`replay`) everything that is in the log is inlined.
"""

from __future__ import annotations

from msgspec import Struct

INLINE_LIMIT = 64 * 1024
"""Base64 characters. An icon or a thumbnail travels inline; a photo would travel back to us with every
later request of the chat, since clients send their whole history."""

_WEB = ("http://", "https://")


def plain_base64(data: str) -> str:
    """Return base64 as every client reads it: ADK writes it for URLs, which a browser's `atob` refuses."""
    return data.replace("-", "+").replace("_", "/")


class FileLinks(Struct, frozen=True):
    """How to link files of one run."""

    base: str = ""
    """Absolute address of the server, with no slash at the end; empty where there is none."""

    def url(self, run: str, cursor: int, part: str, media_type: str, data: str, uri: str) -> str:
        """Return an absolute URL; empty for a reference that cannot be served."""
        if data or not uri:
            if self.base and len(data) > INLINE_LIMIT:
                return self._link(run, cursor, part)
            return f"data:{media_type};base64,{plain_base64(data)}"
        if uri.startswith(_WEB):
            return uri
        return self._link(run, cursor, part) if self.base else ""

    def artifact(self, run: str, cursor: int, part: str) -> str:
        """Return an absolute URL of an artifact that an event saved; empty where there is no server."""
        return self._link(run, cursor, part) if self.base else ""

    def _link(self, run: str, cursor: int, part: str) -> str:
        return f"{self.base}/api/runs/{run}/files/{cursor}/{part}"
