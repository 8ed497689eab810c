"""The server dies, or is told to go: what clients had seen stays true, and every run has an end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.end_to_end.clients import chat_body, new_id
from tests.end_to_end.server import PATIENCE, Server, serving
from tests.end_to_end.streams import (
    connect,
    frames,
    read,
    read_part,
    start,
    without_comments,
)

Json = dict[str, Any]
SEEN = 20_000
"""Bytes that a client has seen when the server dies."""
GRACE = 2.0
SLACK = 10.0
"""Seconds beyond the grace period for a busy machine; far below the default grace period."""


def messages_of(chat: str, app: str = "tour") -> str:
    return f"/api/chat/{app}/{chat}/messages"


# ------------------------------------------------------------------ kill -9


async def test_what_was_seen_survives_a_kill(tmp_path: Path) -> None:
    """In the middle of a long answer: the log is intact, the run has ended as failed, a client that
    comes back with its last position gets the rest and the end, and the chat goes on."""
    body = chat_body(new_id(), "long 5000")
    with serving(tmp_path) as server:
        run, seen = await die_while_streaming(server, body)
    assert len(seen) >= SEEN
    with serving(tmp_path) as server:
        async with connect(server) as http:
            about = (await http.get(f"/api/runs/{run}")).json()
            assert about["outcome"] == "failed"
            whole = await read(http, run)
            last = frames(seen)[-1]
            assert whole.startswith(seen[: last.end])
            assert await read(http, run, f"as=ai-sdk&after={last.id}") == whole[last.end :]
            check_failed_end(whole, about["cursor"])
            await check_chat_goes_on(http, body["id"], whole)


async def die_while_streaming(server: Server, body: Json) -> tuple[str, bytes]:
    """Read a chat's stream and kill the server in its middle; return the run and what had come."""
    seen = b""
    try:
        async with (
            connect(server) as http,
            http.stream("POST", "/api/chat/tour", json=body) as answer,
        ):
            async for piece in answer.aiter_raw():
                seen += piece
                if len(seen) >= SEEN:
                    server.kill()
    except httpx.TransportError:
        return answer.headers["x-prism-run"], without_comments(seen)
    pytest.fail("the stream has an end")


def check_failed_end(whole: bytes, cursor: int) -> None:
    """The stream ends with a failure that a client understands, and nothing is missing before it."""
    ends = [json.loads(line[6:]) for line in whole.splitlines() if b'"type":"error"' in line]
    assert [end["errorText"] for end in ends] == ["The run failed (owner_lost)."]
    assert whole.endswith(b"data: [DONE]\n\n")
    cursors = sorted({frame.cursor for frame in frames(whole)})
    assert cursors == list(range(1, cursor + 1))


async def check_chat_goes_on(http: httpx.AsyncClient, chat: str, whole: bytes) -> None:
    """Nothing is left to resume, the partial message is kept, and the next one is answered."""
    assert (await http.get(f"/api/chat/tour/{chat}/stream")).status_code == 204
    question, partial = (await http.get(messages_of(chat))).json()
    deltas = [json.loads(line[6:]) for line in whole.splitlines() if b'"text-delta"' in line]
    text = "".join(delta["delta"] for delta in deltas)
    assert [part["text"] for part in partial["parts"] if part["type"] == "text"] == [text]
    assert question["parts"] == [{"type": "text", "text": "long 5000"}]
    after = await http.post("/api/chat/tour", json=chat_body(chat, "tool"))
    assert "sunny" in after.text
    assert len((await http.get(messages_of(chat))).json()) == 4


async def test_a_kill_before_the_first_word(tmp_path: Path) -> None:
    """A run that had only begun ends too; a message without an answer is shown as it is."""
    chat, gate = new_id(), new_id("gate")
    with serving(tmp_path) as server:
        async with connect(server) as http:
            body = chat_body(chat, f"wait {gate}")
            async with http.stream("POST", "/api/chat/diary", json=body) as answer:
                run = answer.headers["x-prism-run"]
            server.kill()
    with serving(tmp_path) as server:
        async with connect(server) as http:
            assert (await http.get(f"/api/runs/{run}")).json()["outcome"] == "failed"
            assert (await read(http, run)).endswith(b"data: [DONE]\n\n")
            stored = (await http.get(messages_of(chat, "diary"))).json()
            assert [message["role"] for message in stored] == ["user", "assistant"]
            again = await http.post("/api/chat/diary", json=chat_body(chat, "hello"))
            assert "You " in again.text


async def test_a_question_survives_a_kill(tmp_path: Path) -> None:
    """Who was asked before may answer after, once; ids and arguments still have to be right."""
    chat = new_id()
    with serving(tmp_path) as server:
        async with connect(server) as http:
            await http.post("/api/chat/diary", json=chat_body(chat, "erase page"))
        server.kill()
    with serving(tmp_path) as server:
        async with connect(server) as http:
            _, asked = (await http.get(messages_of(chat, "diary"))).json()
            call = next(part for part in asked["parts"] if "toolCallId" in part)
            approval = {**call["approval"], "approved": True}
            answered = {**call, "state": "approval-responded", "approval": approval}
            body = {"id": chat, "messages": [{**asked, "parts": [answered]}]}
            forged = {**answered, "input": {"name": "all"}}
            bad = {"id": chat, "messages": [{**asked, "parts": [forged]}]}
            assert (await http.post("/api/chat/diary", json=bad)).status_code == 409
            assert "erased" in (await http.post("/api/chat/diary", json=body)).text
            assert (await http.post("/api/chat/diary", json=body)).status_code == 409


# ------------------------------------------------------------------ SIGTERM


async def drained(http: httpx.AsyncClient) -> httpx.Response:
    """Wait until the server says that it goes down."""
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = await http.get("/health")
            if answer.status_code != 200:
                return answer


async def test_a_server_that_goes_down_says_so(tmp_path: Path) -> None:
    """While a run may still end, health is 503 and new runs are refused, with when to come back."""
    with serving(tmp_path, "--grace", f"{GRACE}s") as server:
        async with connect(server) as http:
            run = await start(http, f"hello [{new_id('gate')}]", "diary")
            await read_part(http, run, 300)
            server.terminate()
            health = await drained(http)
            assert (health.status_code, health.json()) == (503, {"status": "draining"})
            refused = await http.post("/api/chat/tour", json=chat_body(new_id(), "text"))
            assert (refused.status_code, "retry-after" in refused.headers) == (503, True)
        assert await asyncio.to_thread(server.wait, GRACE + SLACK) == 0


async def test_streams_break_off_when_the_server_goes_down(tmp_path: Path) -> None:
    """The client sees a broken connection, not a short answer, and can come back for the rest."""
    gate = new_id("gate")
    with serving(tmp_path, "--grace", f"{GRACE}s") as server:
        async with connect(server) as http:
            run = await start(http, f"hello [{gate}] there", "diary")
            watching = [
                asyncio.create_task(read_until_broken(http, f"/api/runs/{run}/stream?as={name}"))
                for name in ("adk", "ai-sdk")
            ]
            await read_part(http, run, 300)
            server.terminate()
            seen = await asyncio.gather(*watching)
        assert await asyncio.to_thread(server.wait, GRACE + SLACK) == 0
    with serving(tmp_path) as server:
        async with connect(server) as http:
            outcome = (await http.get(f"/api/runs/{run}")).json()["outcome"]
            assert outcome in ("cancelled", "failed")
            for name, part in zip(("adk", "ai-sdk"), seen, strict=True):
                whole = await read(http, run, f"as={name}")
                assert whole.startswith(part)
                assert b"[DONE]" not in part


async def read_until_broken(http: httpx.AsyncClient, path: str) -> bytes:
    """Read a stream that must not end well."""
    seen = b""
    try:
        async with http.stream("GET", path) as answer:
            async for piece in answer.aiter_raw():
                seen += piece
    except httpx.TransportError:
        return without_comments(seen)
    pytest.fail("the stream has an end")


async def test_a_run_that_can_end_in_time_does(tmp_path: Path) -> None:
    """The grace period is for it: the answer is whole when the server comes back."""
    with serving(tmp_path, "--grace", "20s") as server:
        async with connect(server) as http:
            run = await start(http, "long 2000")
            await read_part(http, run, 300)
            server.terminate()
            await drained(http)
        assert await asyncio.to_thread(server.wait) == 0
    with serving(tmp_path) as server:
        async with connect(server) as http:
            assert (await http.get(f"/api/runs/{run}")).json()["outcome"] == "finished"
            assert b"word2000" in await read(http, run)
