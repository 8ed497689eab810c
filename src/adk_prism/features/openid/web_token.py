"""JSON Web Tokens of an OpenID provider (RFC 7519, 8725): signature, issuer, audience, time, user.

Algorithms come from the operator's list, never from the token, and none is symmetric: a public key must
not pass for a shared secret. Expiry is required. The error names the claim that was not accepted, not its
value.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx
import msgspec
from joserfc import jws, jwt
from joserfc.errors import ClaimError, ExpiredTokenError, JoseError
from joserfc.jwk import KeySet
from msgspec import Struct
from starlette.requests import HTTPConnection

from adk_prism.errors import NoIdentity, PrismError, Unauthorized
from adk_prism.server.identity.caller import Principal
from adk_prism.server.identity.methods import bearer
from adk_prism.server.request_bodies import check_user

# ---------------------------------------------------------------------- keys of the issuer
#
# The public keys of an OpenID provider, fetched when they are needed, and cached.
#
# They are fetched again when they are old, or when a token names an unknown key (keys rotate), but at most
# every `SHORTEST` seconds: invalid tokens must not cause many requests to the provider. While the provider
# is down, the cached keys are used for a while. Only public keys are kept.

FRESH = 600.0
"""Seconds for which keys are cached: how long a revoked key is still accepted."""
SHORTEST = 30.0
"""Seconds between two fetches, at least."""
STALE = 24 * 3600.0
"""Seconds for which cached keys are used while the provider does not answer."""
PATIENCE = 5.0
LARGEST = 1024 * 1024
"""Bytes of a document of the provider; a set of keys has a few thousand."""

_ASYMMETRIC = ("RSA", "EC", "OKP")


class ProviderKeys:
    """The key set of one issuer."""

    def __init__(
        self, issuer: str, url: str = "", *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`url` of the keys; default: the one in the issuer's discovery document."""
        self._issuer = issuer
        self._url = url
        self._clock = clock
        self._turn = asyncio.Lock()
        self._keys: KeySet | None = None
        self._fetched = self._tried = float("-inf")

    async def get(self, kid: str | None) -> KeySet:
        """Return the keys, with `kid` if the provider has it. Raise `NoIdentity` if there are none."""
        if not self._wants(kid, self._clock()):
            return self._known()
        async with self._turn:
            now = self._clock()
            if self._wants(kid, now):
                self._tried = now
                await self._refresh(now)
        return self._known()

    def _wants(self, kid: str | None, now: float) -> bool:
        if now - self._tried < SHORTEST:
            return False
        if self._keys is None or now - self._fetched >= FRESH:
            return True
        return kid is not None and all(key.kid != kid for key in self._keys)

    def _known(self) -> KeySet:
        if self._keys is None or self._clock() - self._fetched > STALE:
            raise NoIdentity(
                "The keys of the identity provider cannot be loaded; try again shortly."
            )
        return self._keys

    async def _refresh(self, now: float) -> None:
        try:
            self._keys, self._fetched = await self._fetch(), now
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, TypeError, JoseError) as error:
            if self._keys is None or now - self._fetched > STALE:
                raise NoIdentity(
                    "The keys of the identity provider cannot be loaded; try again shortly."
                ) from error

    async def _fetch(self) -> KeySet:
        async with httpx.AsyncClient(timeout=PATIENCE, follow_redirects=False) as client:
            if not self._url:
                base = self._issuer.rstrip("/")
                found = await _get(client, f"{base}/.well-known/openid-configuration")
                if found.get("issuer") != self._issuer:
                    raise ValueError("the discovery document is of another issuer")
                self._url = str(found["jwks_uri"])
            document = await _get(client, self._url)
        keys = [key for key in document.get("keys", ()) if key.get("kty") in _ASYMMETRIC]
        public = [{name: key[name] for name in key if name not in _PRIVATE} for key in keys]
        return KeySet.import_key_set({"keys": public})


_PRIVATE = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})


async def _get(client: httpx.AsyncClient, url: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE), client.stream("GET", url) as answer:
        if answer.status_code != httpx.codes.OK:
            raise ValueError(f"the provider returned status {answer.status_code}")
        body = b""
        async for piece in answer.aiter_bytes():
            body += piece
            if len(body) > LARGEST:
                raise ValueError("the provider's document is too large")
    found = msgspec.json.decode(body)
    if not isinstance(found, dict):
        raise ValueError("the provider's document is not a JSON object")
    return found


# ---------------------------------------------------------------------- tokens

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
