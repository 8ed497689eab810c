"""Parses hosts and origins: which are this machine's own, and when two are equal.

Used for `Host`, `Origin` and configured origins, so that the guard and the settings agree. An authority that
is not well formed matches nothing.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

DEFAULT_PORTS = {"http": 80, "https": 443}

_AUTHORITY = re.compile(
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]{1,253})(?::(?P<port>\d{1,5}))?"
)


class Authority(NamedTuple):
    """A host, lower case and without its root dot or brackets, and the port that was written."""

    host: str
    port: int | None


class WebOrigin(NamedTuple):
    """Scheme, host and port, as browsers compare them."""

    scheme: str
    host: str
    port: int


def parse_authority(text: str) -> Authority | None:
    """Read `host` or `host:port`; return None for anything else."""
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        return None
    host = match["host"].strip("[]").lower().rstrip(".")
    return Authority(host, int(match["port"]) if match["port"] else None)


def parse_origin(text: str) -> WebOrigin | None:
    """Read an http(s) origin, without a path; return None for anything else, `null` included."""
    scheme, separator, rest = text.partition("://")
    authority = parse_authority(rest)
    scheme = scheme.lower()
    if not separator or authority is None or scheme not in DEFAULT_PORTS:
        return None
    return WebOrigin(scheme, authority.host, authority.port or DEFAULT_PORTS[scheme])


def origin_of_url(url: str) -> WebOrigin | None:
    """Return the origin of an http(s) URL, which may have a path; None if it is not one."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return parse_origin(f"{parts.scheme}://{parts.netloc}")


PATTERN = "regex:"
"""Begins a pattern of origins: `regex:https://.*\\.example\\.com`, as `adk web` takes them."""


def parse_pattern(text: str) -> re.Pattern[str] | None:
    """Read a pattern that has to match a whole origin, as a browser writes it (`forwarded_headers.written`).

    Return None for text without the prefix, an empty pattern or one that is not valid.
    """
    if not text.startswith(PATTERN) or text == PATTERN:
        return None
    try:
        return re.compile(text.removeprefix(PATTERN))
    except re.error:
        return None


def parse_network(text: str) -> Network | None:
    """Read an address or a network such as 10.0.0.0/8; return None for anything else."""
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


@lru_cache(maxsize=128)  # asked six times for a request, nearly always about the same few
def is_loopback(host: str) -> bool:
    """Return whether a host name or address, without a port, is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
