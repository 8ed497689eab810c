"""One line for each request: who, what, how it went. Never a secret, never a second line."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send
from tests.adk.scripted import Scripted
from tests.patience import PATIENCE
from tests.security.people import ANN, BOB, ROOT, SECRET, headers, house, token_file
from tests.server.local_server import agent, local_server
from tests.voice.live_run import runner_of, scripted_agent
from tests.voice.served import served
from websockets.asyncio.client import connect

from adk_prism.features.access_log.access_log import access_log
from adk_prism.models import say
from adk_prism.server.identity.caller import SCOPE_KEY, Principal
from adk_prism.server.request_tracking import (
    RequestTracker,
    TrackedRequest,
    TrackRequests,
)
from adk_prism.server.setting_groups import LogFormat

Json = dict[str, Any]
JSON: Json = {"access_log": True, "log_format": "json"}


def lines(capsys: pytest.CaptureFixture[str]) -> list[Json]:
    """Return the requests' lines since the last look."""
    found = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    return [line for line in found if line["kind"] == "request"]


async def test_a_line_says_who_asked_for_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the route's template; with the run that the request started or named."""
    async with house(tmp_path, **JSON) as made:
        capsys.readouterr()
        run = made.bobs.run
        answer = await made.client.get(f"/api/runs/{run}?x=1", headers=headers(BOB))
        refused = await made.client.get(f"/api/runs/{run}", headers=headers(ANN))
        nobody = await made.client.get(f"/api/runs/{run}")
        message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
        body = {"id": "new", "messages": [message]}
        said = await made.client.post("/api/chat/app", json=body, headers=headers(BOB))
        await made.client.get("/nowhere", headers=headers(BOB))
    first, second, third, fourth, fifth = lines(capsys)
    assert first.pop("time")
    assert first.pop("seconds") > 0
    assert first == {
        "kind": "request",
        "request": answer.headers["x-request-id"],
        "method": "GET",
        "route": "/api/runs/{run}",
        "status": 200,
        "sent": len(answer.content),
        "received": 0,
        "user": BOB,
        "run": run,
        "address": "127.0.0.1",
    }
    assert (second["status"], second["user"], second.get("run")) == (404, ANN, None)
    assert (third["status"], third.get("user"), third.get("route")) == (401, None, None)
    assert (fourth["route"], fourth["run"]) == ("/api/chat/{app_name}", said.headers["x-prism-run"])
    assert fourth["sent"] == len(said.content)
    assert (fifth["status"], fifth.get("route")) == (404, None)
    assert refused.json()["request"] == second["request"]
    assert nobody.json()["request"] == third["request"]


async def test_no_secret_is_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither what proves who calls, nor what was said, nor what a URL holds."""
    async with house(tmp_path, **JSON) as made:
        url = f"/api/runs/{made.bobs.run}/stream?as=studio"
        asked = await made.client.post("/api/tickets", json={"url": url}, headers=headers(BOB))
        ticket = asked.json()["ticket"]
        assert (await made.client.get(f"{url}&ticket={ticket}")).status_code == 200
        assert (await made.client.get(f"{url}&ticket={ticket}")).status_code == 401
        link = await made.client.post(f"/api/runs/{made.bobs.run}/links", headers=headers(BOB))
        token = link.json()["token"]
        await made.client.get(f"/api/runs/{made.bobs.run}?share={token}")
        await made.client.get(f"/apps?key={SECRET}", headers=headers(BOB))
        err = capsys.readouterr().err
    for word in (ticket, token, SECRET, "token-of-", "Bearer", "studio"):
        assert word not in err
    assert f'"user": "link {link.json()["id"]}"' in err


async def test_sockets_have_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """When they close, with what went over them; a refused handshake, too."""
    runner = runner_of(scripted_agent(lambda _: say("Well."), []))
    async with served(runner, tokens=token_file(tmp_path), **JSON) as server:
        url = server.url.replace("http", "ws") + "/api/live/app"
        with pytest.raises(Exception, match="401"):
            await connect(url, open_timeout=PATIENCE)
        async with connect(url, additional_headers=headers(ANN), open_timeout=PATIENCE) as socket:
            assert socket.response is not None
            named = socket.response.headers["x-request-id"]
            await socket.send(json.dumps({"type": "ping", "version": "1.0"}))
            await socket.recv()
    refused, closed = lines(capsys)
    assert (refused["method"], refused["status"]) == ("WS", 401)
    assert (closed["request"], closed["status"], closed["user"]) == (named, 101, ANN)
    assert closed["route"] == "/api/live/{app_name}"
    assert closed["sent"] > 10
    assert closed["received"] > 10


PLAIN = ("0197f0c1-8a4c-7d2e-9f11-d3b0a1c2e3f4", "Root=1-67891233-abcdef012345678912345678")
ODD = ("a b", '"quoted"', "\x1b[31mred", "x" * 129, "")


async def test_a_plain_request_id_is_kept() -> None:
    """What is no plain word is not repeated anywhere; the request has one of ours."""
    async with local_server(agent(Scripted.saying())) as stage:
        for given in (*PLAIN, *ODD):
            answer = await stage.client.get("/nothing", headers={"x-request-id": given})
            (named,) = answer.headers.get_list("x-request-id")
            assert answer.json()["request"] == named
            assert (named == given) is (given in PLAIN)
            assert given in PLAIN or len(named) == 16


HOSTILE = 'ann"\r\n{"kind": "request"}\x1b[2J\u2028\x9b31m\ud800'


@pytest.mark.parametrize("form", ["text", "json"])
async def test_nothing_can_write_a_second_line(form: LogFormat) -> None:
    """A user's name, a header, a path: one printable line, and in JSON the name itself."""
    stream = io.StringIO()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope[SCOPE_KEY] = Principal(HOSTILE)
        heads = [(b"x-prism-run", b"run\r\n-1")]
        await send({"type": "http.response.start", "status": 200, "headers": heads})

    async def nothing(*_: Any) -> Any:
        return {"type": "http.disconnect"}

    observe = TrackRequests(app, RequestTracker([access_log(form, stream)]))
    scope: Scope = {"type": "http", "method": "GET\r\nX", "path": "/\r\n", "headers": []}
    scope["client"] = ("::1\n", 1)
    await observe(scope, nothing, nothing)
    (line,) = stream.getvalue().splitlines()
    assert line.isprintable()
    assert "cut" in line
    if form == "json":
        assert json.loads(line)["user"] == HOSTILE


def test_a_text_line_reads_well() -> None:
    """For a person at a terminal."""
    stream = io.StringIO()
    call = TrackedRequest({"type": "http", "method": "GET", "headers": []}, "abc")
    call.status, call.sent = 200, 12
    access_log("text", stream)(call)
    words = stream.getvalue().split()
    assert words[1:4] == ["GET", "-", "200"]
    assert words[5:] == ["12B", "request=abc"]


async def test_without_the_option_there_is_no_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A developer's terminal stays as it was."""
    async with house(tmp_path) as made:
        assert (await made.client.get("/version", headers=headers(ROOT))).status_code == 200
    assert capsys.readouterr().err == ""


async def test_a_browser_may_read_the_id() -> None:
    """It is among the headers that a page of an allowed origin is shown."""
    async with local_server(agent(Scripted.saying()), allow_origin=("https://a.example",)) as stage:
        answer: httpx.Response = await stage.client.get(
            "/health", headers={"origin": "https://a.example"}
        )
        assert "x-request-id" in answer.headers["access-control-expose-headers"]
