"""How a file is answered, so that a browser can show it and nothing in it can act.

Whatever the type says: it is never sniffed, and opened by itself it is sandboxed and loads nothing. In
place stands only what a browser shows without running anything; the rest (HTML, SVG, XML, scripts, PDF,
and all that nobody thought of) is a download.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from msgspec import Struct

from adk_prism.facts.media import UNKNOWN_TYPE

LONGEST_NAME = 100
"""Characters of a download's name: with an ending, every file system takes it."""

FOR_EVER = 31536000
"""Seconds for which a browser may keep what is in the log: an entry never changes."""
A_WHILE = 300
"""Seconds for files that are stored elsewhere, and may change or be removed."""

_MEDIA_TYPE = re.compile(
    r"(?:application|audio|font|image|model|text|video)/[A-Za-z0-9!#$&^_.+-]{1,80}", re.IGNORECASE
)
_HARMLESS = re.compile(
    r"(?:image/(?:png|jpeg|gif|webp|avif)|audio/[\w.+-]+|video/[\w.+-]+|text/plain)", re.IGNORECASE
)
"""Shown in place by a browser, and unable to run anything."""


class Presentation(Struct, frozen=True):
    """What is said of a file beside its bytes."""

    media_type: str
    name: str = ""
    max_age: int = FOR_EVER

    def headers(self) -> dict[str, str]:
        """Return the headers of an answer with this file."""
        inline = _HARMLESS.fullmatch(self.media_type) is not None
        return {
            "content-disposition": ("inline" if inline else "attachment") + _named(self.name),
            "x-content-type-options": "nosniff",
            "content-security-policy": "sandbox; default-src 'none'",
            "cache-control": f"private, max-age={self.max_age}"
            + (", immutable" if self.max_age == FOR_EVER else ""),
        }


def plain_type(claim: str) -> str:
    """Return a media type without its parameters; the type of unknown bytes for what is none."""
    media_type = claim.partition(";")[0].strip().lower()
    return media_type if _MEDIA_TYPE.fullmatch(media_type) else UNKNOWN_TYPE


def _named(name: str) -> str:
    last = name.replace("\\", "/").rpartition("/")[2]
    clean = "".join(c for c in last if c.isprintable()).strip(" .")[:LONGEST_NAME]
    return f"; filename*=UTF-8''{quote(clean, safe='')}" if clean else ""
