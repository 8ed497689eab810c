"""Runs that are past their retention: whoever asks for one is told that it is gone, on every route."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from tests.adk.scripted import Scripted
from tests.server.local_server import SESSION, LocalServer, agent, local_server, texts

from adk_prism.log.contract import Retention
from adk_prism.log.from_url import open_log

FAR = 1e12
"""A time that every run has ended long before."""


@pytest.fixture(params=["memory:", "sqlite:///{}/runs.db"], ids=["memory", "sqlite"])
async def server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LocalServer]:
    """A server with one app, on each log."""
    log = open_log(request.param.format(tmp_path))
    async with local_server(agent(Scripted.saying("One.", "Two.")), log=log) as found:
        yield found


def of_a_run(
    server: LocalServer, schema: dict[str, dict[str, object]], run: str
) -> Iterator[httpx.Request]:
    """Yield a request for every route that takes a run, the later ones of OpenAPI included."""
    for path, methods in schema.items():
        if "{run}" not in path:
            continue
        place = path.format(run=run, cursor=1, part="0", link="0" * 16)
        for method in methods:
            body = {"at": 1} if method == "post" else None
            yield server.client.build_request(method.upper(), place, json=body)


POSITIONS = (
    "?after=2",
    "?after=2.1",
    "?as=ai-sdk",
    "?as=studio&after=2",
    "?as=ag-ui",
    "?as=adk&after=999",
)


async def test_a_trimmed_run_is_gone(server: LocalServer) -> None:
    """410 with a problem wherever a run or a position in it is named; 404 for one that never was."""
    run = await server.say("hello")
    before = await server.client.get(f"/api/runs/{run}/stream?as=studio")
    seen = next(line[4:] for line in before.text.splitlines() if line.startswith("id: "))
    assert await server.context.log.trim(Retention(max_age=1), FAR) == [run]
    schema = (await server.client.get("/openapi.json")).json()["paths"]
    for name, status in ((run, 410), ("run-nobody", 404)):
        asked = list(of_a_run(server, schema, name))
        assert len(asked) >= 8
        asked += [
            server.client.build_request("GET", f"/api/runs/{name}/stream{query}")
            for query in POSITIONS
        ]
        last = {"last-event-id": seen.replace(run, name)}
        studio = "/api/studio/app/stream"
        asked.append(server.client.build_request("GET", studio, headers=last))
        asked.append(server.client.build_request("POST", studio, headers=last, json={}))
        answers = [await server.client.send(request) for request in asked]
        assert {str(a.request.url): a.status_code for a in answers} == {
            str(request.url): status for request in asked
        }
        types = {answer.headers["content-type"] for answer in answers}
        assert types == {"application/problem+json"}
    assert (await server.client.get("/api/runs")).json() == []


async def test_a_chat_goes_on_without_its_trimmed_runs(server: LocalServer) -> None:
    """What is gone from the log is read from the session, which the agent still knows."""
    await server.say("hello")
    await server.context.log.trim(Retention(max_age=1), FAR)
    old = await server.messages()
    assert texts(old[0]) == "hello"
    assert (await server.client.get(f"/api/chat/app/{SESSION}/stream")).status_code == 204
    second = await server.say("and again")
    assert [m["id"] for m in await server.messages()] == [
        *(message["id"] for message in old),
        f"{second}-user",
        second,
    ]
    assert len((await server.session())["events"]) == 4


async def test_a_key_of_a_trimmed_run_starts_nothing(server: LocalServer) -> None:
    """The same request again is not a new one only because its run was forgotten."""
    body = {
        "id": "keyed",
        "messages": [{"role": "user", "parts": [{"type": "text", "text": "Hi"}]}],
    }
    key = {"idempotency-key": "once"}
    await server.client.post("/api/chat/app", json=body, headers=key)
    await server.context.log.trim(Retention(max_age=1), FAR)
    again = await server.client.post("/api/chat/app", json=body, headers=key)
    assert again.status_code == 410
    assert await server.context.log.list() == []
