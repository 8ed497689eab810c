"""Access that ends: what a credential opened is closed when the credential is no longer valid."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from starlette.requests import HTTPConnection
from tests.adk.scripted import Scripted
from tests.patience import PATIENCE
from tests.security.people import ANN, BOB, TOKENS, headers, said, token_file
from tests.security.test_sockets import address, ticket
from tests.server.local_server import agent
from tests.voice.served import Served, served
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from adk_prism.server.identity.caller import OpenConnections

SOCKETS = ("/api/chat/app/socket", "/api/live/app?session=voice")
REVOKED = 1008


def _runner(*turns: Any) -> Runner:
    return Runner(
        app_name="app",
        agent=agent(Scripted.saying(*turns)),
        session_service=InMemorySessionService(),
        artifact_service=InMemoryArtifactService(),
    )


@asynccontextmanager
async def serving(*turns: Any, **options: Any) -> AsyncIterator[tuple[Served, httpx.AsyncClient]]:
    async with (
        served(_runner(*turns), **options) as server,
        httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) as client,
    ):
        yield server, client


def without(folder: Path, user: str) -> None:
    """Remove a user's token from the file."""
    kept = {token: name for token, name in TOKENS.items() if name != user}
    (folder / "tokens.json").write_text(json.dumps(kept))


async def closed(socket: ClientConnection) -> int:
    """Wait until a socket is closed; return the code."""
    async with asyncio.timeout(PATIENCE):
        with suppress(ConnectionClosed):
            while True:
                await socket.recv()
    return socket.close_code or 0


async def is_open(socket: ClientConnection) -> bool:
    async with asyncio.timeout(PATIENCE):
        await (await socket.ping())
    return True


@pytest.mark.parametrize("by", ["header", "ticket"])
@pytest.mark.parametrize("path", SOCKETS)
async def test_a_removed_token_closes_its_sockets(path: str, by: str, tmp_path: Path) -> None:
    """Chat and live; opened with the token, or with a ticket that it was given. Others stay open."""
    async with serving(tokens=token_file(tmp_path)) as (server, client):
        url = address(server, path)

        async def given(user: str) -> dict[str, Any]:
            if by == "header":
                return {"uri": url, "additional_headers": headers(user)}
            also = "&" if "?" in url else "?"
            return {"uri": f"{url}{also}ticket={await ticket(client, path, user)}"}

        async with connect(**await given(BOB)) as bobs, connect(**await given(ANN)) as anns:
            without(tmp_path, BOB)
            assert await closed(bobs) == REVOKED
            assert await is_open(anns)


async def test_a_removed_token_ends_its_streams(tmp_path: Path) -> None:
    """The stream of a run that goes on is cut; the run goes on; the token opens nothing any more."""
    asked = asyncio.Event()
    async with serving(asked, tokens=token_file(tmp_path)) as (server, client):
        await client.post(f"/apps/app/users/{BOB}/sessions/chat", headers=headers(BOB))
        body = {**said(BOB, "hello"), "streaming": True}
        async with client.stream("POST", "/run_sse", json=body, headers=headers(BOB)) as running:
            await asked.wait()
            without(tmp_path, BOB)
            with pytest.raises(httpx.RemoteProtocolError):
                await running.aread()
        assert (await client.get("/api/runs", headers=headers(BOB))).status_code == 401
        (run,) = await server.context.log.list()
        assert run.outcome is None


async def test_a_token_with_fewer_rights_is_another_one(tmp_path: Path) -> None:
    """An administrator who is none any more does not keep what was opened as one."""
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({"token-of-bob": {"user": BOB, "scopes": ["admin"]}}))
    async with (
        serving(tokens=str(file)) as (server, _),
        connect(address(server, SOCKETS[0]), additional_headers=headers(BOB)) as socket,
    ):
        file.write_text(json.dumps({"token-of-bob": BOB}))
        assert await closed(socket) == REVOKED


async def test_a_file_that_is_being_written_ends_nothing(tmp_path: Path) -> None:
    """While nobody can tell, what is open stays for a moment, and the operator is told."""
    async with (
        serving(tokens=token_file(tmp_path)) as (server, _),
        connect(address(server, SOCKETS[0]), additional_headers=headers(BOB)) as socket,
    ):
        (tmp_path / "tokens.json").write_text('{"token-of')
        while not any(each.kind == "credential not checked" for each in server.reports):
            assert await is_open(socket)
        token_file(tmp_path)
        assert await is_open(socket)
        without(tmp_path, BOB)
        assert await closed(socket) == REVOKED


@pytest.mark.parametrize("by", ["cookie", "ticket"])
async def test_a_function_that_no_longer_knows_the_caller(by: str) -> None:
    """Sign-out in the program around us closes sockets as well; also those that a ticket opened."""
    signed_in = {BOB, ANN}

    def authenticate(connection: HTTPConnection) -> str | None:
        user = connection.cookies.get("user")
        return user if user in signed_in else None

    async with serving(authenticate=authenticate) as (server, client):
        url, cookie = address(server, SOCKETS[0]), {"cookie": f"user={BOB}"}
        if by == "ticket":
            answer = await client.post("/api/tickets", json={"url": SOCKETS[0]}, headers=cookie)
            url, cookie = f"{url}?ticket={answer.json()['ticket']}", {}
        others = {"cookie": f"user={ANN}"}
        async with (
            connect(url, additional_headers=cookie) as bobs,
            connect(address(server, SOCKETS[0]), additional_headers=others) as anns,
        ):
            signed_in.remove(BOB)
            assert await closed(bobs) == REVOKED
            assert await is_open(anns)


async def test_what_cannot_be_checked_for_long_ends() -> None:
    """A function that raises is asked again; after some seconds access ends."""
    now, reports = [0.0], []
    opened = OpenConnections(reports.append, clock=lambda: now[0])

    async def check() -> bool:
        now[0] += 6
        raise RuntimeError("no database")

    async def hold() -> None:
        async with asyncio.timeout(None) as limit:
            with opened.holding("x", check, limit):
                await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await hold()
    assert [each.kind for each in reports] == ["credential not checked"]
    assert now[0] == 18


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_link_that_is_revoked_elsewhere(at_once: bool, tmp_path: Path) -> None:
    """At this process at once; at another one, which shares the store, within a second."""
    asked = asyncio.Event()
    async with serving(asked, tokens=token_file(tmp_path)) as (server, client):
        await client.post(f"/apps/app/users/{BOB}/sessions/chat", headers=headers(BOB))
        body = {**said(BOB, "hello"), "streaming": True}
        async with client.stream("POST", "/run_sse", json=body, headers=headers(BOB)) as running:
            run = running.headers["x-prism-run"]
            link = (await client.post(f"/api/runs/{run}/links", headers=headers(BOB))).json()
            path, params = f"/api/runs/{run}/stream", {"share": link["token"]}
            async with client.stream("GET", path, params=params) as watched:
                if not at_once:
                    server.context.identity.links.on_revoked(lambda _: None)
                one = f"/api/runs/{run}/links/{link['id']}"
                assert (await client.delete(one, headers=headers(BOB))).status_code == 204
                with pytest.raises(httpx.RemoteProtocolError):
                    await watched.aread()
            await client.post(f"/api/runs/{run}/cancel", headers=headers(BOB))
