"""Runs that are past their retention: whoever asks for one is told that it is gone, on every route."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from tests.adk.scripted import Scripted
from tests.server.staged import SESSION, Stage, agent, staging, texts

from adk_prism.log.contract import Retention
from adk_prism.log.from_url import open_log

FAR = 1e12
"""A time that every run has ended long before."""


@pytest.fixture(params=["memory:", "sqlite:///{}/runs.db"], ids=["memory", "sqlite"])
async def stage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    """A server with one app, on each log."""
    log = open_log(request.param.format(tmp_path))
    async with staging(agent(Scripted.saying("One.", "Two.")), log=log) as found:
        yield found


def of_a_run(
    stage: Stage, schema: dict[str, dict[str, object]], run: str
) -> Iterator[httpx.Request]:
    """Yield a request for every route that takes a run, the later ones of OpenAPI included."""
    for path, methods in schema.items():
        if "{run}" not in path:
            continue
        place = path.format(run=run, cursor=1, part="0", link="0" * 16)
        for method in methods:
            body = {"at": 1} if method == "post" else None
            yield stage.client.build_request(method.upper(), place, json=body)


POSITIONS = (
    "?after=2",
    "?after=2.1",
    "?as=ai-sdk",
    "?as=studio&after=2",
    "?as=ag-ui",
    "?as=adk&after=999",
)


async def test_a_trimmed_run_is_gone(stage: Stage) -> None:
    """410 with a problem wherever a run or a position in it is named; 404 for one that never was."""
    run = await stage.say("hello")
    before = await stage.client.get(f"/api/runs/{run}/stream?as=studio")
    seen = next(line[4:] for line in before.text.splitlines() if line.startswith("id: "))
    assert await stage.context.log.trim(Retention(max_age=1), FAR) == [run]
    schema = (await stage.client.get("/openapi.json")).json()["paths"]
    for name, status in ((run, 410), ("run-nobody", 404)):
        asked = list(of_a_run(stage, schema, name))
        assert len(asked) >= 8
        asked += [
            stage.client.build_request("GET", f"/api/runs/{name}/stream{query}")
            for query in POSITIONS
        ]
        last = {"last-event-id": seen.replace(run, name)}
        studio = "/api/studio/app/stream"
        asked.append(stage.client.build_request("GET", studio, headers=last))
        asked.append(stage.client.build_request("POST", studio, headers=last, json={}))
        answers = [await stage.client.send(request) for request in asked]
        assert {str(a.request.url): a.status_code for a in answers} == {
            str(request.url): status for request in asked
        }
        types = {answer.headers["content-type"] for answer in answers}
        assert types == {"application/problem+json"}
    assert (await stage.client.get("/api/runs")).json() == []


async def test_a_chat_goes_on_without_its_trimmed_runs(stage: Stage) -> None:
    """What is gone from the log is read from the session, which the agent still knows."""
    await stage.say("hello")
    await stage.context.log.trim(Retention(max_age=1), FAR)
    old = await stage.messages()
    assert texts(old[0]) == "hello"
    assert (await stage.client.get(f"/api/chat/app/{SESSION}/stream")).status_code == 204
    second = await stage.say("and again")
    assert [m["id"] for m in await stage.messages()] == [
        *(message["id"] for message in old),
        f"{second}-user",
        second,
    ]
    assert len((await stage.session())["events"]) == 4


async def test_a_key_of_a_trimmed_run_starts_nothing(stage: Stage) -> None:
    """The same request again is not a new one only because its run was forgotten."""
    body = {
        "id": "keyed",
        "messages": [{"role": "user", "parts": [{"type": "text", "text": "Hi"}]}],
    }
    key = {"idempotency-key": "once"}
    await stage.client.post("/api/chat/app", json=body, headers=key)
    await stage.context.log.trim(Retention(max_age=1), FAR)
    again = await stage.client.post("/api/chat/app", json=body, headers=key)
    assert again.status_code == 410
    assert await stage.context.log.list() == []
