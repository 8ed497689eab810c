"""Who did what: every deed that matters, by whom and from where, for administrators, also later."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.tools import FunctionTool
from tests.adk.scripted import Scripted, call
from tests.patience import PATIENCE
from tests.security.people import ANN, BOB, ROOT, SECRET, headers, house, token_file
from tests.server.local_server import APP, LocalServer, agent, local_server
from tests.voice.agent import TOOLS, script
from tests.voice.live_run import runner_of, scripted_agent
from tests.voice.served import served

from adk_prism.errors import LogError
from adk_prism.features.audit.audit_file import AuditFile, RotatingFile, open_audit_file
from adk_prism.log.entry import Origin, RunStarted
from adk_prism.runs.session_log import AuditedAction

Json = dict[str, Any]
pytestmark = [
    pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]"),
    pytest.mark.filterwarnings("ignore:Please use create_session instead"),
]


async def deeds(stage: LocalServer, **query: str) -> list[Json]:
    """Ask as an administrator; the oldest first."""
    answer = await stage.client.get("/api/audit", headers=headers(ROOT), params=query)
    assert answer.status_code == 200, answer.text
    found: list[Json] = answer.json()
    return found[::-1]


def erase(what: str) -> Json:
    """Erase something."""
    return {"erased": what}


@asynccontextmanager
async def asking(folder: Path, **settings: Any) -> AsyncIterator[LocalServer]:
    """Serve an agent that asks before it erases."""
    model = Scripted.saying(call("erase", "c1", what="it"), "Done.")
    tools = [FunctionTool(erase, require_confirmation=True)]
    audit = str(folder / "audit.jsonl")
    settings = {"tokens": token_file(folder), "audit": audit, **settings}
    async with local_server(agent(model, tools=tools), **settings) as stage:
        yield stage


def chat(*messages: Json) -> Json:
    return {"id": "chat", "userId": BOB, "messages": [*messages]}


SAID: Json = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "erase it"}]}


async def asked(stage: LocalServer) -> tuple[str, str, str]:
    """Have the agent ask; return its message, its call and its approval."""
    answer = await stage.client.post(f"/api/chat/{APP}", json=chat(SAID), headers=headers(BOB))
    lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
    chunks = list(map(json.loads, lines))
    (request,) = [chunk for chunk in chunks if chunk["type"] == "tool-approval-request"]
    return answer.headers["x-prism-run"], request["toolCallId"], request["approvalId"]


async def answer_chat(stage: LocalServer, by: str, approved: bool) -> str:
    message, tool, approval = await asked(stage)
    part = {
        "type": "tool-erase",
        "toolCallId": tool,
        "state": "approval-responded",
        "input": {"what": "it"},
        "approval": {"id": approval, "approved": approved},
    }
    assistant = {"id": message, "role": "assistant", "parts": [part]}
    body = chat(SAID, assistant)
    answer = await stage.client.post(f"/api/chat/{APP}", json=body, headers=headers(by))
    assert answer.status_code == 200, answer.text
    return answer.headers["x-prism-run"]


async def answer_adk(stage: LocalServer, by: str, approved: bool) -> str:
    _, _, approval = await asked(stage)
    given = {"confirmed": approved}
    response = {"name": "adk_request_confirmation", "id": approval, "response": given}
    message = {"role": "user", "parts": [{"functionResponse": response}]}
    body = {"appName": APP, "userId": BOB, "sessionId": "chat", "newMessage": message}
    answer = await stage.client.post("/run", json=body, headers=headers(by))
    assert answer.status_code == 200, answer.text
    return answer.headers["x-prism-run"]


async def answer_studio(stage: LocalServer, by: str, approved: bool) -> str:
    _, tool, approval = await asked(stage)
    given = {"id": approval, "call": tool, "approved": approved}
    body = {"session_id": "chat", "user_id": BOB, "answers": [given]}
    path = f"/api/studio/{APP}/stream"
    answer = await stage.client.post(path, json=body, headers=headers(by))
    assert answer.status_code == 200, answer.text
    return answer.headers["x-prism-run"]


@pytest.mark.parametrize("answer", [answer_chat, answer_adk, answer_studio])
@pytest.mark.parametrize(("by", "approved"), [(BOB, True), (ROOT, False)])
async def test_approvals_are_written_down(
    answer: Any, by: str, approved: bool, tmp_path: Path
) -> None:
    """In every protocol: whose run it is, and who it was that decided."""
    async with asking(tmp_path) as stage:
        run = await answer(stage, by, approved)
        (deed,) = await deeds(stage)
        head = (await stage.entries(run))[0].record
        assert isinstance(head, RunStarted)
        assert head.continues is not None
        (decision,) = head.continues.decisions.values()
    assert deed.pop("time") > 1.7e9
    assert len(deed.pop("request")) == 16
    assert deed.pop("about") == f"erase {decision.approval}"
    assert (decision.by, decision.approved) == (by, approved)
    assert deed == {
        "action": "approval given" if approved else "approval denied",
        "by": by,
        "address": "127.0.0.1",
        "app": APP,
        "user": BOB,
        "session": "chat",
        "run": run,
    }


async def client_recording(url: str, run: str) -> str:
    async with httpx.AsyncClient(base_url=url, headers=headers(ANN), timeout=PATIENCE) as client:
        return (await client.get(f"/api/runs/{run}/recording")).raise_for_status().text


async def test_approvals_of_live_runs_are_written_down(tmp_path: Path) -> None:
    """Over the socket, by whoever opened it."""
    audit = tmp_path / "audit.jsonl"
    settings = {"tokens": token_file(tmp_path), "audit": str(audit)}
    async with (
        served(runner_of(scripted_agent(script, TOOLS)), **settings) as server,
        server.live(f"session=s1&userId={ANN}", additional_headers=headers(ANN)) as client,
    ):
        await client.say("pay")
        frame = await client.until_chunk("tool-approval-request")
        approval = frame["chunk"]["approvalId"]
        await client.send("approval", approvalId=approval, approved=True)
        await client.until_chunk("tool-output-available")
        run = client.frames[0]["run"]
        recording = await client_recording(server.url, run)
    (deed,) = map(json.loads, audit.read_text().splitlines())
    assert (deed["action"], deed["by"], deed["about"]) == ("approval given", ANN, approval)
    (given,) = [line for line in recording.splitlines() if "ApprovalGiven" in line]
    assert f'"by":"{ANN}"' in given


async def test_what_is_done_to_runs_and_sessions_is_written_down(tmp_path: Path) -> None:
    """Forks, rewinds, links, deletions and what was taken back: once each, and nothing that failed."""
    async with house(tmp_path, audit=str(tmp_path / "audit.jsonl")) as made:
        client, bob, run = made.client, headers(BOB), made.bobs.run
        session = f"/apps/{APP}/users/{BOB}/sessions/chat"
        for path in (f"/api/runs/{run}/cancel", f"/api/runs/{run}/fork"):
            assert (
                await client.post(path, headers=headers(ANN), json={"at": 2})
            ).status_code == 404
        assert (await client.post(f"/api/runs/{run}/cancel", headers=bob)).status_code == 200
        link = (await client.post(f"/api/runs/{run}/links", headers=bob)).json()
        await client.delete(f"/api/runs/{run}/links/{link['id']}", headers=bob)
        forked = (
            await client.post(f"/api/runs/{run}/fork", headers=bob, json={"at": made.bobs.file})
        ).json()
        await client.delete(f"{session}/artifacts/notes.txt", headers=bob)
        body = {"invocationId": made.bobs.invocation}
        assert (await client.post(f"{session}/rewind", headers=bob, json=body)).status_code == 200
        await client.delete(session, headers=headers(ROOT))
        found = [(d["action"], d["by"], d.get("about", "")) for d in await deeds(made.stage)]
        trail = (tmp_path / "audit.jsonl").read_text()
    assert found == [
        ("link made", BOB, made.bobs.link),
        ("link made", BOB, link["id"]),
        ("link revoked", BOB, link["id"]),
        ("run forked", BOB, forked["run"]),
        ("artifact deleted", BOB, "notes.txt"),
        ("session rewound", BOB, made.bobs.invocation),
        ("session deleted", ROOT, ""),
    ]
    assert SECRET not in trail
    assert link["token"] not in trail


async def test_cancelled_runs_are_written_down(tmp_path: Path) -> None:
    """By run and by chat; one that was over before is not cancelled."""
    events = [asyncio.Event(), asyncio.Event()]
    settings = {"tokens": token_file(tmp_path), "audit": str(tmp_path / "audit.jsonl")}
    async with local_server(agent(Scripted.saying(*events)), **settings) as stage:
        client, bob = stage.client, headers(BOB)
        posted = []
        for event, name in zip(events, ("one", "two"), strict=True):
            body = {"id": name, "messages": [SAID]}
            posting = client.post(f"/api/chat/{APP}", json=body, headers=bob)
            posted.append(asyncio.create_task(posting))
            await event.wait()
        runs = (await client.get("/api/runs", headers=bob)).json()
        await client.post(f"/api/runs/{runs[0]['run']}/cancel", headers=bob)
        for _ in range(2):
            await client.post(
                f"/api/chat/{APP}/two/stop", headers=headers(ROOT), params={"userId": BOB}
            )
        await asyncio.gather(*posted)
        found = [(d["action"], d["by"], d["session"]) for d in await deeds(stage)]
    assert found == [("run cancelled", BOB, "one"), ("run cancelled", ROOT, "two")]


async def test_the_trail_survives_and_can_be_searched(tmp_path: Path) -> None:
    """After a restart it goes on; the newest deeds first, by any of their names."""
    for _ in range(2):
        async with asking(tmp_path) as stage:
            await answer_chat(stage, BOB, True)
    async with asking(tmp_path) as stage:
        await answer_chat(stage, ROOT, False)
        found = await deeds(stage)
        assert [d["by"] for d in found] == [BOB, BOB, ROOT]
        assert await deeds(stage, by=ROOT) == found[2:]
        assert await deeds(stage, action="approval given", limit="1") == [found[1]]
        assert await deeds(stage, run=found[0]["run"]) == found[:1]
        assert await deeds(stage, before=str(found[1]["time"])) == found[:1]
        assert await deeds(stage, user=ANN) == []


async def test_a_deed_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """The operator gets all of it; a file that cannot be made keeps the server from starting."""
    with pytest.raises(LogError, match="audit log"):
        open_audit_file("/proc/nowhere/audit.jsonl", print)
    told: list[Any] = []
    file = RotatingFile(tmp_path / "gone" / "audit.jsonl", largest=1000, kept=1)
    origin = Origin(app="app", user="ann\ud800", session="s")
    await AuditFile(file, told.append).note(
        AuditedAction(action="link made", origin=origin, about="x" * 999)
    )
    (diagnostic,) = told
    assert diagnostic.kind == "audit failed"
    assert '"link made"' in diagnostic.detail
    assert "FileNotFoundError" in diagnostic.cause


async def test_without_the_option_nothing_is_kept(tmp_path: Path) -> None:
    """And whoever asks for it is told how to."""
    async with house(tmp_path) as made:
        answer = await made.client.get("/api/audit", headers=headers(ROOT))
        assert answer.status_code == 404
        assert "--audit" in answer.json()["detail"]
    assert not list(tmp_path.rglob("*audit*"))
