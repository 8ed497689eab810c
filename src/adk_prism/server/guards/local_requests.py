"""Whether a request was made on this machine, without a proxy.

All of these must be local: the address that was called, the caller's address, the Host, and the page that the
browser names. A proxy on this machine makes all of them look local, so requests with headers that proxies add
are not local either. nginx adds none by default, but (before 1.29.7) speaks HTTP/1.0, which no developer's
client does. If in doubt, a request is not local.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from starlette.types import Scope

from adk_prism.server.guards.host_parsing import is_loopback, origin_of_url, parse_authority

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
