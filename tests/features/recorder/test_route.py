"""`POST /api/record`: pieces of runs from recorders, each stored once, and trusted with nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.genai import types
from tests.adk.runs import ORIGIN
from tests.adk.scripted import Scripted
from tests.features.recorder.recorded import driven, recordings, runner_of_app
from tests.patience import PATIENCE
from tests.security.people import ANN, BOB, ROOT, headers
from tests.server.local_server import APP, USER, LocalServer, agent, local_server

from adk_prism import Recorder
from adk_prism.apps.tour.agent import tour_app
from adk_prism.errors import TooMany
from adk_prism.features.captures.recording_file import write_run
from adk_prism.features.recorder import runs as runs_from_recorders
from adk_prism.features.recorder.runs import LOST, RECORDED_SESSION, RecordedRuns
from adk_prism.features.recorder.sender import recorded_run, recorded_session
from adk_prism.log.entry import (
    CLIENT_RUN,
    FOREIGN,
    UPLOADED,
    WRITTEN_BY,
    AgentEvent,
    Entry,
    NodeEnded,
    NodeStarted,
    Origin,
    Record,
    RunEnded,
    RunStarted,
    labels,
    to_raw,
)
from adk_prism.log.memory import MemoryLog
from adk_prism.log.sqlite.store import SqliteLog
from adk_prism.runs.recorder import REQUEST_DIGEST
from adk_prism.runs.session_locks import SessionLocks
from adk_prism.testing.laws import check_laws

SECRET = "a-secret-of-forty-characters-0123456789ab"
RUN = recorded_run(SECRET)
SESSION_OF_CHAT = recorded_session(RUN, "chat")
SENT = {"content-type": "application/x-ndjson", "x-prism-recorder": SECRET}
Json = dict[str, Any]


def event(text: str, **more: Any) -> AgentEvent:
    content = {"role": "model", "parts": [{"text": text}]}
    fields = {"id": text, "author": "agent", "invocationId": "i1", "content": content, **more}
    return AgentEvent(json.dumps(fields).encode())


def head(user: str = USER, session: str = "chat", **more: Any) -> RunStarted:
    return RunStarted(
        run="theirs", origin=Origin(app=APP, user=user, session=session), invocation="i1", **more
    )


WHOLE: list[Record] = [head(), event("one"), event("two"), RunEnded(outcome="finished")]


def lines(records: list[Record], first: int = 1) -> bytes:
    return b"".join(write_run(Entry(first + i, 99.0 + first + i, r) for i, r in enumerate(records)))


async def post(server: LocalServer, body: bytes, **more: str) -> httpx.Response:
    return await server.client.post("/api/record", content=body, headers={**SENT, **more})


async def send(server: LocalServer, body: bytes, **more: str) -> int:
    answer = await post(server, body, **more)
    assert answer.status_code == 200, answer.text
    assert answer.json()["run"] == answer.headers["x-prism-run"] == RUN
    cursor: int = answer.json()["cursor"]
    return cursor


@pytest.fixture
async def server() -> AsyncIterator[LocalServer]:
    async with local_server(agent(Scripted.saying("hello", "again"))) as made:
        yield made


# ------------------------------------------------------------------ each record once


async def test_pieces_become_a_run(server: LocalServer) -> None:
    """Whatever is sent again is stored once, and in order; the times are those of the recorder."""
    assert await send(server, lines(WHOLE[:2])) == 2
    assert await send(server, lines(WHOLE[:2])) == 2
    assert await send(server, lines(WHOLE[1:3], 2)) == 3
    assert await send(server, b"") == 3
    assert await send(server, lines(WHOLE)) == 4
    assert await send(server, lines(WHOLE[2:], 3)) == 4
    entries = await server.entries(RUN)
    assert [entry.record for entry in entries[1:]] == WHOLE[1:]
    assert [entry.time for entry in entries] == [100.0, 101.0, 102.0, 103.0]
    assert check_laws(entries) == []


async def test_pieces_that_come_at_once_are_stored_once(server: LocalServer) -> None:
    """A request that was given up may still be under way when the next one comes."""
    await send(server, lines(WHOLE[:1]))
    await asyncio.gather(*(send(server, lines(WHOLE[1:], 2)) for _ in range(8)))
    assert len(await server.entries(RUN)) == 4


async def test_a_run_is_seen_while_it_happens(server: LocalServer) -> None:
    """In every protocol, and in the list of conversations."""
    await send(server, lines(WHOLE[:2]))
    shown = (await server.client.get("/api/conversations")).json()
    assert [(each["run"], each["uploaded"], each["outcome"]) for each in shown] == [
        (RUN, True, None)
    ]

    async def follow(protocol: str) -> str:
        return (await server.client.get(f"/api/runs/{RUN}/stream?as={protocol}")).text

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        views = [group.create_task(follow(name)) for name in ("adk", "ai-sdk", "studio", "ag-ui")]
        film = group.create_task(server.client.get(f"/api/runs/{RUN}/film?after=2"))
        await server.reaches(RUN, b"one")
        await send(server, lines(WHOLE[2:], 3))
    assert all("two" in view.result() for view in views)
    assert "two" in film.result().text  # what the page asks for, as the run grows


async def test_a_server_that_restarts_goes_on_with_the_run(tmp_path: Path) -> None:
    """An unended run of a recorder is nobody's to take over."""
    for first in range(4):
        async with local_server(
            agent(Scripted.saying()), log=SqliteLog(tmp_path / "runs.db")
        ) as made:
            assert await send(made, lines([WHOLE[first]], first + 1)) == first + 1
            if first == 3:
                assert [e.record for e in await made.entries(RUN)][1:] == WHOLE[1:]


async def test_open_runs_are_counted_for_each_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has too many open is refused, and nobody else; an ended run makes room."""
    monkeypatch.setattr(runs_from_recorders, "MOST_OPEN_OF_A_CALLER", 3)
    log = MemoryLog()
    await log.open()
    runs = RecordedRuns(log, SessionLocks(), lambda _: None, most_bytes=10**6)
    secrets = [f"{number:0>40}" for number in range(5)]

    async def begin(secret: str, by: str) -> int:
        return await runs.append(recorded_run(secret), lines([head()]), lambda origin: origin, by)

    for secret in secrets[:3]:
        assert await begin(secret, "user ann") == 1
    await runs.settle()
    with pytest.raises(TooMany, match="You have 3 open recorded runs"):
        await begin(secrets[3], "user ann")
    assert await begin(secrets[3], "user bob") == 1
    ended = lines([RunEnded(outcome="finished")], 2)
    await runs.append(recorded_run(secrets[0]), ended, lambda origin: origin, "user ann")
    assert await begin(secrets[4], "user ann") == 1


# ------------------------------------------------------------------ recorders that go away


async def test_a_recorder_that_is_lost_and_one_that_comes_back() -> None:
    """After a time of silence the run fails and its nodes end; a sign of life starts the time anew."""
    log, now = MemoryLog(), 1000.0
    await log.open()
    runs = RecordedRuns(log, SessionLocks(), lambda _: None, most_bytes=10**6, clock=lambda: now)
    node = NodeStarted(node="n1", name="agent", kind="agent")
    await runs.append(RUN, lines([head(), node]), lambda origin: origin)
    await runs.settle()
    for body in (b"", lines([event("one")], 3), b""):
        now += LOST - 1
        await runs.settle()
        await runs.append(RUN, body, lambda origin: origin)
    now += LOST - 1
    await runs.settle()
    assert (await log.summary(RUN)).outcome is None
    now += 1
    await runs.settle()
    found = [entry.record async for batch in log.read(RUN) for entry in batch]
    assert found[-2:] == [
        NodeEnded(node="n1", status="cancelled", derived=True),
        RunEnded(outcome="failed", code="owner_lost"),
    ]


async def test_a_process_that_starts_gives_every_recorder_its_time() -> None:
    """It cannot know for how long nothing came before."""
    log, now = MemoryLog(), 5.0
    await log.open()
    made = [
        RecordedRuns(log, SessionLocks(), lambda _: None, most_bytes=10**6, clock=lambda: now)
        for _ in range(2)
    ]
    await made[0].append(RUN, lines(WHOLE[:1]), lambda origin: origin)
    now += 10 * LOST
    await made[1].settle()
    assert (await log.summary(RUN)).outcome is None
    now += LOST
    await made[1].settle()
    assert (await log.summary(RUN)).outcome == "failed"


async def test_nobody_here_can_stop_it(server: LocalServer) -> None:
    """The agent runs elsewhere; a run that is over stays as it is."""
    await send(server, lines(WHOLE[:2]))
    answer = await server.client.post(f"/api/runs/{RUN}/cancel")
    assert answer.status_code == 409
    assert await send(server, lines(WHOLE[2:], 3)) == 4
    assert (await server.client.post(f"/api/runs/{RUN}/cancel")).json()["outcome"] == "finished"


# ------------------------------------------------------------------ what is not believed


async def test_a_recorded_run_changes_no_chat(server: LocalServer) -> None:
    """It names a session of this server, its invocation and its message, and is in neither."""
    own = await server.say("hi")
    invocation = (await server.client.get(f"/api/runs/{own}")).json()["invocation"]
    before = await server.messages(), await server.stored()
    forged = [
        head(
            replaces=own,
            rewound=[own],
            labels=labels(REQUEST_DIGEST("d"), UPLOADED(False), CLIENT_RUN(own)),
        ),
        event("forged", invocationId=invocation),
    ]
    await send(server, lines(forged))
    assert (await server.messages(), await server.stored()) == before
    listed = (await server.client.get(f"/api/runs?app={APP}&session=chat")).json()
    assert [each["run"] for each in listed] == [own]
    await server.say("and now?")  # the open run does not hold the session
    assert len(await server.messages()) == 4
    (first, *_) = [entry async for entry in _entries(server)]
    assert isinstance(first, RunStarted)
    assert FOREIGN.read(first)
    assert UPLOADED.read(first)
    assert (first.replaces, REQUEST_DIGEST.read(first), first.run) == ("", "", RUN)
    assert (first.origin.session, RECORDED_SESSION.read(first)) == (SESSION_OF_CHAT, "chat")


async def _entries(server: LocalServer) -> AsyncIterator[Record]:
    async for batch in server.context.log.read(RUN):
        for entry in batch:
            yield entry.record


async def test_nothing_in_it_is_answered_and_no_file_is_fetched(server: LocalServer) -> None:
    """Its approvals wait for nobody here, and a reference in it stays a reference."""
    asks = {"id": "a1", "name": "adk_request_confirmation", "args": {"originalFunctionCall": {}}}
    refers = {"fileData": {"fileUri": "gs://bucket/secret", "mimeType": "text/plain"}}
    parts = {"content": {"role": "model", "parts": [{"functionCall": asks}, refers]}}
    asked = event("x", longRunningToolIds=["a1"], **parts)
    await send(server, lines([head(), asked, RunEnded(outcome="waiting")]))
    file = await server.client.get(f"/api/runs/{RUN}/files/2/2")
    assert file.status_code in (403, 404), file.text
    part = {"type": "tool-x", "toolCallId": "a1", "state": "approval-responded",
            "input": {}, "approval": {"id": "a1", "approved": True}}  # fmt: skip
    body = {
        "id": SESSION_OF_CHAT,
        "messages": [{"id": RUN, "role": "assistant", "parts": [part]}],
    }
    answer = await server.client.post(f"/api/chat/{APP}", json=body)
    assert answer.status_code in (404, 409), answer.text


async def test_the_runs_of_a_session_are_one_conversation(
    server: LocalServer, tmp_path: Path
) -> None:
    """Listed once, and read like a chat: an approval that was answered is one message."""
    app = tour_app(0.0)
    app.plugins.append(Recorder(file=str(tmp_path)))
    runner = await runner_of_app(app)
    [each async for each in driven(runner, "text")]
    asked = [each async for each in driven(runner, "approval")]
    (request,) = [
        made
        for each in asked
        for made in each.get_function_calls()
        if made.name == "adk_request_confirmation" and not each.partial
    ]
    given = types.FunctionResponse(id=request.id, name=request.name, response={"confirmed": True})
    answer = types.Content(role="user", parts=[types.Part(function_response=given)])
    [each async for each in driven(runner, new_message=answer)]
    await runner.close()
    for number, entries in enumerate(recordings(tmp_path)):
        secret = f"{number}{SECRET}"
        body = b"".join(write_run(entries))
        assert (await post(server, body, **{"x-prism-recorder": secret})).status_code == 200
    (listed,) = (await server.client.get(f"/api/conversations?app={ORIGIN.app}")).json()
    assert (listed["runs"], listed["uploaded"], listed["title"]) == (3, True, "text")
    where = f"/api/chat/{ORIGIN.app}/{listed['session']}"
    shown = (await server.client.get(f"{where}/messages?userId={ORIGIN.user}")).json()
    assert [m["role"] for m in shown] == ["user", "assistant"] * 2, shown
    (tool,) = [p for p in shown[-1]["parts"] if p["type"] == "tool-send_invoice"]
    assert tool["state"] == "output-available"
    resumed = await server.client.get(f"{where}/stream?userId={ORIGIN.user}")
    assert resumed.status_code == 204


async def test_a_run_that_still_happens_can_be_forked(server: LocalServer) -> None:
    """Into a conversation of this server, which the recorder cannot touch."""
    said = to_raw({"role": "user", "parts": [{"text": "tell me"}]})
    await send(server, lines([head(message=said), event("one")]))
    message = {"role": "user", "parts": [{"text": "and then?"}]}
    forked = await server.fork(RUN, 2, newMessage=message)
    await server.entries(forked["run"])
    assert await send(server, lines([event("two")], 3)) == 3
    stored = json.dumps(await server.stored(forked["session"]))
    assert "one" in stored
    assert "hello" in stored
    assert "two" not in stored


async def test_credentials_are_removed(server: LocalServer) -> None:
    """As from an upload: whatever the recorder's version did."""
    config = {"authType": "oauth2", "oauth2": {"clientSecret": "hush-hush-hush"}}
    delta = {"actions": {"stateDelta": {"temp:x": 1, "api_key": "sk-hush-hush-hush", "kept": 1}}}
    await send(server, lines([head(), event("x", customMetadata={"c": config}, **delta)]))
    text = (await server.client.get(f"/api/runs/{RUN}/recording")).text
    assert "hush" not in text
    assert "temp:" not in text
    assert "kept" in text


@dataclass(frozen=True)
class Bad:
    """A body or header that is refused."""

    id: str
    body: bytes
    status: int
    says: str
    headers: tuple[tuple[str, str], ...] = ()


DEEP = b"[" * 100_000 + b"]" * 100_000
START = lines(WHOLE[:1])
BAD = [
    Bad("not JSON", b"{", 422, "Line 1"),
    Bad("not a record", b'{"a":1}\n', 422, "Line 1"),
    Bad("a plain event", b'{"author":"agent","content":{}}\n', 422, "Line 1"),
    Bad("unknown kind", b'{"cursor":2,"time":1,"type":"Surprise"}\n', 422, "Line 1"),
    Bad("second start", lines([head()], 2), 422, "starts with RunStarted"),
    Bad("no start", lines([event("x")], 1), 422, "starts with RunStarted"),
    Bad("unknown run", lines([event("x")], 2), 409, "from its start"),
    Bad("only a sign of life", b"", 409, "from its start"),
    Bad("gap inside", START + lines([event("x")], 3), 422, "cursor"),
    Bad("after the end", lines([*WHOLE, event("more")]), 422, "more follows"),
    Bad("negative cursor", START.replace(b'"cursor":1', b'"cursor":-1'), 422, "cursor"),
    Bad("time", START.replace(b'"time":100.0', b'"time":1e300'), 422, "time"),
    Bad("not UTF-8", START.replace(b"theirs", b"\xff\xfe"), 422, "Line 1"),
    Bad("deep", b'{"cursor":1,"time":1,"type":"AgentEvent","event":' + DEEP + b"}\n", 422, "Line 1"),
    Bad("newer", lines([head(labels=labels(WRITTEN_BY("99.0.0")))]), 422, "newer"),
    Bad("type", START, 415, "application/x-ndjson", (("content-type", "text/plain"),)),
    Bad("short secret", START, 400, "x-prism-recorder", (("x-prism-recorder", "short"),)),
    Bad("odd secret", START, 400, "x-prism-recorder", (("x-prism-recorder", "a b" * 20),)),
    Bad("compressed", START, 415, "Content-Encoding", (("content-encoding", "gzip"),)),
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.id.replace(" ", "_"))
async def test_bad_input_is_refused_and_stores_nothing(bad: Bad, server: LocalServer) -> None:
    """With a problem that says what is wrong; afterwards the run can be sent properly."""
    answer = await post(server, bad.body, **dict(bad.headers))
    assert answer.status_code == bad.status, answer.text
    assert bad.says in answer.json()["detail"]
    assert (await server.client.get(f"/api/runs/{RUN}")).status_code == 404
    assert await send(server, lines(WHOLE)) == 4
    assert not [report for report in server.reports if report.kind == "request failed"]


async def test_names_that_are_none_are_replaced(server: LocalServer) -> None:
    """They end up in paths and pages."""
    where = Origin(app="../etc", user="a/b", session="\x00")
    await send(server, lines([RunStarted(run="", origin=where)]))
    shown = (await server.client.get(f"/api/runs/{RUN}")).json()
    assert (shown["app"], shown["user"]) == ("recording", "user")


async def test_a_run_has_a_size() -> None:
    """All its pieces together, as an upload has."""
    async with local_server(agent(Scripted.saying()), upload_limit=20_000) as server:
        cursor = await send(server, lines(WHOLE[:1]))
        answer = None
        for _ in range(20):
            answer = await post(server, lines([event("x" * 2000)], cursor + 1))
            if answer.status_code != 200:
                break
            cursor += 1
        assert answer is not None
        assert answer.status_code == 413
        assert "--upload-limit" in answer.json()["detail"]
        assert await send(server, lines([RunEnded(outcome="incomplete")], cursor + 1)) == cursor + 1


# ------------------------------------------------------------------ whose run it is


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[LocalServer]:
    """Serve people with tokens, one of whom may record for others."""
    tokens = {
        f"token-of-{ANN}": ANN,
        f"token-of-{BOB}": BOB,
        f"token-of-{ROOT}": {"user": ROOT, "scopes": ["admin"]},
        "token-of-robot": {"user": "robot", "scopes": ["record"]},
    }
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps(tokens))
    async with local_server(agent(Scripted.saying()), tokens=str(file)) as made:
        yield made


@pytest.mark.parametrize(
    ("who", "owner"), [(ANN, ANN), ("robot", BOB), (ROOT, BOB)], ids=["person", "scope", "admin"]
)
async def test_whose_run_it_is(who: str, owner: str, house: LocalServer) -> None:
    """Whom the recorder names, if it has the scope; else the caller, whatever it names."""
    await send(house, lines([head(BOB), event("one")]), **headers(who))
    assert await send(house, lines([event("two")], 3), **headers(who)) == 3
    for user in (ANN, BOB):
        seen = await house.client.get(f"/api/runs/{RUN}", headers=headers(user))
        assert seen.status_code == (200 if user == owner else 404)
    # The scope is for writing: it does not let a recorder read.
    read = await house.client.get(f"/api/runs/{RUN}", headers=headers("robot"))
    assert read.status_code == 404


async def test_only_its_recorder_adds_to_a_run(house: LocalServer) -> None:
    """Another secret is another run; a secret in other hands does not help; nobody is no recorder."""
    await send(house, lines(WHOLE[:2]), **headers(ANN))
    other = {**headers(ANN), "x-prism-recorder": "x" * 40}
    assert (await post(house, lines([event("two")], 3), **other)).status_code == 409
    assert (await post(house, lines([event("two")], 3), **headers(BOB))).status_code == 404
    assert (await post(house, b"", **headers(BOB))).status_code == 404
    assert (await post(house, lines([event("two")], 3))).status_code == 401
    assert await send(house, b"", **headers(ANN)) == 2


async def test_what_was_recorded_of_an_app_that_is_not_served_is_read(server: LocalServer) -> None:
    """An unknown chat of an unknown app is still not found."""
    origin = Origin(app="elsewhere", user=USER, session="chat")
    said = to_raw({"role": "user", "parts": [{"text": "tell me"}]})
    began = RunStarted(run=RUN, origin=origin, message=said)
    entries = [Entry(1, 1.0, began), Entry(2, 2.0, RunEnded(outcome="finished"))]
    assert (await post(server, b"".join(write_run(entries)))).status_code == 200
    where = f"/api/chat/elsewhere/{SESSION_OF_CHAT}/messages?userId={USER}"
    shown = (await server.client.get(where)).json()
    assert shown[0]["parts"] == [{"type": "text", "text": "tell me"}]
    other = await server.client.get(f"/api/chat/elsewhere/other/messages?userId={USER}")
    assert other.status_code == 404
