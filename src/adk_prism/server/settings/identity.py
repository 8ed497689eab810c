"""How callers authenticate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from adk_prism.server.settings.option_kinds import FILE, TEXT, URL, Option, several


@dataclass(frozen=True, kw_only=True)
class IdentitySettings:
    """How callers authenticate."""

    tokens: Annotated[
        str,
        Option(
            FILE, 'authenticate callers by access token, from a JSON file: {"TOKEN": "USER", …}'
        ),
    ] = ""
    oidc_issuer: Annotated[
        str, Option(URL, "authenticate callers by JSON Web Tokens (JWT) of this OpenID provider")
    ] = ""
    oidc_audience: Annotated[
        tuple[str, ...],
        Option(several("AUDIENCE", "names"), "audience that a JWT must name; repeatable"),
    ] = ()
    oidc_jwks: Annotated[
        str, Option(URL, "URL of the provider's keys (default: from its discovery document)")
    ] = ""
    oidc_user_claim: Annotated[str, Option(TEXT, "claim of a JWT that has the user name")] = "sub"
    oidc_algorithm: Annotated[
        tuple[str, ...],
        Option(
            several("ALGORITHM", "names such as RS256"),
            "signature algorithm that a JWT may use; repeatable",
        ),
    ] = ("RS256", "ES256")
    proxy_user_header: Annotated[
        str, Option(TEXT, "authenticate callers by this header, which a trusted proxy sets")
    ] = ""
    trusted_proxy: Annotated[
        tuple[str, ...],
        Option(
            several("ADDRESS", "addresses or networks such as 10.0.0.0/8"),
            "address of a proxy whose user header, X-Forwarded-Host, -Proto and -For are trusted;"
            " repeatable (default: only the user header, and only from this machine)",
        ),
    ] = ()
    authenticate: Annotated[
        str, Option(TEXT, "authenticate callers by a Python function: MODULE:FUNCTION")
    ] = ""
    admin: Annotated[
        tuple[str, ...],
        Option(several("USER", "users"), "user who may see the data of all users; repeatable"),
    ] = ()
