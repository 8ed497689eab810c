"""The server dies, or is told to go: what clients had seen stays true, and every run has an end.

Starting a server takes longer than what is tested, so the tests of one ending share it: a first
life, in which everything is begun, and a second one in the same folder, in which it is looked at.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.end_to_end.clients import chat_body, new_id
from tests.end_to_end.server import Server, serving
from tests.end_to_end.streams import (
    connect,
    frames,
    read,
    read_part,
    start,
    without_comments,
)
from tests.patience import PATIENCE

Json = dict[str, Any]
KEY = {"idempotency-key": "once"}


def messages_of(chat: str, app: str = "diary") -> str:
    return f"/api/chat/{app}/{chat}/messages"


async def outcome(http: httpx.AsyncClient, run: str) -> str | None:
    found: str | None = (await http.get(f"/api/runs/{run}")).json()["outcome"]
    return found


@dataclass(frozen=True)
class Life:
    """What was begun in the first life, and the server of the second."""

    server: Server
    told: Json


@pytest.fixture
async def http(request: pytest.FixtureRequest) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the second life."""
    life = "killed" if "killed" in request.fixturenames else "stopped"
    async with connect(request.getfixturevalue(life).server) as client:
        yield client


# ------------------------------------------------------------------ kill -9

SEEN = 20_000
"""Bytes that a client has seen when the server dies."""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """A server that was killed in the middle of runs, and its successor."""
    folder = tmp_path_factory.mktemp("killed")
    with serving(folder) as first:
        told = asyncio.run(die_while_streaming(first))
    with serving(folder) as second:
        yield Life(second, told)


async def die_while_streaming(server: Server) -> Json:
    """Ask a question, begin runs, and kill the server while one of them streams a long answer."""
    told: Json = {name: new_id() for name in ("long", "waiting", "asked", "keyed", "approved")}
    seen = b""
    async with connect(server) as http:
        await http.post("/api/chat/diary", json=chat_body(told["asked"], "erase page"))
        told["body"] = chat_body(told["keyed"], "count")
        keyed = await http.post("/api/chat/diary", json=told["body"], headers=KEY)
        told |= {"keyed run": keyed.headers["x-prism-run"], "keyed stream": keyed.content}
        told |= await approve_and_leave(http, told["approved"])
        body = chat_body(told["waiting"], f"wait {new_id('gate')}")
        async with http.stream("POST", "/api/chat/diary", json=body) as answer:
            told["waiting run"] = answer.headers["x-prism-run"]
        body = chat_body(told["long"], "long 5000")
        try:
            async with http.stream("POST", "/api/chat/tour", json=body) as answer:
                told["long run"] = answer.headers["x-prism-run"]
                async for piece in answer.aiter_raw():
                    seen += piece
                    if len(seen) >= SEEN:
                        server.kill()
        except httpx.TransportError:
            return {**told, "seen": without_comments(seen)}
    pytest.fail("the stream has an end")


async def approve_and_leave(http: httpx.AsyncClient, chat: str) -> Json:
    """Approve a call; read of the continuation that the tool ran, and what is said before a gate."""
    await http.post("/api/chat/diary", json=chat_body(chat, f"erase page [{new_id('gate')}]"))
    _, asked = (await http.get(messages_of(chat))).json()
    body = {"id": chat, "messages": [approved(asked)]}
    seen = b""
    async with http.stream("POST", "/api/chat/diary", json=body) as answer:
        async for piece in answer.aiter_raw():
            seen += piece
            if b"text-delta" in seen:
                break
    return {"approval": body, "continued run": answer.headers["x-prism-run"], "continued": seen}


def approved(message: Json) -> Json:
    """Return an assistant's message with its question answered, as a client sends it."""
    call = next(part for part in message["parts"] if "approval" in part)
    approval = {**call["approval"], "approved": True}
    answered = {**call, "state": "approval-responded", "approval": approval}
    return {**message, "parts": [answered if part is call else part for part in message["parts"]]}


async def test_what_was_seen_survives_a_kill(killed: Life, http: httpx.AsyncClient) -> None:
    """The log is intact, the next server goes on with the run, and a client that comes back with its
    last position gets the rest and the end."""
    run, seen = killed.told["long run"], killed.told["seen"]
    whole = await read(http, run)
    assert await outcome(http, run) == "finished"
    last = frames(seen)[-1]
    assert whole.startswith(seen[: last.end])
    assert await read(http, run, f"as=ai-sdk&after={last.id}") == whole[last.end :]
    assert whole.endswith(b"data: [DONE]\n\n")
    assert whole.count(b'"type":"data-prism-takeover"') == 1
    assert b'"type":"error"' not in whole


async def test_a_chat_goes_on_after_a_kill(killed: Life, http: httpx.AsyncClient) -> None:
    """The message is whole, each word of it once, and the next one is answered."""
    chat = killed.told["long"]
    whole = await read(http, killed.told["long run"])
    assert (await http.get(f"/api/chat/tour/{chat}/stream")).status_code == 204
    question, answer = (await http.get(messages_of(chat, "tour"))).json()
    assert question["parts"] == [{"type": "text", "text": "long 5000"}]
    deltas = [json.loads(line[6:]) for line in whole.splitlines() if b'"text-delta"' in line]
    text = "".join(delta["delta"] for delta in deltas)
    assert [part["text"] for part in answer["parts"] if part["type"] == "text"] == [text]
    assert text.count("word1 ") == text.count("word5000") == 1
    assert "failure" not in answer["metadata"]
    after = await http.post("/api/chat/tour", json=chat_body(chat, "tool"))
    assert "sunny" in after.text
    assert len((await http.get(messages_of(chat, "tour"))).json()) == 4


async def test_a_run_that_only_waited_ends_too(killed: Life, http: httpx.AsyncClient) -> None:
    """It has an end, its call is closed, and the chat goes on."""
    chat, run = killed.told["waiting"], killed.told["waiting run"]
    assert await outcome(http, run) == "failed"
    assert (await read(http, run)).endswith(b"data: [DONE]\n\n")
    stored = (await http.get(messages_of(chat))).json()
    assert [message["role"] for message in stored] == ["user", "assistant"]
    again = await http.post("/api/chat/diary", json=chat_body(chat, "hello"))
    assert "You " in again.text


async def test_a_question_survives_a_kill(killed: Life, http: httpx.AsyncClient) -> None:
    """Who was asked before may answer after, once; ids and arguments still have to be right."""
    chat = killed.told["asked"]
    _, asked = (await http.get(messages_of(chat))).json()
    answered = approved(asked)
    parts = [{**part, "input": {"name": "all"}} for part in answered["parts"]]
    statuses = []
    for message in ({**answered, "parts": parts}, answered, answered):
        body = {"id": chat, "messages": [message]}
        statuses.append((await http.post("/api/chat/diary", json=body)).status_code)
    assert statuses == [409, 200, 409]
    ran = (killed.server.folder / f"ran-{chat}.jsonl").read_text()
    assert len(ran.splitlines()) == 1


async def test_a_continuation_survives_a_kill(killed: Life, http: httpx.AsyncClient) -> None:
    """What the tool did stands, the message tells it and what was said after it, the client is told
    that the run was lost, the answer counts as given, and the chat goes on."""
    chat, told = killed.told["approved"], killed.told
    run, seen = told["continued run"], without_comments(told["continued"])
    whole = await read(http, run)
    last = frames(seen)[-1]
    assert whole.startswith(seen[: last.end])
    assert await read(http, run, f"as=ai-sdk&after={last.id}") == whole[last.end :]
    assert (
        b'"errorText":"The server or connection that ran this was lost before it had finished (owner_lost)."'
        in whole
    )
    about = (await http.get(f"/api/runs/{run}")).json()
    asked = told["approval"]["messages"][0]
    assert (about["outcome"], about["message"]) == ("failed", asked["id"])
    assert (await http.get(f"/api/chat/diary/{chat}/stream")).status_code == 204
    _, message = (await http.get(messages_of(chat))).json()
    [call] = [part for part in message["parts"] if "toolCallId" in part]
    assert (message["id"], call["state"]) == (asked["id"], "output-available")
    assert (
        message["metadata"]["failure"]
        == "The server or connection that ran this was lost before it had finished (owner_lost)."
    )
    again = await http.post("/api/chat/diary", json=told["approval"])
    assert again.status_code == 409
    after = await http.post("/api/chat/diary", json=chat_body(chat, "hello"))
    assert b"[DONE]" in after.content
    assert len((killed.server.folder / f"ran-{chat}.jsonl").read_text().splitlines()) == 1


async def test_a_key_survives_a_kill(killed: Life, http: httpx.AsyncClient) -> None:
    """The log knows it: the same request gets the same run, and nothing runs again."""
    told = killed.told
    again = await http.post("/api/chat/diary", json=told["body"], headers=KEY)
    assert again.headers["x-prism-run"] == told["keyed run"]
    assert without_comments(again.content) == without_comments(told["keyed stream"])
    session = await http.get(f"/apps/diary/users/user/sessions/{told['keyed']}")
    assert session.json()["state"]["count"] == 1


# ------------------------------------------------------------------ SIGTERM

GRACE = 2.0
SLACK = 15.0
"""Seconds beyond the grace period for a busy machine; below the default grace period."""
PROTOCOLS = ("adk", "ai-sdk")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """A server that was told to stop while a run could not end, and its successor."""
    folder = tmp_path_factory.mktemp("stopped")
    with serving(folder, "--grace", f"{GRACE}s") as first:
        told = asyncio.run(stop_while_streaming(first))
        told["exit code"] = first.wait(GRACE + SLACK)
    with serving(folder) as second:
        yield Life(second, told)


async def stop_while_streaming(server: Server) -> Json:
    """Watch a run that is held, tell the server to stop, and see what it says from then on."""
    async with connect(server) as http:
        run = await start(http, f"hello [{new_id('gate')}] there", "diary")
        async with asyncio.TaskGroup() as group:
            streams = [f"/api/runs/{run}/stream?as={name}" for name in PROTOCOLS]
            watching = [group.create_task(read_to_the_end(http, path)) for path in streams]
            await read_part(http, run, 300)
            server.terminate()
            health = await until_draining(http)
            refused = await http.post("/api/chat/tour", json=chat_body(new_id(), "text"))
    seen = [task.result() for task in watching]
    return {"run": run, "health": health, "refused": refused, "seen": seen}


async def until_draining(http: httpx.AsyncClient) -> httpx.Response:
    """Wait until the server says that it goes down."""
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = await http.get("/health")
            if answer.status_code != 200:
                return answer


async def read_to_the_end(http: httpx.AsyncClient, path: str) -> bytes:
    """Read a stream that must not break off."""
    return without_comments((await http.get(path)).content)


def test_a_server_that_goes_down_says_so(stopped: Life) -> None:
    """Health is 503, new runs are refused with when to come back, and it ends in time and in peace."""
    health, refused = stopped.told["health"], stopped.told["refused"]
    assert (health.status_code, health.json()) == (503, {"status": "draining"})
    assert (refused.status_code, "retry-after" in refused.headers) == (503, True)
    assert stopped.told["exit code"] == 0


async def test_streams_go_on_until_the_grace_period_ends_their_run(
    stopped: Life, http: httpx.AsyncClient
) -> None:
    """No other process could serve them: the client saw the whole run, with its end."""
    run = stopped.told["run"]
    assert await outcome(http, run) in ("cancelled", "failed")
    for name, seen in zip(PROTOCOLS, stopped.told["seen"], strict=True):
        assert seen == await read(http, run, f"as={name}")
    assert b"[DONE]" in stopped.told["seen"][1]


async def test_a_run_that_can_end_in_time_does(tmp_path: Path) -> None:
    """The grace period is for it: the answer is whole when the server comes back."""
    with serving(tmp_path, "--grace", f"{PATIENCE}s") as server:
        async with connect(server) as http:
            run = await start(http, "long 1500")
            await read_part(http, run, 300)
            server.terminate()
        assert await asyncio.to_thread(server.wait) == 0
    with serving(tmp_path) as server:
        async with connect(server) as http:
            assert await outcome(http, run) == "finished"
            assert b"word1500" in await read(http, run)
