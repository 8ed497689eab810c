"""Origins that are allowed by a pattern: `regex:https://.*\\.example\\.com`, as `adk web` takes them.

A pattern has to match the whole origin, as a browser writes it: in lower case, without the scheme's own port.
"""

from __future__ import annotations

import re

from adk_prism.server.guards.host_parsing import DEFAULT_PORTS, WebOrigin

PREFIX = "regex:"


def parse_pattern(text: str) -> re.Pattern[str] | None:
    """Read a pattern; return None for text without the prefix, an empty pattern or one that is not valid."""
    if not text.startswith(PREFIX) or text == PREFIX:
        return None
    try:
        return re.compile(text.removeprefix(PREFIX))
    except re.error:
        return None


def write_origin(origin: WebOrigin) -> str:
    """Return an origin as a browser writes it."""
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    is_usual = DEFAULT_PORTS[origin.scheme] == origin.port
    return f"{origin.scheme}://{host}" + ("" if is_usual else f":{origin.port}")
