"""The public address of a request behind a trusted proxy: `X-Forwarded-Host` and `X-Forwarded-Proto`.

Anybody can send these headers, so they are used only on connections from the addresses in `--trusted-proxy`
(default: none). Of several values the last one is used, which the trusted proxy added. The request's own Host
is always checked too.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.types import Scope

# ---------------------------------------------------------------------------
# Parses hosts and origins: which are this machine's own, and when two are equal.
#
# Used for `Host`, `Origin` and configured origins, so that the guard and the settings agree. An
# authority that is not well formed matches nothing.

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
    """Return whether a host is this machine's name, or a name that nobody can register.

    A page can only be rebound to a server under a name that its author owns.
    """
    return "." not in host or host.endswith(_PRIVATE_ENDINGS) or host in _own_names()


def is_address(host: str) -> bool:
    """Return whether a host is an IP address, which no page can be rebound to."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=1)
def _own_names() -> frozenset[str]:
    return frozenset({socket.gethostname().lower(), socket.getfqdn().lower()})


_NETWORK_BITS = 64
"""Bits of an IPv6 address that identify a caller: who has one address has the whole network."""


@lru_cache(maxsize=1024)
def counted_address(host: str) -> str:
    """Return the address or network under which a host is counted."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), _NETWORK_BITS), strict=False))


# ---------------------------------------------------------------------------
# Whether a request was made on this machine, without a proxy.
#
# All of these must be local: the address that was called, the caller's address, the Host, and the
# page that the browser names. A proxy on this machine makes all of them look local, so requests with
# headers that proxies add are not local either. nginx adds none by default, but (before 1.29.7)
# speaks HTTP/1.0, which no developer's client does. If in doubt, a request is not local.

PEER_KEY = "adk_prism.peer"
"""Scope key of the address of the connection itself, before a server applied X-Forwarded-For."""

KNOWN_KEY = "adk_prism.known"
"""Scope key of a function to call when the caller is authenticated, if the server counts connections."""

_FORWARDING = re.compile(
    rb"forwarded|via|cdn-loop|x-real-ip|x-client-ip|true-client-ip|cf-connecting-ip|fastly-client-ip"
    rb"|x-forwarded-.*|x-original-.*|x-envoy-.*"
)
"""Headers that a proxy adds, in lower case as ASGI has them."""

_NAMES_A_HOST = frozenset({b"x-forwarded-host", b"x-forwarded-server"})
_NAMES_ADDRESSES = frozenset({b"x-forwarded-for", b"x-real-ip", b"x-client-ip"})
_NAMES_NOBODY = frozenset({b"x-forwarded-proto", b"x-forwarded-port", b"x-forwarded-scheme"})
_PAGE_HEADERS = frozenset({b"origin", b"referer"})


def is_forwarded(scope: Scope) -> bool:
    """Return whether a proxy says that it passed a request on."""
    return any(_FORWARDING.fullmatch(name) for name, _ in scope["headers"])


def is_forwarded_from_elsewhere(scope: Scope) -> bool:
    """Return whether a proxy passed a request on that may be another machine's."""
    return any(
        not _names_this_machine(name, value.decode("latin-1"))
        for name, value in scope["headers"]
        if _FORWARDING.fullmatch(name)
    )


def is_local(scope: Scope) -> bool:
    """Return whether a request came from this machine to this machine, apart from proxies."""
    ends = (scope.get("server"), scope.get("client"), scope.get(PEER_KEY, scope.get("client")))
    return (
        all(end is not None and is_loopback(str(end[0])) for end in ends)
        and scope.get("http_version") != "1.0"
        and _names_local_hosts(scope["headers"])
    )


def _names_local_hosts(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    hosts = 0
    for name, value in headers:
        text = value.decode("latin-1").strip()
        if name == b"host":
            hosts += 1
            authority = parse_authority(text)
            if authority is None or not is_loopback(authority.host):
                return False
        elif name in _PAGE_HEADERS:
            origin = origin_of_url(text)
            if origin is None or not is_loopback(origin.host):
                return False
    return hosts == 1


def _names_this_machine(name: bytes, value: str) -> bool:
    """Return whether a forwarding header names nothing but this machine; an unknown one does not."""
    if name in _NAMES_NOBODY:
        return True
    texts = [text.strip() for text in value.split(",")]
    if name in _NAMES_ADDRESSES:
        return all(is_loopback(text.strip("[]").removeprefix("::ffff:")) for text in texts)
    if name in _NAMES_A_HOST:
        hosts = [parse_authority(text) for text in texts]
        return all(host is not None and is_loopback(host.host) for host in hosts)
    return False


# ---------------------------------------------------------------------------

_PAGE_SCHEME = {"ws": "http", "wss": "https"}


class TrustedProxies:
    """The addresses of trusted proxies."""

    def __init__(self, addresses: Iterable[str]) -> None:
        """`addresses`: IP addresses and networks."""
        self._networks: tuple[Network, ...] = tuple(filter(None, map(parse_network, addresses)))

    def sent(self, scope: Scope) -> bool:
        """Return whether a request comes from one of them, by the address of the connection itself."""
        peer = scope.get(PEER_KEY) or scope.get("client")
        return peer is not None and self.has(peer[0])

    def has(self, host: str) -> bool:
        """Return whether an address is one of theirs."""
        if not self._networks:
            return False
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return any((mapped or address) in network for network in self._networks)

    def origin(self, scope: Scope) -> WebOrigin | None:
        """Return the origin that a client called, according to a trusted proxy; None without one."""
        host = last_value(scope, b"x-forwarded-host")
        if not host or not self.sent(scope):
            return None
        scheme = last_value(scope, b"x-forwarded-proto").lower() or page_scheme(scope)
        return parse_origin(f"{_PAGE_SCHEME.get(scheme, scheme)}://{host}")


def page_scheme(scope: Scope) -> str:
    """Return the scheme of the pages whose request or socket this is."""
    scheme = str(scope.get("scheme", "http"))
    return _PAGE_SCHEME.get(scheme, scheme)


def last_value(scope: Scope, name: bytes) -> str:
    """Return the last value of a header that may hold a list; empty if it is not there."""
    values = [value for key, value in scope["headers"] if key == name]
    return values[-1].decode("latin-1").rpartition(",")[2].strip() if values else ""


def written(origin: WebOrigin) -> str:
    """Return an origin as browsers write it: without the scheme's own port."""
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    port = "" if origin.port == DEFAULT_PORTS[origin.scheme] else f":{origin.port}"
    return f"{origin.scheme}://{host}{port}"
