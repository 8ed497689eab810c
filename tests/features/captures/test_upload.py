"""Upload: a recording or capture from anywhere becomes a run like any other, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.adk.scripted import Scripted, call
from tests.server.local_server import SESSION, LocalServer, agent, local_server

from adk_prism.errors import LogError
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.features.captures.recording_file import read_run, write_run
from adk_prism.log.contract import Retention
from adk_prism.log.entry import UPLOADED, Record, RunEnded, RunStarted, pack
from adk_prism.log.memory import MemoryLog
from adk_prism.log.sqlite.store import SqliteLog
from adk_prism.runs.recorder import REQUEST_DIGEST

RECORDINGS = Path(__file__).parent.parent.parent / "recordings"
JSONL = "application/jsonl"
Json = dict[str, Any]


async def send(server: LocalServer, body: Any, kind: str = JSONL) -> httpx.Response:
    return await server.client.post("/api/recordings", content=body, headers={"content-type": kind})


async def upload(server: LocalServer, body: Any, kind: str = JSONL) -> Json:
    answer = await send(server, body, kind)
    assert answer.status_code == 201, answer.text
    found: Json = answer.json()
    assert answer.headers["x-prism-run"] == found["run"]
    assert answer.headers["location"] == f"/api/runs/{found['run']}"
    return found


def stage_of(model: Scripted | None = None) -> Any:
    return local_server(agent(model or Scripted.saying()))


def events_of(name: str) -> list[bytes]:
    return (RECORDINGS / "raw" / f"{name}.jsonl").read_bytes().splitlines()


# ------------------------------------------------------------------ every form


def as_lines(events: list[bytes]) -> bytes:
    return b"\n".join(events) + b"\n"


def as_sse(events: list[bytes]) -> bytes:
    return b"".join(b"data: " + event + b"\n\n" for event in events)


def as_list(events: list[bytes]) -> bytes:
    return b"[" + b",\n ".join(events) + b"]"


def as_session(events: list[bytes]) -> bytes:
    return b'{"appName":"theirs","userId":"ada","id":"s1","events":' + as_list(events) + b"}"


@dataclass(frozen=True)
class Form:
    id: str
    kind: str
    make: Any
    app: str = "recording"
    user: str = "user"


FORMS = [
    Form("lines", JSONL, as_lines),
    Form("ndjson", "application/x-ndjson; charset=utf-8", as_lines),
    Form("run_sse", "text/event-stream", as_sse),
    Form("list", "application/json", as_list),
    Form("session", "application/json", as_session, "theirs", "ada"),
    Form("unnamed type", "application/octet-stream", as_sse),
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.id)
async def test_every_form_is_read(form: Form) -> None:
    """The form is told from the bytes; the type only says that no web page sent them unasked."""
    events = events_of("tool")
    async with stage_of() as server:
        found = await upload(server, form.make(events), form.kind)
        assert (found["app"], found["user"], found["outcome"]) == (form.app, form.user, "finished")
        assert found["session"] == f"recording-{found['run']}"
        assert found["cursor"] == len(events) + 2
        streamed = await server.client.get(f"/api/runs/{found['run']}/stream?as=ai-sdk")
        assert streamed.text.rstrip().endswith("data: [DONE]")
        seen = (await server.client.get(f"/api/runs/{found['run']}/view")).json()
        assert seen["graph"]["nodes"]


async def test_every_recording_comes_back_as_it_was() -> None:
    """Entries, cursors and times; only its name and place are new. No secret was in them to redact."""
    async with stage_of() as server:
        for recording in sorted(RECORDINGS.glob("*.jsonl")):
            found = await upload(server, recording.read_bytes())
            entries = await server.entries(found["run"])
            wanted = list(read_run(recording, end=CaptureEnding()))
            assert [(e.cursor, e.time) for e in entries] == [(e.cursor, e.time) for e in wanted]
            if "credential" not in recording.stem:
                assert [pack(e.record) for e in entries[1:]] == [pack(e.record) for e in wanted[1:]]
            head = entries[0].record
            assert isinstance(head, RunStarted)
            assert UPLOADED.read(head)


async def test_a_download_can_be_uploaded_elsewhere() -> None:
    """And keeps its id there; where the id is taken, it gets another."""
    async with stage_of(Scripted.saying(call("count", "c1"), "One.")) as server:
        run = await server.say("count")
        file = (await server.client.get(f"/api/runs/{run}/recording")).content
        again = await upload(server, file)
        assert again["run"] != run
        assert (again["app"], again["user"]) == ("app", "user")
    async with stage_of() as other:
        found = await upload(other, file)
        assert found["run"] == run
        assert (await other.client.get(f"/api/runs/{run}/recording")).content.count(b"\n") == (
            file.count(b"\n")
        )


async def test_an_upload_is_no_turn_of_a_chat() -> None:
    """Not of the chat it was recorded in, and not of one with the name that it has now."""
    async with stage_of(Scripted.saying("One.", "Two.")) as server:
        run = await server.say("first")
        file = (await server.client.get(f"/api/runs/{run}/recording")).content
        found = await upload(server, file)
        assert len(await server.messages()) == 2
        await server.say("second", found["session"])
        assert len(await server.messages(found["session"])) == 2
        head = (await server.entries(found["run"]))[0].record
        assert isinstance(head, RunStarted)
        assert (REQUEST_DIGEST.read(head), head.replaces) == ("", "")


async def test_a_recording_without_an_end_is_incomplete() -> None:
    """It was cut, or downloaded while the run went on: nobody knows how that ended."""
    lines = (RECORDINGS / "approval.jsonl").read_bytes().splitlines(keepends=True)
    async with stage_of() as server:
        found = await upload(server, b"".join(lines[:-1]))
        assert found["outcome"] == "incomplete"


async def test_an_old_recording_is_not_trimmed_at_once() -> None:
    """It is as old as its upload, whatever its own clock says."""
    async with stage_of() as server:
        found = await upload(server, as_lines(events_of("text")))
        assert found["started"] > 1_600_000_000
        await server.context.log.trim(Retention(), found["ended"] + 60)
        assert (await server.client.get(f"/api/runs/{found['run']}")).status_code == 200


# ------------------------------------------------------------------ what must not get in

SECRET = {"authType": "apiKey", "apiKey": "s3cret"}


def with_secret(place: str) -> bytes:
    event: Json = {"id": "e1", "author": "agent", "invocationId": "e-1", "timestamp": 1.0}
    event["actions"] = {"stateDelta": {"k": {"rawAuthCredential": SECRET}}, "artifactDelta": {}}
    started: Json = {
        "cursor": 1,
        "time": 1.0,
        "type": "RunStarted",
        "run": "run-x",
        "origin": {"app": "app", "user": "user", "session": "s"},
        "state": {"k": {"rawAuthCredential": SECRET}},
    }
    plain = {**started, "state": {}}
    child = {"cursor": 2, "time": 2.0, "type": "ChildEvent", "call": "c1", "event": event}
    own = {"cursor": 2, "time": 2.0, "type": "AgentEvent", "event": event}
    files: dict[str, list[Json]] = {
        "event of a capture": [event],
        "event of a recording": [plain, own],
        "state at the start": [started],
        "event of a child": [plain, child],
    }
    return b"".join(json.dumps(line).encode() + b"\n" for line in files[place])


@pytest.mark.parametrize(
    "place",
    ["event of a capture", "event of a recording", "state at the start", "event of a child"],
)
@pytest.mark.parametrize("spelled", ["plainly", "in escapes"])
async def test_credentials_are_redacted_on_the_way_in(place: str, spelled: str) -> None:
    """As from our own events, wherever they stand and however they are spelled."""
    file = with_secret(place)
    assert b"s3cret" in file
    if spelled == "in escapes":
        file = file.replace(b"authType", b"\\u0061uthType").replace(b"rawAuth", b"raw\\u0041uth")
    async with stage_of() as server:
        found = await upload(server, file)
        stored = (await server.client.get(f"/api/runs/{found['run']}/recording")).text
        assert "rawAuthCredential" in stored
        assert "s3cret" not in stored


async def test_internal_marks_and_temporary_state_stay_outside() -> None:
    """Only ADK may set the first, and the second never leaves a run."""
    event = {
        "id": "e1",
        "author": "agent",
        "customMetadata": {"__adk_internal_restored_event": True, "mine": 1},
        "actions": {"stateDelta": {"temp:x": 1, "kept": 2}},
    }
    async with stage_of() as server:
        found = await upload(server, json.dumps(event).encode())
        stored = (await server.client.get(f"/api/runs/{found['run']}/recording")).text
        assert "internal" not in stored
        assert "temp:" not in stored
        assert '"mine":1' in stored
        assert '"kept":2' in stored


async def test_the_uploader_s_own_error_texts_stay() -> None:
    """They are no exception of this server."""
    event = {"id": "e1", "author": "agent", "errorCode": "X", "errorMessage": "boom in line 3"}
    async with stage_of() as server:
        found = await upload(server, json.dumps(event).encode())
        assert found["outcome"] == "failed"
        stored = (await server.client.get(f"/api/runs/{found['run']}/recording")).text
        assert "boom in line 3" in stored


@pytest.mark.parametrize(
    "origin",
    [
        {"app": "../x", "user": "a/b", "session": "s"},
        {"app": "__proto__", "user": "\u202e", "session": "s"},
        {"app": "", "user": "", "session": ""},
    ],
)
async def test_names_that_may_not_be_used_are_not(origin: Json) -> None:
    """Nor an id that is none."""
    line = {"cursor": 1, "time": 1.0, "type": "RunStarted", "run": "../etc", "origin": origin}
    async with stage_of() as server:
        found = await upload(server, json.dumps(line).encode() + b"\n")
        assert (found["app"], found["user"]) == ("recording", "user")
        assert found["run"].startswith("run-")


# ------------------------------------------------------------------ refusals


def cut(name: str, size: int) -> bytes:
    whole = (RECORDINGS / f"{name}.jsonl").read_bytes()
    return whole[:-size]


@dataclass(frozen=True)
class Bad:
    id: str
    body: bytes
    status: int = 422
    says: str = ""
    kind: str = JSONL


def lines(name: str) -> list[bytes]:
    return (RECORDINGS / f"{name}.jsonl").read_bytes().splitlines(keepends=True)


BAD = [
    Bad("nothing", b"", says="empty"),
    Bad("no JSON", b"hello\n", says="hello"),
    Bad("cut in a line", cut("tool", 30), says=f"line {len(lines('tool'))}"),
    Bad("broken in the middle", b"".join([*lines("tool")[:5], b"{oops\n"]), says="Line 6"),
    Bad("an entry missing", b"".join(lines("tool")[:3] + lines("tool")[4:]), says="line 4"),
    Bad("no start", b"".join(lines("tool")[1:]), says="cursor"),
    Bad("goes on after the end", b"".join([*lines("tool"), lines("tool")[-1]]), says="end"),
    Bad("no events", b'{"a": 1}\n{"b": 2}\n', says="Line 1"),
    Bad("cut list", as_list(events_of("text"))[:-50], says="truncated", kind="application/json"),
    Bad("too deep", b'{"author":"a","x":"authType","y":' + b"[" * 5000 + b"]" * 5000 + b"}\n"),
    Bad("text", b"{}", 415, kind="text/plain"),
    Bad("form", b"{}", 415, kind="application/x-www-form-urlencoded"),
    Bad("no type", b"{}", 415, kind=""),
]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.id)
async def test_what_cannot_be_read_is_refused_and_leaves_nothing(case: Bad) -> None:
    """With the line; no run, not even one that was removed again; the operator is not bothered."""
    async with stage_of() as server:
        answer = await send(server, case.body, case.kind)
        assert answer.status_code == case.status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert case.says in answer.json()["detail"]
        assert await server.context.log.list() == []
        assert server.reports == []
        whole = (RECORDINGS / "tool.jsonl").read_bytes()
        assert (await upload(server, whole))["run"] == "run-1"


async def test_the_limit_is_its_own() -> None:
    """Larger than that of other bodies, counted while it comes, and set by the operator."""
    padding = json.dumps(
        {"author": "agent", "id": "e", "content": {"parts": [{"text": "x" * 10_000}]}}
    )
    small = (padding + "\n").encode() * 10
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1000):
            sent += 1
            yield small

    async with local_server(
        agent(Scripted.saying()), body_limit=1000, upload_limit=200_000
    ) as server:
        await upload(server, small)
        answer = await send(server, endless())
        assert answer.status_code == 413
        assert "--upload-limit" in answer.json()["detail"]
        assert sent < 5
        other = await server.client.post("/run", json={"x": "y" * 2000})
        assert "--body-limit" in other.json()["detail"]


class FullLog(MemoryLog):
    """A log that has no room for the end of a run."""

    async def append(self, run: Any, records: Any, **more: Any) -> Any:
        taken: list[Record] = list(records)
        if any(isinstance(record, RunEnded) for record in taken):
            raise LogError("The disk is full.")
        return await super().append(run, taken, **more)


async def test_what_cannot_be_stored_leaves_nothing() -> None:
    """The part that was there is removed, and the client told to come back."""
    async with local_server(agent(Scripted.saying()), log=FullLog()) as server:
        answer = await send(server, (RECORDINGS / "long.jsonl").read_bytes())
        assert answer.status_code == 503
        assert await server.context.log.list() == []


async def test_a_long_recording_is_stored_in_batches(tmp_path: Path) -> None:
    """In a file as in memory, in order, with its times."""
    started = next(read_run(RECORDINGS / "text.jsonl"))
    event = events_of("text")[0]
    recording = b"".join(write_run([started])) + b"".join(
        b'{"cursor":%d,"time":%d.5,"type":"AgentEvent","event":%b}\n' % (n, n, event)
        for n in range(2, 3000)
    )
    log = SqliteLog(tmp_path / "runs.db")
    async with local_server(agent(Scripted.saying()), log=log) as server:
        found = await upload(server, recording)
        entries = await server.entries(found["run"])
        assert [e.time for e in entries[1:-1]] == [n + 0.5 for n in range(2, 3000)]


async def test_the_chat_it_came_from_is_untouched() -> None:
    """An upload never writes to a session."""
    async with stage_of(Scripted.saying("One.")) as server:
        run = await server.say("first")
        before = await server.stored()
        await upload(server, (await server.client.get(f"/api/runs/{run}/recording")).content)
        assert await server.stored() == before
        listed = (await server.client.get("/apps/app/users/user/sessions")).json()
        assert [session["id"] for session in listed] == [SESSION]
