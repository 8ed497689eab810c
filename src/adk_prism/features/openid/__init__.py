"""Authenticates callers by JSON Web Tokens of an OpenID provider."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from adk_prism.errors import UsageError
from adk_prism.extension import Extension
from adk_prism.options import TEXT, URL, FeatureSettings, several

if TYPE_CHECKING:
    from adk_prism.server.identity.methods import Method
    from adk_prism.server.settings import Settings

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Signatures that a JWT may have. None is symmetric: a public key must not pass for a secret."""


@dataclass(frozen=True, kw_only=True)
class OpenIdSettings(FeatureSettings):
    """Which provider's tokens are accepted."""

    title: ClassVar[str] = "Security"
    oidc_issuer: str = URL.option(
        "authenticate callers by JSON Web Tokens (JWT) of this OpenID provider"
    )
    oidc_audience: tuple[str, ...] = several("AUDIENCE", "names").option(
        "audience that a JWT must name; repeatable"
    )
    oidc_jwks: str = URL.option("URL of the provider's keys (default: from its discovery document)")
    oidc_user_claim: str = TEXT.option("claim of a JWT that has the user name", "sub")
    oidc_algorithm: tuple[str, ...] = several("ALGORITHM", "names such as RS256").option(
        "signature algorithm that a JWT may use; repeatable", ("RS256", "ES256")
    )

    @property
    def authenticates(self) -> bool:
        """Whether callers have to have a token."""
        return bool(self.oidc_issuer)

    def broken_rule(self) -> str:
        """Return what is wrong with the combination."""
        return next(self._faults(), "")

    def _faults(self) -> Iterator[str]:
        from adk_prism.server.proxies import is_loopback, origin_of_url

        if self.oidc_issuer and not self.oidc_audience:
            yield "--oidc-issuer needs --oidc-audience: the audience of tokens for this server."
        if not self.oidc_issuer and (self.oidc_audience or self.oidc_jwks):
            yield "--oidc-audience and --oidc-jwks need --oidc-issuer."
        for url in filter(None, (self.oidc_issuer, self.oidc_jwks)):
            origin = origin_of_url(url)
            if origin is None or (origin.scheme != "https" and not is_loopback(origin.host)):
                yield f"The URL of an OpenID provider must use https, got {url!r}."
        if unknown := [name for name in self.oidc_algorithm if name not in ALGORITHMS]:
            yield f"--oidc-algorithm must be one of {', '.join(ALGORITHMS)}, got {unknown[0]!r}."


def _authentication(settings: Settings) -> Method | None:
    given = settings.of(OpenIdSettings)
    if not given.authenticates:
        return None
    try:
        # Installed with ADK through authlib, which may change its dependencies.
        from adk_prism.features.openid.web_token import ProviderKeys, Rules, WebTokens
    except ImportError as error:
        raise UsageError(
            "--oidc-issuer needs the package joserfc: pip install 'adk-prism[oidc]'."
        ) from error
    rules = Rules(
        issuer=given.oidc_issuer,
        audiences=given.oidc_audience,
        algorithms=given.oidc_algorithm,
        user_claim=given.oidc_user_claim,
    )
    return WebTokens(rules, ProviderKeys(given.oidc_issuer, given.oidc_jwks))


EXTENSION = Extension(
    name="openid",
    summary="authenticate callers by tokens of an OpenID provider (--oidc-issuer)",
    settings=lambda: OpenIdSettings,
    authentication=_authentication,
)
