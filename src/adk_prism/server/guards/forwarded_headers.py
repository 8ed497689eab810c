"""The public address of a request behind a trusted proxy: `X-Forwarded-Host` and `X-Forwarded-Proto`.

Anybody can send these headers, so they are used only on connections from the addresses in `--trusted-proxy`
(default: none). Of several values the last one is used, which the trusted proxy added. The request's own Host
is always checked too.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from starlette.types import Scope

from adk_prism.server.guards.host_parsing import (
    DEFAULT_PORTS,
    Network,
    WebOrigin,
    parse_network,
    parse_origin,
)
from adk_prism.server.guards.local_requests import PEER_KEY

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
