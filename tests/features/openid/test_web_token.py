"""JWTs of an OpenID provider: what is accepted, what is not, and how often the provider is asked."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from joserfc.jwk import OctKey, RSAKey
from starlette.requests import HTTPConnection
from tests.adk.scripted import Scripted
from tests.features.openid.provider import AUDIENCE, Provider, providing
from tests.server.local_server import agent, local_server

from adk_prism.errors import NoIdentity, Unauthorized, UsageError
from adk_prism.features.openid import web_token
from adk_prism.features.openid.web_token import LEEWAY, ProviderKeys, Rules, WebTokens
from adk_prism.server.identity.caller import Principal
from adk_prism.server.settings import Settings

Json = dict[str, Any]
STRANGER = RSAKey.generate_key(2048, {"kid": "first"}, private=True)
SHARED = OctKey.import_key("a shared secret that is no public key", {"kid": "shared"})


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with providing() as found:
        yield found


@pytest.fixture(autouse=True)
def _fresh(provider: Provider) -> None:
    provider.is_up = True
    provider.asked.clear()


def tokens(provider: Provider, **more: Any) -> WebTokens:
    rules = Rules(issuer=provider.url, audiences=(AUDIENCE,), algorithms=("RS256", "ES256"), **more)
    return WebTokens(rules, ProviderKeys(provider.url))


def sent(token: str) -> HTTPConnection:
    headers = [(b"authorization", f"Bearer {token}".encode())]
    return HTTPConnection({"type": "http", "headers": headers})


async def test_a_good_token_names_its_user(provider: Provider) -> None:
    """With the time at which it ends, and without any rights that it does not say."""
    expires = int(time.time()) + 300
    said = await tokens(provider)(sent(provider.token(exp=expires)))
    assert said == Principal("ann", expires=expires + LEEWAY)


@pytest.mark.parametrize(
    "claims",
    [
        {"scope": "openid prism:admin"},
        {"scp": ["prism:admin"]},
        {"roles": ["x", "prism:admin"]},
    ],
    ids=str,
)
async def test_the_admin_scope_is_found_where_providers_put_it(
    provider: Provider, claims: Json
) -> None:
    """A word of a text, or an item of a list."""
    said = await tokens(provider)(sent(provider.token(**claims)))
    assert said is not None
    assert said.admin


@pytest.mark.parametrize("claims", [{"scope": "admin"}, {"roles": "xprism:admin"}, {"scope": 7}])
async def test_other_scopes_give_no_rights(provider: Provider, claims: Json) -> None:
    """A provider's own `admin` is not ours."""
    said = await tokens(provider)(sent(provider.token(**claims)))
    assert said is not None
    assert not said.admin


async def test_the_user_is_the_claim_that_was_chosen(provider: Provider) -> None:
    """Some providers' `sub` is a number that nobody knows."""
    named = tokens(provider, user_claim="email")
    said = await named(sent(provider.token(email="ann@example.com")))
    assert said is not None
    assert said.user == "ann@example.com"


@dataclass(frozen=True)
class Bad:
    """A token that is not accepted."""

    id: str
    claims: Json = field(default_factory=dict)
    header: Json = field(default_factory=dict)
    key: Any = None


BAD = [
    Bad("expired", {"exp": 1_000_000}),
    Bad("without an end", {"exp": None}),
    Bad("an end that is no number", {"exp": "tomorrow"}),
    Bad("not yet", {"nbf": 32_503_680_000}),
    Bad("another issuer", {"iss": "https://other.example"}),
    Bad("no issuer", {"iss": None}),
    Bad("another audience", {"aud": "other"}),
    Bad("other audiences", {"aud": ["other", "more"]}),
    Bad("no audience", {"aud": None}),
    Bad("no user", {"sub": None}),
    Bad("a user with a slash", {"sub": "../ann"}),
    Bad("a user that is no text", {"sub": 7}),
    Bad("a stranger's key", key=STRANGER),
    Bad("the shared secret", header={"alg": "HS256", "kid": "shared"}, key=SHARED),
    Bad("an algorithm that is not allowed", header={"alg": "RS512"}),
    Bad("a key that nobody has", header={"kid": "unknown"}),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.id)
async def test_a_bad_token_is_refused(provider: Provider, bad: Bad) -> None:
    """Each of the ways in which a token can be wrong, alone."""
    with pytest.raises(Unauthorized):
        await tokens(provider)(sent(provider.token(bad.header, bad.key, **bad.claims)))


async def test_a_token_without_a_signature_is_refused(provider: Provider) -> None:
    """`alg: none`, in each spelling, and a public key used as a secret."""
    _, payload, signature = provider.token().split(".")
    for algorithm in ("none", "None", "NONE", ""):
        header = base64.urlsafe_b64encode(json.dumps({"alg": algorithm}).encode()).decode()
        for end in ("", signature):
            with pytest.raises(Unauthorized):
                await tokens(provider)(sent(f"{header.rstrip('=')}.{payload}.{end}"))
    secret = next(iter(provider.keys.values())).as_pem(private=False)
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"first"}').decode().rstrip("=")
    mac = hmac.new(secret, f"{head}.{payload}".encode(), "sha256").digest()
    forged = base64.urlsafe_b64encode(mac).decode().rstrip("=")
    with pytest.raises(Unauthorized):
        await tokens(provider)(sent(f"{head}.{payload}.{forged}"))


@pytest.mark.parametrize(
    "text", ["..", "a.b.c", "ÿ.ÿ.ÿ", "e30.e30.", "e30.bm8.bm8", "." * 2 + "x" * 9000], ids=ascii
)
async def test_what_looks_like_a_token_is_refused(provider: Provider, text: str) -> None:
    """Anything with two dots."""
    headers = [(b"authorization", b"Bearer " + text.encode("latin-1"))]
    with pytest.raises(Unauthorized):
        await tokens(provider)(HTTPConnection({"type": "http", "headers": headers}))


async def test_a_token_that_is_no_jwt_is_somebody_elses(provider: Provider) -> None:
    """It may be in the tokens file."""
    assert await tokens(provider)(sent("plain")) is None
    assert await tokens(provider)(HTTPConnection({"type": "http", "headers": []})) is None


class Clock:
    """Time that a test tells."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_keys_are_fetched_once_and_again_when_they_rotate(provider: Provider) -> None:
    """An unknown key is looked for at most every so often, whoever asks for it."""
    clock = Clock()
    rules = Rules(issuer=provider.url, audiences=(AUDIENCE,), algorithms=("RS256",))
    known = WebTokens(rules, ProviderKeys(provider.url, clock=clock))
    for _ in range(5):
        assert await known(sent(provider.token()))
    assert provider.asked == ["/.well-known/openid-configuration", "/keys"]
    provider.asked.clear()
    provider.rotate("second")
    for _ in range(5):
        with pytest.raises(Unauthorized):
            await known(sent(provider.token()))
    assert provider.asked == []
    clock.now += web_token.SHORTEST
    assert await known(sent(provider.token()))
    for _ in range(5):
        with pytest.raises(Unauthorized):
            await known(sent(provider.token({"kid": "made up"})))
    assert provider.asked == ["/keys"]


async def test_known_keys_serve_while_the_provider_is_down(provider: Provider) -> None:
    """For a day; and without any, nobody is let in."""
    clock = Clock()
    rules = Rules(issuer=provider.url, audiences=(AUDIENCE,), algorithms=("RS256",))
    known = WebTokens(rules, ProviderKeys(provider.url, clock=clock))
    assert await known(sent(provider.token()))
    provider.is_up = False
    clock.now += web_token.STALE - 1
    assert await known(sent(provider.token()))
    clock.now += web_token.SHORTEST
    with pytest.raises(NoIdentity):
        await known(sent(provider.token()))
    unknown = WebTokens(rules, ProviderKeys(provider.url, clock=clock))
    with pytest.raises(NoIdentity):
        await unknown(sent(provider.token()))


async def test_another_issuers_document_is_not_believed(provider: Provider) -> None:
    """The discovery document has to say who it is of."""
    url = provider.url.replace("127.0.0.1", "localhost")
    rules = Rules(issuer=url, audiences=(AUDIENCE,), algorithms=("RS256",))
    with pytest.raises(NoIdentity):
        await WebTokens(rules, ProviderKeys(url))(sent(provider.token(iss=url)))


# --------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"oidc_issuer": "https://id.example"}, "--oidc-audience"),
        ({"oidc_audience": ("x",)}, "--oidc-issuer"),
        ({"oidc_issuer": "http://id.example", "oidc_audience": ("x",)}, "https"),
        ({"oidc_algorithm": ("HS256",)}, "HS256"),
        (
            {"oidc_issuer": "https://id.example", "oidc_audience": ("x",), "without": ("openid",)},
            "--without openid: options of this feature are set",
        ),
    ],
    ids=str,
)
def test_a_combination_that_would_let_people_in_is_refused(settings: Any, words: str) -> None:
    """In one line that says what to do."""
    with pytest.raises(UsageError, match=words):
        Settings(**settings)


async def test_a_server_asks_for_tokens_of_the_provider(provider: Provider) -> None:
    """Other machines may then call it; who has no token is refused."""
    given = {"oidc_issuer": provider.url, "oidc_audience": (AUDIENCE,), "host": "0.0.0.0"}
    assert Settings(**given).has_identity
    async with local_server(agent(Scripted()), **given) as server:
        assert (await server.client.get("/api/me")).status_code == 401
        header = {"authorization": f"Bearer {provider.token()}"}
        found = await server.client.get("/api/me", headers=header)
        assert found.json()["user"] == "ann"
