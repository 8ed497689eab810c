"""How callers authenticate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from adk_prism.server.settings.option_kinds import (
    FILE,
    TEXT,
    URL,
    Option,
    several,
)


@dataclass(frozen=True, kw_only=True)
class IdentitySettings:
    """How callers authenticate."""

    tokens: Annotated[
        str, Option(FILE, 'authenticate by access token; JSON file: {"TOKEN": "USER", …}')
    ] = ""
    oidc_issuer: Annotated[str, Option(URL, "authenticate by JWT of this OpenID provider")] = ""
    oidc_audience: Annotated[
        tuple[str, ...],
        Option(several("AUDIENCE", "names"), "required audience of a JWT; repeatable"),
    ] = ()
    oidc_jwks: Annotated[
        str, Option(URL, "URL of the provider's keys; without: from its discovery document")
    ] = ""
    oidc_user_claim: Annotated[str, Option(TEXT, "JWT claim with the user name")] = "sub"
    oidc_algorithm: Annotated[
        tuple[str, ...],
        Option(
            several("ALGORITHM", "names such as RS256"),
            "accepted JWT signature algorithm; repeatable",
        ),
    ] = ("RS256", "ES256")
    proxy_user_header: Annotated[
        str, Option(TEXT, "authenticate by this header, which a trusted proxy sets")
    ] = ""
    trusted_proxy: Annotated[
        tuple[str, ...],
        Option(
            several("ADDRESS", "addresses or networks such as 10.0.0.0/8"),
            "address of a proxy whose user header, X-Forwarded-Host, -Proto and -For are trusted;"
            " repeatable; without: only the user header, and only from this machine",
        ),
    ] = ()
    authenticate: Annotated[
        str, Option(TEXT, "authenticate by a Python function: MODULE:FUNCTION")
    ] = ""
    admin: Annotated[
        tuple[str, ...],
        Option(several("USER", "users"), "user with access to the data of all users; repeatable"),
    ] = ()
