"""JSON Web Tokens of an OpenID provider (RFC 7519, 8725): signature, issuer, audience, time, user.

Algorithms come from the operator's list, never from the token, and none is symmetric: a public key must
not pass for a shared secret. Expiry is required. The error names the claim that was not accepted, not its
value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from joserfc import jws, jwt
from joserfc.errors import ClaimError, ExpiredTokenError, JoseError
from msgspec import Struct
from starlette.requests import HTTPConnection

from adk_prism.errors import PrismError, Unauthorized
from adk_prism.server.guards.name_rules import check_user
from adk_prism.server.identity.caller import Principal
from adk_prism.server.identity.credentials import bearer
from adk_prism.server.identity.key_set import ProviderKeys

LEEWAY = 60
"""Seconds by which the provider's clock and ours may differ."""

ADMIN_SCOPE, RECORD_SCOPE = "prism:admin", "prism:record"
_SCOPE_CLAIMS = ("scope", "scp", "scopes", "roles")


class Rules(Struct, frozen=True, kw_only=True):
    """What a token must satisfy."""

    issuer: str
    audiences: Sequence[str]
    algorithms: Sequence[str]
    user_claim: str = "sub"


class WebTokens:
    """Tokens of one issuer."""

    def __init__(self, rules: Rules, keys: ProviderKeys) -> None:
        self._rules = rules
        self._keys = keys
        self._registry = jws.JWSRegistry(algorithms=list(rules.algorithms))
        self._claims = jwt.JWTClaimsRegistry(
            leeway=LEEWAY,
            iss={"essential": True, "value": rules.issuer},
            aud={"essential": True, "values": list(rules.audiences)},
            exp={"essential": True},
        )

    async def __call__(self, connection: HTTPConnection) -> Principal | None:
        """Return the user of a request's token; None if it is not a JWT."""
        token = bearer(connection)
        if token.count(".") != 2:
            return None
        claims = await self._verified(token)
        expires = float(claims["exp"]) + LEEWAY
        return Principal(
            self._user(claims),
            admin=_has_scope(claims, ADMIN_SCOPE),
            expires=expires,
            recorder=_has_scope(claims, RECORD_SCOPE),
        )

    async def _verified(self, token: str) -> Mapping[str, Any]:
        try:
            header = jws.extract_compact(token.encode()).headers()
            kid = header.get("kid")
            keys = await self._keys.get(kid if isinstance(kid, str) else None)
            found = jwt.decode(
                token, keys, algorithms=list(self._rules.algorithms), registry=self._registry
            )
            self._claims.validate(found.claims)
        except ExpiredTokenError:
            raise Unauthorized("The token has expired.") from None
        except ClaimError as error:
            raise Unauthorized(
                f"The token's claim {error.claim!r} is not accepted by this server."
            ) from None
        except (JoseError, ValueError, TypeError, RecursionError, msgspec.MsgspecError):
            raise Unauthorized("The token cannot be verified.") from None
        return found.claims

    def _user(self, claims: Mapping[str, Any]) -> str:
        user = claims.get(self._rules.user_claim)
        try:
            return check_user(user if isinstance(user, str) else "")
        except PrismError:
            raise Unauthorized(
                f"The token's claim {self._rules.user_claim!r} is not a valid user name."
            ) from None


def _has_scope(claims: Mapping[str, Any], scope: str) -> bool:
    for name in _SCOPE_CLAIMS:
        given = claims.get(name, ())
        words = given.split() if isinstance(given, str) else given
        if isinstance(words, list) and scope in words:
            return True
    return False
