"""Parses hosts and origins: which are this machine's own, and when two are equal.

Used for `Host`, `Origin` and configured origins, so that the guard and the settings agree. An authority that
is not well formed matches nothing.
"""

from __future__ import annotations

import ipaddress
import re
import socket
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


_WIDEST = {4: 8, 6: 7}
"""Bits of the largest private networks, 10.0.0.0/8 and fc00::/7."""


def is_too_wide(text: str) -> bool:
    """Return whether a network is larger than any private one: nobody's proxies alone."""
    network = parse_network(text)
    return network is not None and network.prefixlen < _WIDEST[network.version]


@lru_cache(maxsize=128)  # asked six times for a request, nearly always about the same few
def is_loopback(host: str) -> bool:
    """Return whether a host name or address, without a port, is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_PRIVATE_ENDINGS = (".local", ".internal", ".localhost", ".home.arpa", ".lan")
"""Domains that are not in the public DNS (RFC 6762, RFC 8375; ICANN reserved `internal`)."""


def is_private_name(host: str) -> bool:
    """Return whether a host is an address, this machine's name, or a name that nobody can register.

    A page can only be rebound to a server under a name that its author owns.
    """
    if "." not in host or host.endswith(_PRIVATE_ENDINGS) or host in _own_names():
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=1)
def _own_names() -> frozenset[str]:
    return frozenset({socket.gethostname().lower(), socket.getfqdn().lower()})
