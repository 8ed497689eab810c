"""Remotes that are down, wrong or hostile: one clear problem each, and other apps keep serving."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.features.remote.conftest import Chat, Fronted
from tests.features.remote.loopback import Loopback, Reply, Wire, event, listening

from adk_prism.errors import Diagnostic

HTML = Reply(b"<html>Sign in</html>", kind="text/html")
ELSEWHERE = Reply(b"", 302, headers={"location": "http://elsewhere.example/"})
REFUSED = Reply(b'{"detail":"who are you?"}', 401)


async def _keeps_serving(chat: Chat) -> None:
    names = {app["name"]: app for app in (await chat.http.get("/api/apps")).json()}
    assert "far" in names
    assert (await chat.http.get("/health")).status_code == 200
    assert len(names) > 1


@pytest.mark.parametrize(
    ("path", "reply", "says"),
    [
        ("/version", HTML, "text/html instead of JSON"),
        ("/version", ELSEWHERE, "redirects elsewhere"),
        ("/version", REFUSED, "--remote-header"),
        ("/version", Reply(b"{}", 500), "status 500"),
        ("/version", Reply(b"[1]"), "not that of an ADK server"),
        ("/version", Reply(b'{"version":"1","language":"cobol"}'), "cobol"),
        ("/list-apps", Reply(b'["other"]'), "no app 'far'"),
        ("/list-apps", Reply(b'{"a":1}'), "list of apps"),
        ("/run_sse", HTML, "text/html instead of a stream"),
        ("/run_sse", ELSEWHERE, "redirects elsewhere"),
        ("/run_sse", REFUSED, "--remote-header"),
        ("/run_sse", Reply(b"{}", 500), "status 500"),
    ],
    ids=str,
)
async def test_wrong_answers(
    far: Loopback,
    fronted: Fronted,
    reports: list[Diagnostic],
    path: str,
    reply: Reply,
    says: str,
) -> None:
    """The client reads why; the operator reads it with the address; no run is left behind."""
    far.replies[path] = reply
    async with fronted(far.url) as chat:
        answer = await chat.say()
        assert answer.status_code == 502, answer.text
        assert says in answer.json()["detail"]
        assert far.url not in answer.text
        lines = [each for each in reports if each.kind == "remote failed"]
        assert lines
        assert all(far.url in each.detail for each in lines)
        assert (await chat.http.get("/api/runs")).json() == []
        await _keeps_serving(chat)


async def test_a_remote_that_is_down_and_comes_up(fronted: Fronted) -> None:
    """It is tried again with every request."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with fronted(f"http://127.0.0.1:{port}") as chat:
        down = await chat.say()
        assert down.status_code == 502
        assert "no connection" in down.json()["detail"]
        told = (await chat.http.get("/api/apps/far")).json()
        assert "no connection" in told["error"]
        await _keeps_serving(chat)
        async with listening(Loopback(), port):
            up = await chat.say()
            assert "Hello" in up.text


async def test_tls(far: Loopback, fronted: Fronted) -> None:
    """A server that does not speak TLS is said to."""
    async with fronted(far.url.replace("http:", "https:")) as chat:
        answer = await chat.say()
        assert answer.status_code == 502
        assert "TLS failed" in answer.json()["detail"]


async def _endless_line(wire: Wire) -> None:
    while True:
        await wire.send(b"data: " + b"x" * 65536)


async def _large_event(wire: Wire) -> None:
    await wire.event(event("x" * 200_000))
    await wire.end()


async def _huge_event(wire: Wire) -> None:
    await wire.event(event("x" * 10_000_000))
    await wire.event(event("Done.", id="e2", finishReason="STOP"))
    await wire.end()


async def _slow_drip(wire: Wire) -> None:
    await wire.send(b"data: ")
    while not wire.writer.is_closing():
        await wire.send(b"x")
        await asyncio.sleep(0.01)  # bytes that come, and never an event


async def _silence(wire: Wire) -> None:
    await wire.event(event("Hello", partial=True))
    await wire.closed()


async def _garbage(wire: Wire) -> None:
    await wire.send(b"data: {nonsense\n\n")


async def _page(wire: Wire) -> None:
    await wire.send(b"<html>\n<body>Sign in</body>\n</html>\n")
    await wire.end()


async def _other_lines(wire: Wire) -> None:
    await wire.send(b"<html>\r\n<body>Sign in</body>\r\n\r\n</html>")
    await wire.end()


async def _any_bytes(wire: Wire) -> None:
    await wire.send(bytes(range(256)) * 40)
    await wire.end()


async def _half_an_event(wire: Wire) -> None:
    await wire.send(b'data: {"author":"root","content":{"par')
    await wire.end()


async def _comments(wire: Wire) -> None:
    await wire.event(event("Hello", partial=True))
    while not wire.writer.is_closing():
        await wire.send(b": keep-alive\n\n")
        await asyncio.sleep(0.01)  # a proxy that keeps the connection of a dead agent open


async def _other_json(wire: Wire) -> None:
    await wire.send(b'data: {"weather":"fine"}\n\n')


async def _deep(wire: Wire) -> None:
    await wire.send(b'data: {"author":"root","content":' + b"[" * 20_000 + b"\n\n")


async def _deep_value(wire: Wire) -> None:
    nest = b"[" * 20_000 + b"]" * 20_000
    await wire.send(b'data: {"author":"root","actions":{"stateDelta":{"a":' + nest + b"}}}\n\n")
    await wire.event(event("Done.", id="e2", finishReason="STOP"))
    await wire.end()


async def test_a_deep_value_is_cut(far: Loopback, fronted: Fronted) -> None:
    """The rest of the run is as the remote sent it."""
    far.run = _deep_value
    async with fronted(far.url) as chat:
        run = (await chat.say()).headers["x-prism-run"]
        assert await chat.outcome() == ("finished", "")
        assert "[cut: nested too deep]" in (await chat.http.get(f"/api/runs/{run}/recording")).text


@pytest.mark.parametrize(
    ("run", "says"),
    [
        (_endless_line, "too large"),
        (_large_event, "too large"),
        (_slow_drip, "within 0.5 seconds"),
        (_silence, "within 0.5 seconds"),
        (_garbage, "not an ADK event"),
        (_page, "no stream of events"),
        (_other_lines, "no stream of events"),
        (_any_bytes, "no stream of events"),
        (_half_an_event, "no stream of events"),
        (_comments, "within 0.5 seconds"),
        (_other_json, "not an ADK event"),
        (_deep, "not an ADK event"),
    ],
)
async def test_hostile_streams(
    far: Loopback,
    fronted: Fronted,
    reports: list[Diagnostic],
    run: Callable[[Wire], Awaitable[None]],
    says: str,
) -> None:
    """The run fails, the client is told, the connection is closed, and the operator knows why."""
    far.run = run
    async with fronted(far.url, remote_idle=0.5, remote_event_limit=100_000) as chat:
        answer = await chat.say()
        assert answer.status_code == 200
        assert '"type":"error"' in answer.text
        assert await chat.outcome() == ("failed", "remote-failed")
        assert any(says in each.detail for each in reports if each.kind == "remote failed")
        await _keeps_serving(chat)


@pytest.mark.parametrize("rest", [b'data: {"author":"root","con', b"<html>502</html>\n\n"])
async def test_a_stream_that_is_cut_off_is_not_finished(
    far: Loopback, fronted: Fronted, rest: bytes
) -> None:
    """An answer of a tool was whole; what came after it was not, and the session has no more of the run."""

    async def cut(wire: Wire) -> None:
        response = {"functionResponse": {"id": "c", "name": "f", "response": {}}}
        await wire.event(event(content={"role": "user", "parts": [response]}))
        await wire.send(rest)
        await wire.end()

    far.run = cut
    async with fronted(far.url) as chat:
        assert '"type":"error"' in (await chat.say()).text
        assert (await chat.outcome())[0] == "failed"


async def test_ten_megabytes(far: Loopback, fronted: Fronted) -> None:
    """An event that is large, and within the limit, is an event like any other."""
    far.run = _huge_event
    async with fronted(far.url) as chat:
        answer = await chat.say()
        assert len(answer.content) > 10_000_000
        assert await chat.outcome() == ("finished", "")
        await _keeps_serving(chat)


async def test_a_run_has_a_time(far: Loopback, fronted: Fronted, reports: list[Diagnostic]) -> None:
    """Events that never end are ended."""

    async def chatter(wire: Wire) -> None:
        while not wire.writer.is_closing():
            await wire.event(event("again ", partial=True))
            await asyncio.sleep(0.01)  # as a model would

    far.run = chatter
    async with fronted(far.url, remote_total=0.5) as chat:
        assert '"type":"error"' in (await chat.say()).text
        assert await chat.outcome() == ("failed", "remote-failed")
        assert any("longer than 0.5 seconds" in each.detail for each in reports)


SECRET = "postgres://root:hunter2@db/"


@pytest.mark.parametrize(
    "frames",
    [
        [{"error": f"ValueError: {SECRET}", "error_details": {"error_type": "ValueError"}}],
        [event(errorCode="ValueError", errorMessage=SECRET), {"error": f"ValueError: {SECRET}"}],
        [event("Hel", partial=True), {"error": SECRET}],
    ],
    ids=["object", "event and object", "after text"],
)
async def test_error_texts_stay_inside(
    far: Loopback, fronted: Fronted, reports: list[Diagnostic], frames: list[dict[str, object]]
) -> None:
    """The text of a remote's exception reaches the operator, once, and no client."""

    async def fail(wire: Wire) -> None:
        for frame in frames:
            await wire.event(frame)
        await wire.end()

    far.run = fail
    async with fronted(far.url) as chat:
        answer = await chat.say()
        assert '"type":"error"' in answer.text
        assert SECRET not in answer.text
        runs = (await chat.http.get("/api/runs")).json()
        recording = (await chat.http.get(f"/api/runs/{runs[-1]['run']}/recording")).text
        assert "hunter2" not in recording
        assert json.loads(recording.strip().split("\n")[-1])["outcome"] == "failed"
        assert len([each for each in reports if each.kind == "agent error"]) == 1


async def test_credentials(
    far: Loopback, fronted: Fronted, reports: list[Diagnostic], tmp_path: Path
) -> None:
    """Headers and tokens go to the remote and nowhere else; a refused token is asked for again."""

    def guarded(request: object) -> Reply:
        given = request.headers.get("authorization", "")  # type: ignore[attr-defined]
        if given == "Bearer fresh-token":
            return Reply(b'{"version":"2.13.0","language":"python"}')
        return REFUSED

    far.replies["/version"] = guarded
    mark = tmp_path / "asked"
    command = (
        f"far=sh -c 'if [ -e {mark} ]; then echo fresh-token; else touch {mark}; echo stale; fi'"
    )
    header = "far=X-Api-Key: very-secret-key"
    async with fronted(far.url, remote_token_command=(command,), remote_header=(header,)) as chat:
        assert "Hello" in (await chat.say()).text
    assert {each.headers["x-api-key"] for each in far.requests} == {"very-secret-key"}
    assert far.ran()[0].headers["authorization"] == "Bearer fresh-token"
    assert not any("secret-key" in str(each) or "token" in str(each) for each in reports)


async def test_a_token_command_that_fails(far: Loopback, fronted: Fronted) -> None:
    """One problem, and nothing is sent."""
    async with fronted(far.url, remote_token_command=("far=false",)) as chat:
        answer = await chat.say()
        assert answer.status_code == 502
        assert "token command" in answer.json()["detail"]
        assert far.requests == []
