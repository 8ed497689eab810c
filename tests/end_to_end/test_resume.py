"""Streams that are cut and gone on with, over HTTP: every position, many viewers, one truth."""

from __future__ import annotations

import asyncio
import json
import random
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from tests.end_to_end.clients import chat_body, new_id
from tests.end_to_end.server import Server
from tests.end_to_end.streams import (
    connect,
    frames,
    open_gate,
    read,
    read_part,
    run_chat,
    start,
    without_comments,
)
from tests.patience import PATIENCE

PROTOCOLS = ("as=adk", "as=ai-sdk", "as=ai-sdk&dialect=7", "as=ag-ui&dialect=1.0&raw=true")
PROMPTS = ("tool", "two approvals", "parallel specialists", "audio", "exception")
LONG = "long 1000"
"""A run that is still on while it is being watched."""


@pytest.fixture
async def http(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the server."""
    async with connect(server) as client:
        yield client


# ------------------------------------------------------------------ a run that is over


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("prompt", PROMPTS)
async def test_seen_and_rest_are_the_whole(
    http: httpx.AsyncClient, prompt: str, protocol: str
) -> None:
    """At every position, named in the query or as a browser does in Last-Event-ID; 204 after the last."""
    run, _ = await run_chat(http, prompt)
    whole = await read(http, run, protocol)
    for frame in frames(whole):
        rest = await read(http, run, f"{protocol}&after={frame.id}")
        assert rest == whole[frame.end :], frame
        headers = {"last-event-id": frame.id}
        again = await http.get(f"/api/runs/{run}/stream?{protocol}", headers=headers)
        assert again.content == rest
        assert again.status_code == (200 if rest else 204), "an EventSource comes back after a 200"


async def test_the_chat_streams_what_the_run_streams(http: httpx.AsyncClient) -> None:
    """So a client that has lost its chat's response goes on with the run."""
    run, streamed = await run_chat(http, "tool")
    assert streamed == await read(http, run)


async def test_a_continuation_resumes_at_every_position(http: httpx.AsyncClient) -> None:
    """Its run is a run like any other."""
    chat = new_id()
    asked = await http.post("/api/chat/diary", json=chat_body(chat, "erase page"))
    answer = await http.post("/api/chat/diary", json=approve(chat, asked))
    run, whole = answer.headers["x-prism-run"], await read(http, answer.headers["x-prism-run"])
    assert without_comments(answer.content) == whole
    for frame in frames(whole):
        assert await read(http, run, f"as=ai-sdk&after={frame.id}") == whole[frame.end :]


def approve(chat: str, asked: httpx.Response) -> dict[str, Any]:
    """Return the request that approves the call which a response asks about."""
    lines = [line for line in asked.text.splitlines() if '"type":"tool-approval-request"' in line]
    request = json.loads(lines[0].removeprefix("data: "))
    part = {"type": "tool-erase", "state": "approval-responded", "input": {"name": "page"}}
    part |= {"toolCallId": request["toolCallId"]}
    part |= {"approval": {"id": request["approvalId"], "approved": True}}
    message = {"id": asked.headers["x-prism-run"], "role": "assistant", "parts": [part]}
    return {"id": chat, "messages": [message]}


async def test_a_cursor_is_good_in_every_protocol(http: httpx.AsyncClient) -> None:
    """After the same entry each protocol goes on with what it has to say from there."""
    run, _ = await run_chat(http, "mixed batch")
    wholes = {protocol: await read(http, run, protocol) for protocol in PROTOCOLS}
    cursors = sorted({frame.cursor for whole in wholes.values() for frame in frames(whole)})
    for cursor in [0, *cursors]:
        for protocol, whole in wholes.items():
            seen = [frame.end for frame in frames(whole) if frame.cursor <= cursor]
            rest = await read(http, run, f"{protocol}&after={cursor}")
            assert rest == whole[max(seen, default=0) :]


async def test_a_position_may_name_its_run(http: httpx.AsyncClient) -> None:
    """As those of a message's replay do, which can hold several."""
    run, whole = await run_chat(http, "tool")
    third = frames(whole)[2]
    assert await read(http, run, f"as=ai-sdk&after={run}:{third.id}") == whole[third.end :]


BAD_POSITIONS = [
    "-1", "x", "1.", ".1", "1.2.3", "1,1", "1e3", "+1", "%201", "1%20", "%00", "1%00", "0.1", "1.0",
    "1.99", "99999", "99999.1", "9" * 400, "1." + "9" * 400, "run-x:1.1", ":1.1", "%D9%A1", "%EF%BC%91",
    "1;DROP TABLE entries", "%F0%9F%8C%88", "null", "1.1%0A", "12345678901234567",
]  # fmt: skip


@pytest.mark.parametrize("protocol", PROTOCOLS[:2])
async def test_a_bad_position_is_refused(http: httpx.AsyncClient, protocol: str) -> None:
    """400 with a problem, never a stream that is empty or begins anywhere."""
    run, _ = await run_chat(http, "tool")
    for position in BAD_POSITIONS:
        answer = await http.get(f"/api/runs/{run}/stream?{protocol}&after={position}")
        assert (position, answer.status_code) == (position, 400)
        assert answer.json()["type"] == "urn:adk-prism:problem:bad-position"


BAD_HEADERS = ["-1", "x", "1.99", "99999", "9" * 400, "run-x:1.1", "\xe9", "1.1, 2.1"]


async def test_a_bad_last_event_id_is_refused(http: httpx.AsyncClient) -> None:
    """Also in the header, and where header and query disagree."""
    run, _ = await run_chat(http, "tool")
    url = f"/api/runs/{run}/stream?as=ai-sdk"
    for position in BAD_HEADERS:
        answer = await http.get(url, headers={"last-event-id": position.encode("latin-1")})
        assert (position, answer.status_code) == (position, 400)
    both = await http.get(url + "&after=1.1", headers={"last-event-id": "2.1"})
    assert both.status_code == 400


async def test_a_position_past_the_end_of_a_live_run_is_refused(http: httpx.AsyncClient) -> None:
    """What does not exist yet was seen by nobody."""
    gate = new_id("gate")
    run = await start(http, f"hello [{gate}]", "diary")
    assert (await http.get(f"/api/runs/{run}/stream?after=5000")).status_code == 400
    await open_gate(http, gate)
    assert (await read(http, run)).endswith(b"data: [DONE]\n\n")


async def test_unknown_runs_and_protocols(http: httpx.AsyncClient) -> None:
    """404 and 400, as problems."""
    run, _ = await run_chat(http, "tool")
    wanted = {"nobody/stream": 404, f"{run}/stream?as=x": 400}
    wanted |= {"nobody": 404, "nobody/recording": 404, "a%20b": 404, "a%00b/stream": 404}
    for path, status in wanted.items():
        answer = await http.get(f"/api/runs/{path}")
        assert (path, answer.status_code) in [(path, status), (path, 422)]


# ------------------------------------------------------------------ a run that is on


EARLY = 3
"""Cuts that each viewer has had before the run goes on."""


async def test_live_viewers_that_are_cut_miss_nothing(http: httpx.AsyncClient) -> None:
    """Each is cut again and again at chance bytes, first while the run is held and then while it
    goes on, and comes back with its last whole frame: what it has seen is the run, byte for byte."""
    gate, half = new_id("gate"), " ".join(["word"] * 400)
    run = await start(http, f"{half} [{gate}] {half}", "diary")
    chance = random.Random(5)
    early = [[chance.randrange(1, 4_000) for _ in range(EARLY)] for _ in range(12)]
    plans = [sizes + [chance.randrange(1, 20_000) for _ in range(10)] for sizes in early]
    plans += [[size] * 12 for size in (1, 20, 137, 4096)]
    cut = asyncio.Barrier(len(plans) + 1)
    async with asyncio.TaskGroup() as group:
        watching = [group.create_task(watch_in_pieces(http, run, plan, cut)) for plan in plans]
        await cut.wait()
        assert (await http.get(f"/api/runs/{run}")).json()["outcome"] is None
        await open_gate(http, gate)
    whole = await read(http, run)
    assert [task.result() for task in watching] == [whole] * len(plans)


async def watch_in_pieces(
    http: httpx.AsyncClient, run: str, sizes: list[int], cut: asyncio.Barrier
) -> bytes:
    """Read a run with a connection for each size, and a last one for the rest."""
    seen, last = b"", ""
    for number, size in enumerate([*sizes, 1 << 30]):
        if number == EARLY:
            await cut.wait()
        query = f"as=ai-sdk&after={last}" if last else "as=ai-sdk"
        piece = without_comments(await read_part(http, run, size, query))
        whole = frames(piece)
        if whole:
            seen += piece[: whole[-1].end]
            last = whole[-1].id
    return seen


async def test_a_hundred_viewers_see_the_same(http: httpx.AsyncClient) -> None:
    """Whenever they come and in whichever protocol, one stream for all of each."""
    run = await start(http, LONG)
    watching = [read(http, run, PROTOCOLS[number % 2]) for number in range(100)]
    seen = [without_comments(each) for each in await asyncio.gather(*watching)]
    for number, protocol in enumerate(PROTOCOLS[:2]):
        assert set(seen[number::2]) == {await read(http, run, protocol)}


async def test_a_stopped_reader_delays_nobody(server: Server, http: httpx.AsyncClient) -> None:
    """It takes nothing of megabytes; the run ends, and others see all of it."""
    session = new_id("session")
    await http.post("/apps/tour/users/ada/sessions", json={"sessionId": session})
    message = {"parts": [{"text": "large file 4000"}]}
    body = json.dumps(
        {"appName": "tour", "userId": "ada", "sessionId": session, "newMessage": message}
    ).encode()
    head = b"POST /run_sse HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with socket.socket() as stopped:
        stopped.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stopped.connect(("127.0.0.1", server.port))
        stopped.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        run = await run_of(http, session)
        whole = await read(http, run, "as=adk")
        assert len(whole) > 5_000_000
        assert (await http.get(f"/api/runs/{run}")).json()["outcome"] == "finished"


async def run_of(http: httpx.AsyncClient, session: str) -> str:
    """Wait for the first run of a session; return its id."""
    async with asyncio.timeout(PATIENCE):
        while True:
            runs = (await http.get(f"/api/runs?session={session}")).json()
            if runs:
                found: str = runs[0]["run"]
                return found


@pytest.mark.parametrize("protocol", PROTOCOLS[:2])
async def test_silence_is_broken_by_comments(http: httpx.AsyncClient, protocol: str) -> None:
    """While nothing happens comments come, one after the other and without ids; they leave no trace
    in the run."""
    gate, received, opened = new_id("gate"), b"", False
    run = await start(http, f"wait {gate}", "diary")
    async with http.stream("GET", f"/api/runs/{run}/stream?{protocol}") as answer:
        async for piece in answer.aiter_raw():
            received += piece
            if received.endswith(b": keep-alive\n\n" * 3) and not opened:
                await open_gate(http, gate)
                opened = True
    assert opened
    assert without_comments(received) == await read(http, run, protocol)


# ------------------------------------------------------------------ one key, one run


@dataclass(frozen=True)
class Route:
    """A route that starts runs."""

    path: str

    def body(self, session: str, text: str) -> dict[str, Any]:
        if self.path.startswith("/api/chat"):
            message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": text}]}
            return {"id": session, "messages": [message]}
        message = {"parts": [{"text": text}]}
        about = {"appName": "diary", "userId": "user", "sessionId": session, "streaming": True}
        return {**about, "newMessage": message}


ROUTES = [Route("/api/chat/diary"), Route("/run_sse"), Route("/run")]


async def post(http: httpx.AsyncClient, route: Route, key: str, body: Any) -> httpx.Response:
    return await http.post(route.path, json=body, headers={"idempotency-key": key})


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path)
async def test_one_key_is_one_run(http: httpx.AsyncClient, route: Route) -> None:
    """Twenty at once get one run, and all of its stream; another body is refused."""
    session, key = new_id("session"), new_id("key")
    await http.post("/apps/diary/users/user/sessions", json={"sessionId": session})
    body = route.body(session, "count")
    answers = await asyncio.gather(*(post(http, route, key, body) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.headers["x-prism-run"] for answer in answers}) == 1
    assert len({without_comments(answer.content) for answer in answers}) == 1
    (run,) = (await http.get(f"/api/runs?session={session}")).json()
    assert run["outcome"] == "finished"
    other = await post(http, route, key, route.body(session, "hello"))
    assert other.status_code == 422
    state = await http.get(f"/apps/diary/users/user/sessions/{session}")
    assert state.json()["state"]["count"] == 1


async def test_a_repeated_answer_with_its_key_is_one_answer(http: httpx.AsyncClient) -> None:
    """A client that did not hear back sends its approval again, and gets the stream it missed; the
    same for a regenerated message."""
    chat, key = new_id(), new_id("key")
    asked = await http.post(ROUTES[0].path, json=chat_body(chat, "erase page"))
    answer = approve(chat, asked)
    again = {"id": chat, "trigger": "regenerate-message", "messages": []}
    for body in (answer, again):
        key = new_id("key")
        answers = [await post(http, ROUTES[0], key, body) for _ in range(3)]
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.headers["x-prism-run"] for answer in answers}) == 1
    assert len((await http.get(f"/api/runs?session={chat}")).json()) == 3


async def test_a_key_is_good_in_its_session_only(http: httpx.AsyncClient) -> None:
    """Two users who think of the same key do not get each other's runs."""
    route, key = ROUTES[0], new_id("key")
    answers = [
        await post(http, route, key, route.body(session, "hello"))
        for session in (new_id(), new_id())
    ]
    assert len({answer.headers["x-prism-run"] for answer in answers}) == 2


@pytest.mark.parametrize("key", ["x" * 256, "a\tb", "\xe9\x80"])
async def test_a_key_that_is_none(http: httpx.AsyncClient, key: str) -> None:
    """400, before anything runs."""
    headers = {"idempotency-key": key.encode("latin-1")}
    body = chat_body(new_id(), "hello")
    answer = await http.post("/api/chat/diary", json=body, headers=headers)
    assert answer.status_code == 400
    assert (await http.get(f"/api/runs?session={body['id']}")).json() == []
