"""The other ways to be known: a file of tokens, a trusted proxy's header, a Python function."""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec import structs
from starlette.requests import HTTPConnection
from tests.adk.scripted import Scripted
from tests.server.local_server import APP, agent, local_server

from adk_prism.errors import NoIdentity, TooMany, Unauthorized, UsageError
from adk_prism.features.share.links import ShareLinks, file_of
from adk_prism.log.coordination import MOST_OF_ONE, LocalValues
from adk_prism.log.entry import RunId
from adk_prism.server.identity import Principal
from adk_prism.server.identity.methods import (
    LOOK_EVERY,
    Callback,
    ProxyHeader,
    Tickets,
    TokenFile,
    load,
    place_of,
    place_of_url,
)
from adk_prism.server.identity.methods import TICKET_LIFETIME as LIFETIME
from adk_prism.server.proxies import PEER_KEY, TrustedProxies
from adk_prism.server.settings import Settings

Headers = list[tuple[bytes, bytes]]


def call(*headers: tuple[str, str], **scope: Any) -> HTTPConnection:
    encoded = [(name.encode(), value.encode()) for name, value in headers]
    return HTTPConnection({"type": "http", "headers": encoded, **scope})


def bearer(token: str) -> HTTPConnection:
    return call(("authorization", f"Bearer {token}"))


# --------------------------------------------------------------------------- tokens


def write(folder: Path, document: object) -> Path:
    file = folder / "tokens.json"
    file.write_text(json.dumps(document))
    return file


def rights(found: Principal | None) -> Principal | None:
    """Return a caller without the name of the credential."""
    return structs.replace(found, credential="") if found is not None else None


async def test_a_token_is_its_users(tmp_path: Path) -> None:
    """As a text, or with scopes; by bearer, or as the password that a browser asks for."""
    document = {"one": "ann", "two": {"user": "op", "scopes": ["admin"]}}
    tokens = TokenFile(write(tmp_path, document))
    assert rights(await tokens(bearer("one"))) == Principal("ann")
    assert rights(await tokens(bearer("two"))) == Principal("op", admin=True)
    basic = base64.b64encode(b"whoever:one").decode()
    assert rights(await tokens(call(("authorization", f"Basic {basic}")))) == Principal("ann")
    assert await tokens(bearer("three")) is None
    assert await tokens(bearer("On")) is None
    assert await tokens(call()) is None
    assert await tokens(call(("authorization", "Digest one"))) is None


@pytest.mark.parametrize("value", ["Basic !!", "Basic /w==", "Bearer " + "x" * 20_000])
async def test_a_header_that_cannot_be_read_is_refused(value: str, tmp_path: Path) -> None:
    """And so are two of them."""
    tokens = TokenFile(write(tmp_path, {"one": "ann"}))
    with pytest.raises(Unauthorized):
        await tokens(call(("authorization", value)))
    with pytest.raises(Unauthorized):
        await tokens(call(("authorization", "Bearer one"), ("authorization", "Bearer one")))


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        {"": "ann"},
        {"a b": "ann"},
        {"t": ""},
        {"t": "../ann"},
        {"t": 7},
        {"t": {}},
        {"t": {"user": "ann", "scopes": ["root"]}},
        {"t": {"user": "ann", "admin": True}},
    ],
    ids=str,
)
def test_a_file_that_is_no_good_is_refused_at_the_start(document: Any, tmp_path: Path) -> None:
    """By the token's place, never by its text."""
    with pytest.raises(UsageError):
        TokenFile(write(tmp_path, document))


def test_a_file_that_may_not_be_read_names_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container that is another one than on the host."""
    file = write(tmp_path, {"x" * 32: "ann"})

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)  # root may read everything
    with pytest.raises(UsageError, match=f"Permission denied for user {os.getuid()}, as whom"):
        TokenFile(file)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 5000])
def test_a_file_that_is_no_json_is_refused(content: bytes, tmp_path: Path) -> None:
    """So is one that is not there."""
    file = tmp_path / "tokens.json"
    with pytest.raises(UsageError, match="cannot be read"):
        TokenFile(file)
    file.write_bytes(content)
    with pytest.raises(UsageError):
        TokenFile(file)


async def test_a_token_is_revoked_by_taking_it_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a second; and while the file is broken nobody is let in."""
    now = [100.0]
    monkeypatch.setattr("adk_prism.server.identity.methods.time.monotonic", lambda: now[0])
    file = write(tmp_path, {"one": "ann", "two": "bob"})
    tokens = TokenFile(file)
    file.write_text(json.dumps({"two": "bob"}))
    os.utime(file, ns=(1, 1))
    now[0] += LOOK_EVERY
    assert await tokens(bearer("one")) is None
    assert rights(await tokens(bearer("two"))) == Principal("bob")
    file.write_text("{")
    now[0] += LOOK_EVERY
    for _ in range(2):
        with pytest.raises(NoIdentity):
            await tokens(bearer("two"))


# --------------------------------------------------------------------------- proxies


def proxy(*trusted: str) -> ProxyHeader:
    return ProxyHeader("x-user", TrustedProxies(trusted))


async def test_a_header_is_believed_from_its_proxy_only() -> None:
    """By the address of the connection, whatever the request says of where it comes from."""
    trusted = proxy("10.0.0.0/8", "::1")
    named = ("x-user", "ann")
    assert await trusted(call(named, client=("10.1.2.3", 1))) == Principal("ann")
    assert await trusted(call(named, client=("::1", 1))) == Principal("ann")
    assert await trusted(call(named, client=("::ffff:10.1.2.3", 1))) == Principal("ann")
    assert await trusted(call(named, client=("192.0.2.1", 1))) is None
    assert await trusted(call(named, client=None)) is None
    assert await trusted(call(named, client=("testclient", 1))) is None
    rewritten = {"client": ("10.1.2.3", 1), PEER_KEY: ("192.0.2.1", 1)}
    assert await trusted(call(named, **rewritten)) is None
    behind = {"client": ("192.0.2.1", 1), PEER_KEY: ("10.1.2.3", 1)}
    assert await trusted(call(named, **behind)) == Principal("ann")


async def test_a_proxy_that_names_nobody_is_refused() -> None:
    """An empty name, two names, a name that is none."""
    trusted, peer = proxy("127.0.0.1"), ("127.0.0.1", 1)
    assert await trusted(call(client=peer)) is None
    for names in (["a/b"], [""], ["ann", "bob"]):
        with pytest.raises(Unauthorized):
            await trusted(call(*[("x-user", name) for name in names], client=peer))
    assert await trusted(call(("x-user", "Zoë"), client=peer)) == Principal("Zoë")


# --------------------------------------------------------------------------- functions


async def test_a_function_says_who_calls() -> None:
    """A principal, a name, or nobody; at once or later."""

    async def later(connection: HTTPConnection) -> Principal | None:
        name = connection.headers.get("x-name")
        return Principal(name, admin=True) if name else None

    assert await Callback(later)(call(("x-name", "ann"))) == Principal("ann", admin=True)
    assert await Callback(later)(call()) is None
    assert await Callback(lambda _: "ann")(call()) == Principal("ann")
    with pytest.raises(TypeError):
        await Callback(lambda _: True)(call())  # type: ignore[arg-type,return-value]
    with pytest.raises(UsageError):
        await Callback(lambda _: "a/b")(call())


def test_a_function_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the working directory; what is not there is said in one line."""
    (tmp_path / "own_door.py").write_text("def who(_): return 'ann'\nword = 'no function'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert load("own_door:who")(call()) == "ann"
    for name in ("own_door:none", "own_door", "no_such_door:who", "own_door:word", ":", ""):
        with pytest.raises(UsageError):
            load(name)


async def test_a_failing_function_lets_nobody_in() -> None:
    """The caller gets a 500 without the reason; the operator gets the reason."""

    def broken(_: HTTPConnection) -> None:
        raise RuntimeError("the canary of the database")

    async with local_server(agent(Scripted()), authenticate=broken) as server:
        answer = await server.client.get("/list-apps")
        assert answer.status_code == 500
        assert "canary" not in answer.text
        assert "canary" in server.reports[-1].cause


async def test_a_host_program_tells_who_calls() -> None:
    """`Prism(authenticate=…)`; `--admin` holds whatever the way."""

    def who(connection: HTTPConnection) -> str | None:
        return connection.cookies.get("user")

    async with local_server(agent(Scripted()), authenticate=who, admin=("op",)) as server:
        path = f"/apps/{APP}/users/ann/sessions"
        seen = {
            user: (await server.client.get(path, headers={"cookie": f"user={user}"})).status_code
            for user in ("ann", "bob", "op")
        }
        assert seen == {"ann": 200, "bob": 404, "op": 200}
        refused = await server.client.get(path, headers={"sec-fetch-mode": "navigate"})
        # No token would help: neither the text nor the browser asks for one.
        assert (refused.status_code, "You are not signed in" in refused.text) == (401, True)
        assert not refused.headers["www-authenticate"].startswith("Basic")


async def test_a_browser_that_opens_anything_but_the_page_asks_for_a_token(tmp_path: Path) -> None:
    """The page asks itself; any other address gets HTTP's basic challenge, a program's call the bearer's."""
    tokens = str(write(tmp_path, {"one": "ann"}))
    by_hand = {"sec-fetch-mode": "navigate"}
    async with local_server(agent(Scripted()), tokens=tokens) as server:
        assert (await server.client.get("/", headers=by_hand)).status_code == 200
        opened = await server.client.get("/docs", headers=by_hand)
        assert opened.status_code == 401
        assert opened.headers["www-authenticate"].startswith("Basic")
        answered = await server.client.get("/docs", auth=httpx.BasicAuth("ann", "one"))
        assert answered.status_code == 200


async def test_a_page_that_was_not_built_names_no_app_to_strangers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plain page lists the apps for those who are known."""
    monkeypatch.setattr("adk_prism.features.page.web_page.built", lambda: False)
    tokens = str(write(tmp_path, {"one": "ann"}))
    async with local_server(agent(Scripted()), tokens=tokens) as server:
        listed = f"<li><code>{APP}</code></li>"
        assert listed not in (await server.client.get("/")).text
        assert listed in (await server.client.get("/", auth=httpx.BasicAuth("", "one"))).text


async def test_a_caller_is_told_who_it_is(tmp_path: Path) -> None:
    """By name where callers are known; nobody is anybody where they are not."""
    tokens = str(write(tmp_path, {"one": "ann", "two": {"user": "op", "scopes": ["admin"]}}))
    async with local_server(agent(Scripted()), tokens=tokens) as server:
        for token, expected in (("one", ("ann", False)), ("two", ("op", True))):
            told = await server.client.get("/api/me", headers={"authorization": f"Bearer {token}"})
            assert (told.json()["user"], told.json()["admin"]) == expected
        assert (await server.client.get("/api/me")).status_code == 401
    async with local_server(agent(Scripted())) as server:
        shown = (await server.client.get("/api/me")).json()
        assert (shown["user"], shown["admin"]) == (None, False)
        assert "search" in shown["features"]


# --------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"host": "0.0.0.0"}, "--tokens"),
        ({"trusted_proxy": ("everybody",)}, "everybody"),
    ],
    ids=str,
)
def test_a_combination_that_would_let_people_in_is_refused(settings: Any, words: str) -> None:
    """In one line that says what to do."""
    with pytest.raises(UsageError, match=words):
        Settings(**settings)


def test_other_machines_may_call_where_callers_are_known() -> None:
    """Any of the ways is enough; none is needed on loopback."""
    assert not Settings().has_identity
    for way in ({"tokens": "f"}, {"authenticate": "m:f"}, {"proxy_user_header": "x-user"}):
        assert Settings(host="0.0.0.0", **way).has_identity


# --------------------------------------------------------------------------- tickets and links


async def test_a_ticket_ends_after_its_time() -> None:
    """At thirty seconds it is none; and a caller cannot hoard them."""
    now = [0.0]
    tickets, ann = Tickets(LocalValues(lambda: now[0])), Principal("ann")
    place = place_of("/a", "")
    late, in_time = await tickets.issue(ann, place), await tickets.issue(ann, place)
    now[0] = LIFETIME - 1
    assert await tickets.redeem(in_time, place) == ann
    now[0] = LIFETIME
    assert await tickets.redeem(late, place) is None
    held = [await tickets.issue(ann, place) for _ in range(MOST_OF_ONE)]
    assert len(set(held)) == MOST_OF_ONE
    with pytest.raises(TooMany):
        await tickets.issue(ann, place)
    assert await tickets.issue(Principal("bob"), place)


def test_a_tickets_url_is_the_same_however_it_is_written() -> None:
    """Order and escapes of the query do not matter; the server's prefix is left out."""
    assert place_of_url("/p/a?x=1&y=%C3%A9", "/p") == place_of("/a", "y=é&x=1")
    assert place_of_url("/a", "") != place_of("/a", "x=1")
    for url in ("a", "//host/a", "http://host/a", "", "/" + "x" * 5000):
        with pytest.raises(UsageError):
            place_of_url(url, "")


async def test_links_outlive_the_server_and_end_in_time(tmp_path: Path) -> None:
    """Kept beside the run log, as digests."""
    now = [1000.0]
    file = file_of(f"sqlite:////{tmp_path}/runs.db", tmp_path)
    assert file is not None
    links = ShareLinks(file, lambda: now[0])
    async with links.closing():
        assert await links.guest("none", RunId("run-1")) is None
        assert not file.exists()
        link, token = await links.create("run-1", "ann", 60)
    assert token.encode() not in file.read_bytes()
    again = ShareLinks(file, lambda: now[0])
    async with again.closing():
        guest = await again.guest(token, RunId("run-1"))
        assert guest is not None
        assert guest.run == "run-1"
        assert await again.of_run("run-1") == [link]
        assert await again.of_run("run-2") == []
        now[0] += 60
        assert await again.guest(token, RunId("run-1")) is None
        assert await again.of_run("run-1") == []


def test_links_of_a_log_in_memory_are_in_memory(tmp_path: Path) -> None:
    """Nothing is left behind."""
    assert file_of("memory:", tmp_path) is None
    assert file_of("redis://host", tmp_path) == tmp_path / "links.db"
    assert (
        file_of("sqlite:///a/runs.db?synchronous=full", tmp_path)
        == Path("a/runs-links.db").absolute()
    )
