"""Live runs of a remote app whose server is lost, fails, or does not keep to the protocol."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI, Request
from starlette.websockets import WebSocket, WebSocketDisconnect
from tests.patience import PATIENCE
from tests.voice.served import Client
from websockets.asyncio.client import connect

from adk_prism.errors import Diagnostic
from adk_prism.features.captures.recording_file import read_run
from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings
from adk_prism.testing.laws import check_laws

Json = dict[str, Any]
Act = Callable[[WebSocket], Awaitable[None]]
VERSIONS = {"python": "2.13.0", "python-1": "1.39.1"}


class Far:
    """An ADK server whose live runs a test decides, behind one token."""

    def __init__(self, act: Act, dialect: str = "python") -> None:
        self.asked: list[Json] = []
        self.app = FastAPI()
        self.app.get("/version")(lambda: {"version": VERSIONS[dialect], "language": "python"})
        self.app.get("/list-apps")(lambda: ["far"])
        self.app.post("/apps/far/users/{user}/sessions")(self._session)
        self.app.get("/apps/far/users/{user}/sessions/{session}")(self._session)
        self.app.websocket("/run_live")(self._live)
        self._act = act

    async def _session(self, user: str, request: Request, session: str = "") -> Json:
        body = await request.json() if await request.body() else {}
        name = session or body.get("sessionId") or "new"
        return {"id": name, "userId": user, "appName": "far", "state": {}, "events": []}

    async def _live(self, socket: WebSocket) -> None:
        self.asked.append({**socket.query_params, "token": socket.headers.get("x-token")})
        if socket.headers.get("x-token") == "wrong":
            await socket.close()
            return
        await socket.accept()
        await self._act(socket)


def event(**fields: Any) -> str:
    return json.dumps({"id": "e1", "invocationId": "i1", "author": "agent", "actions": {}} | fields)


def words(text: str, **more: Any) -> str:
    return event(content={"role": "model", "parts": [{"text": text}]}, **more)


@asynccontextmanager
async def on_a_port(app: Any) -> AsyncIterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, log_config=None, ws="websockets-sansio", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving


class Talk(Client):
    """A client of ours, with what the operator was told and what the log has."""

    def __init__(self, connection: Any, url: str, reports: list[Diagnostic]) -> None:
        super().__init__(connection)
        self._url = url
        self.told = reports

    async def ended(self) -> Json:
        """Wait until the only run is over; return the last line of its recording."""
        async with httpx.AsyncClient(base_url=self._url, timeout=PATIENCE) as http:
            (run,) = (await http.get("/api/runs?app=far")).json()
            await http.get(f"/api/runs/{run['run']}/stream")
            data = (await http.get(f"/api/runs/{run['run']}/recording")).content
        assert check_laws(list(read_run(data))) == []
        last: Json = json.loads(data.splitlines()[-1])
        return last


@asynccontextmanager
async def talking(far: Far, query: str = "session=s1", **changes: Any) -> AsyncIterator[Talk]:
    reports: list[Diagnostic] = []
    async with on_a_port(far.app) as there:
        settings = Settings(
            log="memory:",
            sessions="memory://",
            remote=(f"far={there}",),
            live_grace=0.1,
            **changes,
        )
        ours = create_app(None, settings, report=reports.append)
        async with (
            on_a_port(ours) as url,
            connect(f"ws{url.removeprefix('http')}/api/live/far?{query}") as connection,
        ):
            yield Talk(connection, url, reports)


async def _hear(remote: WebSocket) -> Json:
    heard: Json = json.loads(await remote.receive_text())
    return heard


async def test_a_conversation_is_passed_on() -> None:
    """Messages, sound, the client's result of a tool, the end; with the credentials of the remote."""
    heard: list[Json] = []

    async def act(remote: WebSocket) -> None:
        heard.append(await _hear(remote))
        call = {"functionCall": {"id": "c1", "name": "locate", "args": {}}}
        content = {"role": "model", "parts": [call]}
        await remote.send_text(event(content=content, longRunningToolIds=["c1"]))
        heard.append(await _hear(remote))
        await remote.send_text(words("You are here."))
        await remote.send_text(event(turnComplete=True))
        while not (heard[-1].get("close")):
            heard.append(await _hear(remote))

    far = Far(act)
    given = {"remote_header": ("far=x-token: right",)}
    async with talking(far, "session=s1&modality=text", **given) as client:
        await client.say("where am I?")
        await client.until_chunk("tool-input-available")
        await client.send("tool_result", toolCallId="c1", result={"city": "Lisbon"})
        await client.until_text("You are here.")
        await client.send("audio_control", action="start")
        await client.send("audio_chunk", chunk="AAAAAA==")
        await client.send("audio_control", action="stop")
        await client.send("close")
        assert await client.closed() == (1000, "the conversation ended")
        assert (await client.ended())["outcome"] == "finished"
    (asked,) = far.asked
    assert (asked["app_name"], asked["session_id"], asked["token"]) == ("far", "s1", "right")
    assert asked["modalities"] == "TEXT"
    assert heard[0]["content"]["parts"] == [{"text": "where am I?"}]
    (part,) = heard[1]["content"]["parts"]
    assert part["function_response"]["response"] == {"city": "Lisbon"}
    assert heard[2:] == [
        {"blob": {"data": "AAAAAA==", "mime_type": "audio/pcm;rate=16000"}},
        {"audio_stream_end": True},
        {"close": True},
    ]


async def _fails(remote: WebSocket) -> None:
    await _hear(remote)
    await remote.close(1011, "a secret of the agent")


async def _goes_away(remote: WebSocket) -> None:
    await _hear(remote)
    await remote.send_text(words("Once", partial=True))
    await remote.close(1001)


async def _is_not_adk(remote: WebSocket) -> None:
    await _hear(remote)
    await remote.send_text('{"hello": 1')
    await _until_left(remote)


async def _is_endless(remote: WebSocket) -> None:
    await _hear(remote)
    await remote.send_text(words("x" * 3_000_000))
    await _until_left(remote)


async def _until_left(remote: WebSocket) -> None:
    try:
        while True:
            await remote.receive_text()
    except WebSocketDisconnect:
        return


@pytest.mark.parametrize(
    ("act", "code", "told"),
    [
        (_fails, "remote-failed", "its live run failed; perhaps its model has no live mode"),
        (_goes_away, "owner_lost", "the connection of a live run was lost"),
        (_is_not_adk, "remote-failed", "not an ADK event"),
        (_is_endless, "remote-failed", "one of its events is too large"),
    ],
)
async def test_a_remote_that_fails(act: Act, code: str, told: str) -> None:
    """The run ends with its reason; what the remote says of its inside is for the operator."""
    async with talking(Far(act), remote_event_limit=1_000_000) as client:
        await client.say("hello")
        closed, _ = await client.closed()
        assert closed == 1011
        end = await client.ended()
        assert (end["outcome"], end["code"]) == ("failed", code)
        (line,) = [each for each in client.told if each.kind == "remote failed"]
        assert told in line.detail
        assert "a secret" not in json.dumps(client.frames)


async def test_a_remote_that_refuses_live_runs() -> None:
    """No run begins; the socket stays open for another attempt."""
    far = Far(_until_left)
    async with talking(far, remote_header=("far=x-token: wrong",)) as client:
        await client.say("hello")
        assert "refuses live runs (403)" in (await client.error())["errorText"]
        await client.send("ping")
        await client.until(lambda frame: frame["type"] == "pong")


async def test_an_older_remote_ignores_nothing_silently() -> None:
    """What ADK 1.x would drop without a word is refused here."""
    far = Far(_until_left, "python-1")
    reports: list[Diagnostic] = []
    async with on_a_port(far.app) as there:
        settings = Settings(log="memory:", sessions="memory://", remote=(f"far={there}",))
        async with on_a_port(create_app(None, settings, report=reports.append)) as url:
            where = f"ws{url.removeprefix('http')}/run_live?app_name=far&user_id=u&session_id=s1"
            async with connect(where) as socket:
                await socket.send(json.dumps({"state_delta": {"a": 1}}))
                answer = json.loads(await asyncio.wait_for(socket.recv(), PATIENCE))
                assert "does not take state" in answer["errorMessage"]
                await socket.send(json.dumps({"close": True}))
