"""Names of files that a browser saves: after the conversation, on every file system."""

from __future__ import annotations

import re
from urllib.parse import quote

LONGEST = 80
"""Characters; as UTF-8 with an ending, every file system takes that many."""

_UNSAFE = re.compile(r'[\\/:*?"<>|]+')
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
"""Names that Windows has for devices, whatever their ending."""


def safe_name(title: str) -> str:
    """Return a title as the name of a file, without an ending; empty if nothing is left of it."""
    shown = "".join(c if c.isprintable() else " " for c in title)
    name = " ".join(_UNSAFE.sub(" ", shown).split())[:LONGEST]
    while len(name.encode()) > LONGEST * 3:
        name = name[:-1]
    name = name.strip(" .")
    return "" if _DEVICE.fullmatch(name) else name


def attachment(title: str, otherwise: str, ending: str) -> str:
    """Return a `content-disposition` (RFC 6266) that names a file after a title.

    `otherwise`, plain ASCII, is for clients that do not read the encoded form (RFC 5987), and for a title
    that is no name.
    """
    plain = f'attachment; filename="{otherwise}{ending}"'
    name = safe_name(title)
    return f"{plain}; filename*=UTF-8''{quote(name + ending, safe='')}" if name else plain
