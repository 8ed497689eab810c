"""The errors for an origin or host that is not allowed: for the caller, and once for the operator.

A page on the same origin as the server, behind a proxy that keeps `Origin` and changes `Host` (Next.js
rewrites, nginx `proxy_pass`), looks like a page of another origin. If the browser or the proxy shows that
it is not, the error explains it and names the setting to use.
"""

from __future__ import annotations

from starlette.types import Scope

from adk_prism.diagnostics import Diagnostic, Report
from adk_prism.errors import Forbidden
from adk_prism.server.guards.forwarded_headers import last_value, page_scheme, written
from adk_prism.server.guards.host_parsing import WebOrigin, parse_origin
from adk_prism.server.settings import options
from adk_prism.server.settings.option_kinds import flag_name

MOST_ORIGINS = 100
"""Origins that are reported, once each: any page can invent more."""


_IS_MANY = {name: option.kind.many for name, option in options().items()}


class Spelling:
    """How a setting is written: as a command-line option, or in a program."""

    def __init__(self, *, listens: bool) -> None:
        """`listens`: the server was started with command-line options."""
        self._listens = listens

    def of(self, name: str, value: str = "") -> str:
        """Return a setting, with a value if there is one."""
        if self._listens:
            return f"{flag_name(name)} {value}".rstrip()
        given = repr(value) if value else "…"
        return f"Settings({name}=({given},))" if _IS_MANY[name] else f"Settings({name}={given})"


class Refusals:
    """Explains what is refused."""

    def __init__(self, spelling: Spelling, report: Report) -> None:
        self._spelling = spelling
        self._report = report
        self._reported: set[str] = set()

    def of_host(self, shown: str) -> Forbidden:
        """Return why a Host is refused."""
        host, public = self._spelling.of("allow_host"), self._spelling.of("public_url")
        return Forbidden(
            f"Host {shown} is not accepted by this server;"
            f" the operator can allow it with {host} or {public}."
        )

    def of_origin(self, shown: str, origin: WebOrigin | None, scope: Scope) -> Forbidden:
        """Return why an Origin is refused; report it to the operator, once."""
        why = self._why(shown, origin, scope)
        if shown not in self._reported and len(self._reported) < MOST_ORIGINS:
            self._reported.add(shown)
            self._report(Diagnostic(kind="origin refused", detail=why))
        return Forbidden(why)

    def _why(self, shown: str, origin: WebOrigin | None, scope: Scope) -> str:
        refused = f"Origin {shown} may not call this server"
        if origin is None:
            return f"{refused}: it is not an http or https origin."
        text = written(origin)
        public = self._spelling.of("public_url", text)
        if _is_same_origin_elsewhere(origin, scope):
            host = ascii(last_value(scope, b"host"))[:80]
            return (
                f"{refused}, which was called as {host}: a proxy in front of it changes Host."
                f" Start the server with {public}, or configure the proxy to keep Host."
            )
        allow = self._spelling.of("allow_origin", text)
        return (
            f"{refused}; the operator can allow it with {allow}, or, if it is the server's own"
            f" address behind a proxy, with {public}."
        )


def _is_same_origin_elsewhere(origin: WebOrigin, scope: Scope) -> bool:
    """Return whether the browser, or a proxy, says that the page and the server are of one origin."""
    if last_value(scope, b"sec-fetch-site") == "same-origin":
        return True
    forwarded = last_value(scope, b"x-forwarded-host")
    schemes = (last_value(scope, b"x-forwarded-proto"), page_scheme(scope), origin.scheme)
    return bool(forwarded) and any(
        parse_origin(f"{scheme}://{forwarded}") == origin for scheme in schemes
    )
