"""Credentials: the tokens file, JWTs, headers, share links and tickets."""

from __future__ import annotations

import asyncio
import base64
import json
import tempfile
from pathlib import Path
from typing import Any

from joserfc.jwk import KeySet, RSAKey
from starlette.requests import HTTPConnection
from tests.fuzz.target import Target, as_text, split

from adk_prism.errors import NoIdentity, Unauthorized, UsageError
from adk_prism.features.openid.web_token import Rules, WebTokens
from adk_prism.features.share.links import ShareLinks
from adk_prism.log.coordination import LocalValues
from adk_prism.server.identity.caller import Principal
from adk_prism.server.identity.methods import Tickets, TokenFile, bearer


class _Identity:
    """The readers of credentials, made once."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        key = RSAKey.generate_key(2048, {"kid": "k"})
        keys = KeySet([key])

        class Known:
            async def get(self, _: str | None) -> KeySet:
                return keys

        rules = Rules(issuer="https://i", audiences=["a"], algorithms=["RS256", "ES256"])
        self.tokens = WebTokens(rules, Known())  # type: ignore[arg-type] # keys without a provider
        self.links = ShareLinks(None)
        self.tickets = Tickets(LocalValues())
        self.ticket = asyncio.run(self.tickets.issue(Principal("ann"), ("/x", ())))


_identity: list[_Identity] = []


def _read_credential(data: bytes) -> None:
    which, rest = split(data, 4)
    if not _identity:
        _identity.append(_Identity())
    known = _identity[0]
    header = [(b"authorization", rest)]
    connection = HTTPConnection({"type": "http", "headers": header})
    if which == 0:
        file = known.folder / "tokens.json"
        file.write_bytes(rest)
        TokenFile(file)
    elif which == 1:
        asyncio.run(known.tokens(connection))
    elif which == 2:
        bearer(connection)
    else:
        assert asyncio.run(known.tickets.redeem(as_text(rest), ("/x", ()))) is None
        known.links._is_unused()
        known.links._find(as_text(rest))


def _credential_seeds() -> list[bytes]:
    def part(value: Any) -> bytes:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")

    head, claims = {"alg": "RS256", "kid": "k"}, {"iss": "https://i", "aud": "a", "exp": 9e9}
    tokens = [
        b".".join((part(head | {"alg": alg}), part(claims), b"AAAA"))
        for alg in ("RS256", "none", "HS256", "ES256")
    ]
    files: list[Any] = [{"t": "ann"}, {"t": {"user": "ann", "scopes": ["admin"]}}]
    return [
        *(b"\0" + json.dumps(file).encode() for file in files),
        *(b"\1Bearer " + token for token in tokens),
        b"\2Basic " + base64.b64encode(b"me:token"),
        b"\3" + b"A" * 43,
    ]


TARGET = Target(_read_credential, (UsageError, Unauthorized, NoIdentity), _credential_seeds)
