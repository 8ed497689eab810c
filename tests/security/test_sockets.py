"""Sockets and streams that can carry no header: refused, by ticket, closed when the right to them ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from tests.adk.scripted import Scripted
from tests.patience import PATIENCE
from tests.security.people import ANN, BOB, headers, said, token_file
from tests.server.local_server import agent
from tests.voice.served import Served, served
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

SOCKETS = (
    "/api/chat/app/socket",
    "/api/live/app",
    f"/run_live?app_name=app&user_id={BOB}&session_id=chat",
)


@asynccontextmanager
async def serving(folder: Path, *turns: Any) -> AsyncIterator[tuple[Served, httpx.AsyncClient]]:
    """Serve one app to people who have to be known."""
    runner = Runner(
        app_name="app",
        agent=agent(Scripted.saying(*turns)),
        session_service=InMemorySessionService(),
        artifact_service=InMemoryArtifactService(),
    )
    async with (
        served(runner, tokens=token_file(folder)) as server,
        httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) as client,
    ):
        yield server, client


def address(server: Served, path: str) -> str:
    return server.url.replace("http", "ws") + path


async def status(url: str, **options: Any) -> int:
    """Return what a handshake is answered; 101 if it succeeds."""
    try:
        async with connect(url, **options):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


async def ticket(client: httpx.AsyncClient, url: str, user: str = BOB) -> str:
    answer = await client.post("/api/tickets", json={"url": url}, headers=headers(user))
    assert answer.status_code == 200, answer.text
    found: str = answer.json()["ticket"]
    return found


async def start(client: httpx.AsyncClient) -> str:
    """Let Bob have a run; return it."""
    await client.post(f"/apps/app/users/{BOB}/sessions/chat", headers=headers(BOB))
    answer = await client.post("/run_sse", json=said(BOB, "hello"), headers=headers(BOB))
    assert answer.status_code == 200, answer.text
    return answer.headers["x-prism-run"]


@pytest.mark.parametrize("path", SOCKETS)
async def test_a_socket_needs_a_credential(path: str, tmp_path: Path) -> None:
    """In a header, for those who can send one; else by ticket."""
    async with serving(tmp_path) as (server, client):
        url = address(server, path)
        assert await status(url) == 401
        assert await status(url, additional_headers={"authorization": "Bearer no"}) == 401
        assert await status(url, additional_headers=headers(BOB)) == 101
        also = "&" if "?" in url else "?"
        assert await status(f"{url}{also}ticket={await ticket(client, path)}") == 101


async def test_another_users_name_is_not_there_on_a_live_socket(tmp_path: Path) -> None:
    """Before the socket is accepted."""
    async with serving(tmp_path) as (server, _):
        for path in (f"/api/live/app?userId={BOB}&session=chat", SOCKETS[2]):
            url = address(server, path)
            assert await status(url, additional_headers=headers(ANN)) == 404
            assert await status(url, additional_headers=headers(BOB)) == 101


@pytest.mark.parametrize("kind", ["send", "resume"])
async def test_another_users_name_is_not_there_in_a_chat_sockets_request(
    kind: str, tmp_path: Path
) -> None:
    """One request is refused, and nothing was run."""
    message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
    about = {"type": kind, "requestId": "r", "id": "chat", "body": {"userId": BOB}}
    frame = about | ({"messages": [message]} if kind == "send" else {})
    async with serving(tmp_path) as (server, client):
        url = address(server, SOCKETS[0])
        async with connect(url, additional_headers=headers(ANN), open_timeout=PATIENCE) as socket:
            await socket.send(json.dumps(frame))
            async with asyncio.timeout(PATIENCE):
                told = await socket.recv()
        assert "Not found for this user" in str(told)
        runs = await client.get("/api/runs", headers=headers(BOB))
        assert runs.json() == []


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    async for _ in pieces:
        pass


async def test_a_ticket_opens_its_url_once(tmp_path: Path) -> None:
    """Not twice, not another URL, not for a request that changes something; spent by a wrong try."""
    async with serving(tmp_path, "hello") as (_, client):
        run = await start(client)
        url = f"/api/runs/{run}/stream?as=studio"
        good = await ticket(client, url)
        first = await client.get(f"/api/runs/{run}/stream", params={"ticket": good, "as": "studio"})
        assert first.status_code == 200
        again = await client.get(f"/api/runs/{run}/stream", params={"as": "studio", "ticket": good})
        assert again.status_code == 401
        for path, params in [
            (f"/api/runs/{run}/stream", {"as": "adk"}),
            (f"/api/runs/{run}/recording", {}),
        ]:
            one = await ticket(client, url)
            answer = await client.get(path, params={**params, "ticket": one})
            assert answer.status_code == 401
            spent = await client.get(url, params={"as": "studio", "ticket": one})
            assert spent.status_code == 401
        one = await ticket(client, f"/api/runs/{run}/cancel")
        answer = await client.post(f"/api/runs/{run}/cancel", params={"ticket": one})
        assert answer.status_code == 401


async def test_a_ticket_is_as_good_as_who_asked_for_it(tmp_path: Path) -> None:
    """Ann's ticket to Bob's run opens nothing."""
    async with serving(tmp_path, "hello") as (_, client):
        run = await start(client)
        one = await ticket(client, f"/api/runs/{run}/stream", ANN)
        answer = await client.get(f"/api/runs/{run}/stream", params={"ticket": one})
        assert answer.status_code == 404


async def test_a_revoked_link_closes_what_it_has_open(tmp_path: Path) -> None:
    """A guest's stream of a run that goes on is cut, and does not open again."""
    asked = asyncio.Event()
    async with serving(tmp_path, asked) as (_, client):
        await client.post(f"/apps/app/users/{BOB}/sessions/chat", headers=headers(BOB))
        body = {**said(BOB, "hello"), "streaming": True}
        async with client.stream("POST", "/run_sse", json=body, headers=headers(BOB)) as running:
            run = running.headers["x-prism-run"]
            link = await client.post(f"/api/runs/{run}/links", headers=headers(BOB))
            path, params = f"/api/runs/{run}/stream", {"share": link.json()["token"]}
            async with client.stream("GET", path, params=params) as watched:
                pieces = watched.aiter_bytes()
                assert b"data: " in await anext(pieces)
                one = f"/api/runs/{run}/links/{link.json()['id']}"
                assert (await client.delete(one, headers=headers(BOB))).status_code == 204
                with pytest.raises(httpx.RemoteProtocolError):
                    await _drain(pieces)
            assert (await client.get(path, params=params)).status_code == 404
            await client.post(f"/api/runs/{run}/cancel", headers=headers(BOB))


async def test_tickets_and_links_are_in_no_diagnostic(tmp_path: Path) -> None:
    """Whatever is told of a request, what opened it is not in it."""
    async with serving(tmp_path, "hello") as (server, client):
        run = await start(client)
        one = await ticket(client, f"/api/runs/{run}/stream")
        await client.get(f"/api/runs/{run}/stream", params={"ticket": one})
        await client.get(f"/api/runs/{run}/stream", params={"ticket": one})
        assert one not in repr(server.reports)
