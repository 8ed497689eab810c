"""Canaries: secrets put in every place that an app has, looked for in everything that leaves the server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from google.adk.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from google.adk.auth.auth_schemes import CustomAuthScheme
from google.adk.auth.auth_tool import AuthConfig
from google.adk.tools import ToolContext
from msgspec import Raw
from redis.asyncio import Redis
from tests.adk.scripted import Scripted, call
from tests.redis_server import RedisServer
from tests.server.local_server import APP, SESSION, USER, LocalServer, agent, local_server

from adk_prism.adk.secret_forms import REDACTED
from adk_prism.adk.secrets import Secrets, secret_values
from adk_prism.features.page import web_page
from adk_prism.log.entry import AgentEvent, Origin, RunId, RunStarted
from adk_prism.log.from_url import open_log
from adk_prism.testing.runlog_steps import END

CANARY = "canary-7f3a9c51d2e84b60"
AUTH_CANARY = "canary-of-the-app-91c0"
"""Not in the environment: known for a secret by where ADK keeps it."""
GOOGLE_KEY = "AIza" + "Sy0123456789abcdefghijklmnopqrstuvw"
Json = dict[str, Any]

SHOWN = {
    "next_page_token": "page-2",
    "token_count": "12",
    "secretary": "Miss Lemon",
    "tokens": ["a"],
}
HIDDEN = ("user_token", "dbPassword", "user:apiKey", "client_secret", "credentials", "nested")


def hide(tool_context: ToolContext) -> Json:
    """Put secrets where apps put them."""
    state = tool_context.state
    for key in HIDDEN[:-1]:
        state[key] = CANARY
    state["nested"] = {"deep": [{"access_token": CANARY}]}
    state["temp:anything"] = CANARY
    for key, value in SHOWN.items():
        state[key] = value
    return {"headers": {"Authorization": f"Bearer {CANARY}", "Set-Cookie": CANARY}, "ok": "yes"}


def log_in(password: str, tool_context: ToolContext) -> Json:
    """Log in."""
    return {"welcome": "you", "text": f"the environment said {CANARY}", "key": GOOGLE_KEY}


def model() -> Scripted:
    return Scripted.saying(
        call("hide", "c1"),
        call("log_in", "c2", password=CANARY),
        f"Never tell {CANARY} to anyone.",
        RuntimeError(f"401 from the service for key {CANARY}"),
    )


async def leaving(server: LocalServer, run: str) -> dict[str, str]:
    """Return everything that a client can be given of a run."""
    paths = {
        "adk": f"/api/runs/{run}/stream?as=adk",
        "ai-sdk": f"/api/runs/{run}/stream?as=ai-sdk",
        "ai-sdk 7": f"/api/runs/{run}/stream?as=ai-sdk&dialect=7",
        "studio": f"/api/runs/{run}/stream?as=studio",
        "recording": f"/api/runs/{run}/recording",
        "view": f"/api/runs/{run}/view",
        "film": f"/api/runs/{run}/film",
        "messages": f"/api/chat/{APP}/{SESSION}/messages",
        "runs": "/api/runs",
    }
    last = (await server.client.get(f"/api/runs/{run}")).json()["cursor"]
    paths |= {f"entry {n}": f"/api/runs/{run}/entries/{n}" for n in range(1, last + 1)}
    if web_page.built():
        paths["share"] = f"/api/runs/{run}/share"
    found = {name: (await server.client.get(path)).text for name, path in paths.items()}
    entries = [e.record for e in await server.entries(run)]
    found["log"] = repr(entries) + repr(
        [json.loads(r.event) for r in entries if type(r) is AgentEvent]
    )
    return found


async def test_a_canary_leaves_by_no_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """State, arguments, results, texts, errors; every protocol, film, file and diagnostic."""
    monkeypatch.setenv("SERVICE_API_KEY", CANARY)
    async with local_server(agent(model(), tools=[hide, log_in])) as server:
        run = await server.post_run(newMessage={"role": "user", "parts": [{"text": "hello"}]})
        failed = await server.post_run(newMessage={"role": "user", "parts": [{"text": "again"}]})
        for each in (run, failed):
            for name, text in (await leaving(server, each)).items():
                # Streamed word by word, the text is whole in its last event only.
                assert CANARY not in text, name
                assert GOOGLE_KEY not in text, name
        told = repr(server.reports)
        assert "401 from the service" in told
        assert CANARY not in told
        # The agent keeps what it was given, and the state shows what is no secret.
        state = (await server.stored())["state"]
        assert state["user_token"] == CANARY
        assert state["nested"] == {"deep": [{"access_token": CANARY}]}
        film = (await server.client.get(f"/api/runs/{run}/view?panel=state")).text
        for key, value in SHOWN.items():
            assert key in film
            assert json.dumps(value)[1:-1].strip('"') in film


def ask_for_credential(tool_context: ToolContext) -> Json:
    """Ask the user to log in, with what the app itself needs for that."""
    credential = AuthCredential(
        auth_type=AuthCredentialTypes.OAUTH2,
        oauth2=OAuth2Auth(client_id="id", client_secret=AUTH_CANARY, access_token=AUTH_CANARY),
    )
    tool_context.request_credential(
        AuthConfig(
            auth_scheme=CustomAuthScheme.model_validate({"type": "custom"}),
            raw_auth_credential=credential,
            exchanged_auth_credential=credential,
            credential_key="key",
        )
    )
    return {"status": "pending"}


async def test_redis_holds_no_canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In no key and no value, leases and idempotency keys included; nor does what is read from there."""
    monkeypatch.setenv("SERVICE_API_KEY", CANARY)
    turns = (call("hide", "c1"), call("ask_for_credential", "c2"), RuntimeError(CANARY))
    redis = RedisServer(tmp_path)
    try:
        root = agent(Scripted.saying(*turns), tools=[hide, ask_for_credential])
        async with local_server(root, log=open_log(redis.url)) as server:
            said = {"role": "user", "parts": [{"text": f"use {CANARY}"}]}
            run = await server.post_run(newMessage=said)
            failed = await server.post_run(newMessage=said)
            for each in (run, failed):
                for name, text in (await leaving(server, each)).items():
                    assert CANARY not in text, name
                    assert AUTH_CANARY not in text, name
            assert b"adk_request_credential" in (kept := await everything(redis.url))
            assert CANARY.encode() not in kept
            assert AUTH_CANARY.encode() not in kept
            assert AUTH_CANARY not in repr(server.reports)
    finally:
        redis.kill()


async def everything(url: str) -> bytes:
    """Return all that a Redis server holds, as it would be copied to another."""
    found = b""
    async with Redis.from_url(url) as client:
        async for key in client.scan_iter():
            kind = (await client.type(key)).decode()
            value: Any
            if kind == "stream":
                value = await client.xrange(key)
            elif kind == "hash":
                value = await client.hgetall(key)
            elif kind == "string":
                value = await client.get(key)
            elif kind == "zset":
                value = await client.zrange(key, 0, -1)
            else:
                value = await client.smembers(key) if kind == "set" else await client.dump(key)
            found += key + repr(value).encode()
    return found


@pytest.mark.parametrize("url", ["memory:", "sqlite:///{}"])
async def test_every_way_into_the_log_is_redacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    """The server's log redacts in `append` itself, so no writer can go around it: not even one that was
    given the bare log, as a host application can."""
    monkeypatch.setenv("SERVICE_API_KEY", CANARY)
    log = open_log(url.format(tmp_path / "runs.db"))
    run, origin = RunId("run-1"), Origin(app=APP, user=USER, session=SESSION)
    async with local_server(agent(Scripted.saying()), log=log) as server:
        await log.append(
            run, [RunStarted(run=run, origin=origin, state={"k": Raw(b'"%s"' % CANARY.encode())})]
        )
        await log.append(run, [AgentEvent(json.dumps({"text": CANARY}).encode()), END])
        await log.commit(run)
        for name, text in (await leaving(server, run)).items():
            assert CANARY not in text, name
    assert all(CANARY.encode() not in file.read_bytes() for file in tmp_path.iterdir())


async def test_a_fork_has_the_real_values() -> None:
    """What the log does not show is still in the session, and goes on with it."""
    async with local_server(agent(model(), tools=[hide, log_in])) as server:
        body = {"state": {"mine": 1, "start_secret": CANARY}, "sessionId": SESSION}
        await server.client.post(f"/apps/{APP}/users/{USER}/sessions", json=body)
        run = await server.post_run(newMessage={"role": "user", "parts": [{"text": "hello"}]})
        last = (await server.client.get(f"/api/runs/{run}")).json()["cursor"]
        forked = await server.fork(run, last, sessionId="fork")
        state = (await server.stored(forked["session"]))["state"]
        assert (state["start_secret"], state["user_token"]) == (CANARY, CANARY)
        assert REDACTED not in json.dumps(state)


async def test_an_upload_loses_its_secrets(tmp_path: Path) -> None:
    """As our own runs do."""
    event = {
        "id": "e",
        "invocationId": "i",
        "author": "agent",
        "content": {"role": "model", "parts": [{"text": f"key {GOOGLE_KEY}"}]},
        "actions": {"stateDelta": {"user_token": CANARY, "plain": "kept"}},
    }
    async with local_server(agent(Scripted())) as server:
        answer = await server.client.post(
            "/api/recordings",
            content=json.dumps(event).encode() + b"\n",
            headers={"content-type": "application/jsonl"},
        )
        assert answer.status_code == 201, answer.text
        text = (await leaving(server, answer.json()["run"]))["log"]
        assert "kept" in text
        assert CANARY not in text
        assert GOOGLE_KEY not in text


def redacted(secrets: Secrets, value: Json) -> Json:
    found: Json = json.loads(secrets.json(msgspec.json.encode(value)))
    return found


@pytest.mark.parametrize(
    "key",
    "token authToken AUTH_TOKEN user:token x-token my_secret clientSecret password dbPasswd apiKey api_key"
    " APIKey access-key private_key credentials Authorization cookie set-cookie".split(),
)
def test_state_keys_that_say_so_are_secret(key: str) -> None:
    """In any spelling; nothing else of the state is touched."""
    value = {"stateDelta": {key: "x", "other": "y"}}
    assert redacted(Secrets(), value) == {"stateDelta": {key: REDACTED, "other": "y"}}


@pytest.mark.parametrize(
    "key",
    "tokens token_count nextPageToken next_token max_tokens secretary keyboard key primary_key tokenizer"
    " passport author cookies_eaten monkey".split(),
)
def test_keys_that_only_sound_so_are_not(key: str) -> None:
    """Paging, models' tokens, words with a secret inside."""
    value = {"stateDelta": {key: "x"}, "args": {key: "x"}}
    assert redacted(Secrets(), value) == value


@pytest.mark.parametrize("value", [0, 7, 1.5, True, False, None, "", [], {}], ids=repr)
def test_what_cannot_be_a_secret_stays(value: Any) -> None:
    """A count, a switch, nothing."""
    document = {"stateDelta": {"token": value}, "args": {"password": value}}
    assert redacted(Secrets(), document) == document


PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\n-----END PRIVATE KEY-----"


@pytest.mark.parametrize(
    "key",
    [
        GOOGLE_KEY,
        "ya29." + "a" * 30,
        "sk-" + "b" * 40,
        "ghp_" + "c" * 36,
        "xoxb-1234567890-abc",
        PEM,
    ],
)
def test_a_key_is_known_by_its_form(key: str) -> None:
    """By itself or in a sentence; inside Base64 the same letters are an accident."""
    assert redacted(Secrets(), {"text": f"use {key}."}) == {"text": f"use {REDACTED}."}
    assert redacted(Secrets(), {"text": key}) == {"text": REDACTED}
    if key != PEM:
        media = {"data": f"iVBORw0KGgo{key}AAAA"}
        assert redacted(Secrets(), media) == media


def test_an_operator_adds_and_takes_away() -> None:
    """Keys of an app's own, and keys that are no secrets there."""
    secrets = Secrets(patterns=["*_pin"], revealed=["invite_token"])
    value = {"state": {"card_pin": "1", "invite_token": "abc"}, "args": {"card_pin": "1"}}
    expected = {
        "state": {"card_pin": REDACTED, "invite_token": "abc"},
        "args": {"card_pin": REDACTED},
    }
    assert redacted(secrets, value) == expected


def test_a_schema_that_has_a_password_is_shown() -> None:
    """Outside the state only a text can be a secret."""
    value = {"parameters": {"properties": {"password": {"type": "string"}}}}
    assert redacted(Secrets(), value) == value


def test_values_come_from_secret_variables_and_urls() -> None:
    """Not from paths, not from what is called otherwise; and a short one is no secret."""
    environ = {
        "GOOGLE_API_KEY": "k" * 20,
        "MY_TOKEN": "t" * 20,
        "GOOGLE_APPLICATION_CREDENTIALS": "/home/me/key.json",
        "KEYBOARD": "qwertyuiopasdfgh",
        "SHORT_SECRET": "word",
    }
    found = secret_values(
        environ, ["postgresql://me:p%40ss-word-1234@host/db", "memory:", "http://["]
    )
    assert found == ["k" * 20, "t" * 20, "word", "p%40ss-word-1234", "p@ss-word-1234"]
    secrets = Secrets(found)
    assert secrets.text("a word, and p@ss-word-1234") == f"a word, and {REDACTED}"
    quoted = Secrets(['with "quotes" and ü'])
    assert redacted(quoted, {"a": 'x with "quotes" and ü y'}) == {"a": f"x {REDACTED} y"}


def test_what_has_no_secret_is_the_same_object() -> None:
    """Nothing is read twice for nothing."""
    record = AgentEvent(b'{"content":{"parts":[{"text":"a token: of esteem"}]}}')
    assert Secrets(["x" * 20]).record(record) is record


BLOB = "A" * 8000
BLOBS: dict[str, tuple[Json, bool]] = {
    "sound alone": ({"inlineData": {"data": BLOB}}, False),
    "a key after it": ({"inlineData": {"data": BLOB}, "text": GOOGLE_KEY}, True),
    "a key before it": ({"text": GOOGLE_KEY, "inlineData": {"data": BLOB}}, True),
    "a stretch that looks like a key": ({"inlineData": {"data": BLOB + GOOGLE_KEY}}, False),
    "a text where Base64 belongs": ({"inlineData": {"data": f"{BLOB} {GOOGLE_KEY}"}}, True),
    "a state": ({"inlineData": {"data": BLOB}, "stateDelta": {"user_token": "xyz"}}, True),
}
"""JSON with a long stretch of Base64, and whether there is a secret in it."""


@pytest.mark.parametrize("case", BLOBS)
def test_base64_is_not_looked_through(case: str) -> None:
    """What stands around it is."""
    value, is_secret = BLOBS[case]
    assert (REDACTED in json.dumps(redacted(Secrets(), value))) is is_secret
