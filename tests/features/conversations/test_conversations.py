"""A conversation is named, pinned, found by its words, deleted, restored, and then really removed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.adk.scripted import Scripted, call
from tests.patience import PATIENCE
from tests.server.local_server import APP, SESSION, LocalServer, agent, local_server

from adk_prism.errors import Diagnostic, Gone
from adk_prism.features.conversations.listing import DeletedSessions
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import Origin, RunId
from adk_prism.log.memory import MemoryLog
from adk_prism.log.sqlite.store import SqliteLog
from adk_prism.runs.session_log import UNDO, Deletions
from adk_prism.testing.runlog_steps import EVERYTHING, LATER

CHAT = f"/api/chat/{APP}/{SESSION}"
ORIGIN = Origin(app=APP, user="user", session=SESSION)


@pytest.fixture
async def server() -> AsyncIterator[LocalServer]:
    async with local_server(agent(Scripted.saying("One.", "Two.", "Three."))) as made:
        yield made


async def listed(server: LocalServer, **query: Any) -> list[tuple[str, str, bool]]:
    answer = await server.client.get("/api/conversations", params=query)
    assert answer.status_code == 200, answer.text
    return [(each["session"], each["title"], each["pinned"]) for each in answer.json()]


async def test_a_conversation_is_named_pinned_and_found(server: LocalServer) -> None:
    """A pinned one comes first; words are looked for in the name and in the first message."""
    await server.say("Where are the owls?")
    await server.say("Count the bears", "other")
    assert [each[0] for each in await listed(server)] == ["other", SESSION]
    answer = await server.client.patch(CHAT, json={"title": "  Night\n birds ", "pinned": True})
    assert answer.json() == {"title": "Night birds", "pinned": True}
    assert await listed(server) == [
        (SESSION, "Night birds", True),
        ("other", "Count the bears", False),
    ]
    for text, found in (("NIGHT owls", [SESSION]), ("bears", ["other"]), ("nobody", [])):
        assert [each[0] for each in await listed(server, text=text)] == found
    answer = await server.client.patch(CHAT, json={"title": "", "pinned": False})
    assert answer.json() == {"title": "", "pinned": False}
    assert (await listed(server))[1] == (SESSION, "Where are the owls?", False)


async def test_nonsense_is_refused(server: LocalServer) -> None:
    """The answer says what was wrong, and nothing changes."""
    await server.say("owls")
    for body, status in (
        ({"title": "x" * 121}, 400),
        ({"title": 7}, 422),
        ({"pinned": "yes"}, 422),
        ([], 422),
    ):
        assert (await server.client.patch(CHAT, json=body)).status_code == status, body
    for method, path in (("PATCH", ""), ("DELETE", ""), ("POST", "/restore")):
        answer = await server.client.request(method, f"/api/chat/{APP}/nobody{path}", json={})
        assert answer.status_code == 404, (method, answer.text)
    assert await listed(server) == [(SESSION, "owls", False)]


async def test_a_deleted_conversation_is_gone_and_can_be_restored(server: LocalServer) -> None:
    """No list has it and no route answers for it; restoring brings back all of it."""
    run = await server.say("owls")
    await server.client.patch(CHAT, json={"title": "Mine"})
    looks = [
        f"/api/runs/{run}{path}"
        for path in ("", "/stream", "/film", "/view", "/recording", "/entries/1", "/model-calls")
    ]
    for path in looks:
        assert (await server.client.get(path)).status_code == 200, path
    for _ in range(2):
        answer = await server.client.delete(CHAT)
        assert answer.json()["deleted"] is True
    assert await listed(server) == []
    for query in ("", "?text=owls"):
        assert (await server.client.get(f"/api/runs{query}")).json() == []
    session = f"/apps/{APP}/users/user/sessions"
    assert (await server.client.get(session)).json() == []
    paths = (f"{CHAT}/messages", f"{CHAT}/stream", f"{CHAT}/feedback", f"{session}/{SESSION}")
    for path in (*paths, *looks, f"/api/compare?a={run}&b={run}", f"/api/runs/{run}/feedback"):
        assert (await server.client.get(path)).status_code == 410, path
    message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "more"}]}
    body = {"id": SESSION, "messages": [message]}
    assert (await server.client.post(f"/api/chat/{APP}", json=body)).status_code == 410
    said = {"appName": APP, "userId": "user", "sessionId": SESSION}
    said["newMessage"] = {"role": "user", "parts": [{"text": "more"}]}
    assert (await server.client.post("/run", json=said)).status_code == 410
    for restored in (True, False):
        assert (await server.client.post(f"{CHAT}/restore")).json() == {"restored": restored}
    assert await listed(server) == [(SESSION, "Mine", False)]
    assert len((await server.client.get(f"{CHAT}/messages")).json()) == 2
    assert await server.say("more")


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_what_cannot_be_restored_is_removed(kind: str, tmp_path: Path) -> None:
    """Runs, ADK's session and notes go; a deletion outlives the trimming of the runs."""
    log: RunLog = MemoryLog() if kind == "memory" else SqliteLog(tmp_path / "runs.db")
    told: list[Diagnostic] = []
    async with local_server(agent(Scripted.saying("One.", "Two.")), log=log) as server:
        run = await server.say("owls")
        await server.client.patch(CHAT, json={"title": "Mine"})
        until = (await server.client.delete(CHAT)).json()["restoreUntil"]
        context = server.context
        for now, gone in ((until - UNDO / 2, False), (until + 1, True)):
            deletions = Deletions(log, partial(float, now))
            job = DeletedSessions(context.apps, context.runs.locks, log, deletions, told.append)
            await job()
            exists = await context.apps.sessions(APP).exists(ORIGIN)
            assert (exists, bool(await log.list())) == (not gone, not gone)
            await log.trim(EVERYTHING, LATER)
        with pytest.raises(Gone):
            await log.summary(RunId(run))
        assert await log.side.list([ORIGIN]) == {}
        assert await log.side.owners("deletion") == []
        assert told == []


async def test_deleting_stops_what_runs() -> None:
    """A run that is active ends; nobody has to stop it first."""
    reached = asyncio.Event()

    async def wait() -> dict[str, Any]:
        """Wait until it is told to stop."""
        reached.set()
        await asyncio.Event().wait()
        return {}

    async with local_server(agent(Scripted.saying(call("wait", "c1")), tools=[wait])) as server:
        running = asyncio.create_task(server.say("owls"))
        await asyncio.wait_for(reached.wait(), PATIENCE)
        await server.client.delete(CHAT)
        await asyncio.wait_for(running, PATIENCE)
        assert not server.context.runs.locks.is_held(ORIGIN)
        await server.client.post(f"{CHAT}/restore")
        (found,) = (await server.client.get("/api/conversations")).json()
        assert found["outcome"] == "cancelled"
