"""Sessions and runs: a change of state waits for a run, a deletion ends it and takes its log along."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from fastapi import FastAPI

from adk_prism.log.entry import Origin, RunEnded, RunId, RunStarted
from adk_prism.server.context import Context

ORIGIN = Origin(app="helper", user="ada", session="one")
PATH = "/apps/helper/users/ada/sessions/one"


@pytest.fixture
def context(app: FastAPI) -> Context:
    found: Context = app.state.context
    return found


async def stays_pending(task: asyncio.Task[httpx.Response]) -> bool:
    """Let everything else run as far as it can; tell whether the task is still not done."""
    for _ in range(50):
        await asyncio.sleep(0)
    return not task.done()


async def test_a_state_change_waits_for_the_run(
    client: httpx.AsyncClient, context: Context
) -> None:
    """ADK fails a run whose session somebody else writes to."""
    await client.post(PATH)
    await context.runs.locks.acquire(ORIGIN, "wait", lambda: None)
    change = asyncio.create_task(client.patch(PATH, json={"stateDelta": {"a": 1}}))
    assert await stays_pending(change)
    assert (await client.get(PATH)).json()["state"] == {}
    await context.runs.locks.release(ORIGIN)
    assert (await change).json()["state"] == {"a": 1}


async def test_a_state_change_of_no_session_does_not_wait(
    client: httpx.AsyncClient, context: Context
) -> None:
    """What cannot be is said at once."""
    await context.runs.locks.acquire(ORIGIN, "wait", lambda: None)
    assert (await client.patch(PATH, json={"stateDelta": {}})).status_code == 404
    await context.runs.locks.release(ORIGIN)


async def test_deleting_a_session_ends_its_run_and_deletes_its_runs(
    client: httpx.AsyncClient, context: Context
) -> None:
    """The run is asked to stop, has ended, and is then forgotten; other sessions' runs stay."""
    await client.post(PATH)
    await record(context, "of-one", ORIGIN)
    await record(context, "of-two", Origin(app="helper", user="ada", session="two"))
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True

    await context.runs.locks.acquire(ORIGIN, "wait", stop)
    deletion = asyncio.create_task(client.delete(PATH))
    assert await stays_pending(deletion)
    assert stopped
    await context.runs.locks.release(ORIGIN)
    answer = await deletion
    assert (answer.status_code, answer.json()) == (200, None)
    assert (await client.get(PATH)).status_code == 404
    assert [summary.run for summary in await context.log.list()] == ["of-two"]


async def test_deleting_nothing_is_no_error(client: httpx.AsyncClient) -> None:
    """As ADK answers it."""
    assert (await client.delete(PATH)).status_code == 200


async def record(context: Context, run: str, origin: Origin) -> None:
    records = [RunStarted(run=run, origin=origin), RunEnded(outcome="finished")]
    await context.log.append(RunId(run), records)
    await context.log.commit(RunId(run))


async def test_the_initial_state_survives_a_rewind(
    client: httpx.AsyncClient, context: Context
) -> None:
    """It is an event of its own, before anything that could be taken back; clients do not see it."""
    made = await client.post(PATH, json={"tone": "brief"})
    assert made.json()["events"] == []
    assert made.json()["state"]["tone"] == "brief"
    [event] = (await context.apps.sessions("helper").get(ORIGIN)).events
    assert event.author == "user"
    assert event.content is None
    assert event.actions.state_delta == {"tone": "brief"}


async def test_credentials_are_redacted(client: httpx.AsyncClient) -> None:
    """As ADK does: a session that holds a credential does not hand it out."""
    config = {
        "authScheme": {"type": "apiKey", "in": "header", "name": "x"},
        "rawAuthCredential": {"authType": "apiKey", "apiKey": "s3cret"},
    }
    made = await client.post(PATH, json={"auth": config})
    assert made.status_code == 200
    for answer in (made, await client.get(PATH)):
        assert "s3cret" not in answer.text
        assert "rawAuthCredential" in answer.text


async def test_evaluation_sessions_are_not_listed(client: httpx.AsyncClient) -> None:
    """ADK's evaluation leaves sessions behind that are nobody's conversation."""
    for name in ("adk-eval-session-1", "___eval___session___2", "mine"):
        await client.post(f"/apps/helper/users/ada/sessions/{name}")
    listed = (await client.get("/apps/helper/users/ada/sessions")).json()
    assert [session["id"] for session in listed] == ["mine"]
