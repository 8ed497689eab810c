"""Doors: names that were rebound, tokens that are guessed or readable, texts that a terminal would obey."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import httpx
import pytest
from google.adk.runners import InMemoryRunner
from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send
from tests.adk.scripted import Scripted
from tests.security.people import ANN, headers, token_file
from tests.server.local_server import agent, local_server

from adk_prism import Principal, Prism
from adk_prism.cli import main
from adk_prism.errors import TooMany, UsageError
from adk_prism.log.entry import AgentEvent, Origin, RunEnded, RunId, RunStarted
from adk_prism.log.sqlite.store import SqliteLog
from adk_prism.server.host_and_origin import Guard
from adk_prism.server.identity import methods as tokens
from adk_prism.server.identity.methods import (
    FREE,
    LONGEST_DELAY,
    MOST_ADDRESSES,
    TokenFile,
    WrongTokens,
)
from adk_prism.server.proxies import _own_names
from adk_prism.server.settings import Settings

# ------------------------------------------------------------------------------ names


async def _status(settings: Settings, host: str) -> int:
    """Return how a request that came in at a public address is answered."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def at_public_address(scope: Scope, receive: Receive, send: Send) -> None:
        await Guard(app, settings)({**scope, "server": ("192.0.2.7", 8000)}, receive, send)

    transport = httpx.ASGITransport(at_public_address)
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        return (await client.get("/", headers={"host": host})).status_code


OPEN = Settings(host="0.0.0.0", insecure=True)
HOSTS = {
    "192.0.2.7:8000": 200,
    "[2001:db8::7]:8000": 200,
    "localhost": 200,
    "nas": 200,
    "nas.local": 200,
    "prism.internal": 200,
    "evil.example": 403,
    "192.0.2.7.evil.example": 403,
    "local.evil.example:8000": 403,
    "agents.example.com": 403,
}


@pytest.mark.parametrize("host", HOSTS)
async def test_a_server_that_is_open_to_all_answers_to_no_rebound_name(host: str) -> None:
    """A page can be rebound only to a name that its author owns: no address, no private name."""
    assert await _status(OPEN, host) == HOSTS[host]
    assert await _status(OPEN, next(iter(_own_names()))) == 200


async def test_an_embedded_server_answers_to_no_rebound_name(tmp_path: Path) -> None:
    """It does not know where its host program listens; a function that authenticates is one all the same."""

    async def who(connection: HTTPConnection) -> Principal | None:
        return Principal("ann") if "x-user" in connection.headers else None

    for authenticate, status in ((None, 403), (who, 200)):
        settings = Settings(log="memory:", data_dir=str(tmp_path))
        runner = InMemoryRunner(agent(Scripted()), app_name="shop")
        prism = Prism({"shop": runner}, settings, authenticate=authenticate)

        async def at_public_address(
            scope: Scope, receive: Receive, send: Send, prism: Prism = prism
        ) -> None:
            await prism.asgi()({**scope, "server": ("192.0.2.7", 8000)}, receive, send)

        transport = httpx.ASGITransport(at_public_address)
        async with (
            prism.lifespan(None),
            httpx.AsyncClient(transport=transport, base_url="http://192.0.2.7:8000") as client,
        ):
            known = {"x-user": "ann"}
            assert (await client.get("/list-apps", headers=known)).status_code == 200
            rebound = await client.get("/list-apps", headers={**known, "host": "evil.example"})
            assert rebound.status_code == status
            assert "Settings(allow_host=" in rebound.text or status == 200


async def test_other_names_are_for_the_operator_to_allow() -> None:
    """One name, or the public address; with identity a rebound page has no credential."""
    for settings in (
        Settings(host="0.0.0.0", insecure=True, allow_host=("agents.example.com",)),
        Settings(host="0.0.0.0", insecure=True, public_url="https://agents.example.com"),
        Settings(host="0.0.0.0", proxy_user_header="x-user"),
    ):
        assert await _status(settings, "agents.example.com") == 200


# ------------------------------------------------------------------------------ tokens


@pytest.mark.parametrize("token", ["x", "12"])
def test_a_token_that_can_be_guessed_is_refused(token: str, tmp_path: Path) -> None:
    """The message names its place, not the token."""
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({"a-long-random-token": "ann", token: "bob"}))
    with pytest.raises(UsageError, match=r"Token 2 .* fewer than 3 characters") as refused:
        TokenFile(file)
    assert f" {token} " not in refused.value.detail


async def test_short_tokens_are_told(tmp_path: Path) -> None:
    """How many, not which."""
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({"a-long-random-token": "ann", "hunter2": "bob"}))
    async with local_server(agent(Scripted()), tokens=str(file)) as server:
        (told,) = [each.detail for each in server.reports if each.kind == "short tokens"]
    assert told.startswith("1 tokens in ")
    assert "hunter2" not in told


@pytest.mark.parametrize(
    ("mode", "is_told"), [(0o644, True), (0o604, True), (0o640, False), (0o600, False)]
)
async def test_a_file_of_tokens_that_others_can_read_is_told(
    mode: int, is_told: bool, tmp_path: Path
) -> None:
    """A group may be meant; everybody is not."""
    file = token_file(tmp_path)
    os.chmod(file, mode)
    async with local_server(agent(Scripted()), tokens=file) as server:
        assert any(each.kind == "tokens readable by others" for each in server.reports) is is_told


async def test_wrong_tokens_are_slowed_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is answered later than the one before; the right one at once, of the same address."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async with local_server(agent(Scripted()), tokens=token_file(tmp_path)) as server:
        monkeypatch.setattr(tokens, "sleep", sleep)
        for number in range(FREE + 8):
            wrong = {"authorization": f"Bearer wrong-{number}"}
            assert (await server.client.get("/api/me", headers=wrong)).status_code == 401
        assert slept == [0.1, 0.2, 0.4, 0.8, *[LONGEST_DELAY] * 4]
        assert (await server.client.get("/api/me", headers=headers(ANN))).status_code == 200
        assert (await server.client.get("/api/me")).status_code == 401, "no token is no guess"
        assert len(slept) == 8


async def test_few_wait_for_being_wrong() -> None:
    """Who sends many at once is refused; addresses are forgotten, and never more than a number kept."""
    now = [0.0]
    wrong = WrongTokens(clock=lambda: now[0])
    for _ in range(FREE):
        await wrong.delay("192.0.2.1")
    waiting = [asyncio.create_task(wrong.delay("192.0.2.1")) for _ in range(tokens.MOST_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(TooMany):
        await wrong.delay("192.0.2.1")
    assert wrong.note("192.0.2.2") == 0, "another address"
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    now[0] += tokens.FORGET + 1
    assert wrong.note("192.0.2.1") == 0
    for number in range(2 * MOST_ADDRESSES):
        wrong.note(str(number))
    assert len(wrong) == MOST_ADDRESSES


# ------------------------------------------------------------------------------ terminals

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\nfake line"


def test_what_others_wrote_is_harmless_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names, titles, codes of errors: no control character, no line of their own; in JSON escaped."""

    async def record() -> None:
        log, run = SqliteLog(tmp_path / "runs.db"), RunId("run-1")
        await log.open()
        origin = Origin(app=f"app{EVIL}", user=EVIL, session=EVIL)
        event = {"author": EVIL, "content": {"parts": [{"text": EVIL}]}, "errorCode": EVIL}
        ended = RunEnded(outcome="failed", code=EVIL)
        await log.append(
            run,
            [RunStarted(run=run, origin=origin), AgentEvent(json.dumps(event).encode()), ended],
        )
        await log.commit(run)
        await log.close()

    asyncio.run(record())
    log = ["--log", f"sqlite:///{tmp_path}/runs.db"]
    for words in (
        ["runs", *log],
        ["runs", "--json", *log],
        *(["view", "run-1", "--text", "--panel", panel, *log] for panel in ("timeline", "state")),
    ):
        main(words)
        shown = capsys.readouterr()
        for text in (shown.out, shown.err):
            assert all(c.isprintable() or c == "\n" for c in text), words
        assert "\nfake line" not in shown.out
