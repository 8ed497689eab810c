"""A client that has seen the end of a run is told so in the same way by every route that streams: 204."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.adk.scripted import Scripted
from tests.server.local_server import APP, SESSION, USER, agent, local_server

from adk_prism.protocols.registry import protocols

Json = dict[str, Any]
MESSAGE = {"id": "m1", "role": "user", "content": "go", "parts": [{"type": "text", "text": "go"}]}
RUN_SSE = {
    "appName": APP,
    "userId": USER,
    "sessionId": SESSION,
    "streaming": True,
    "newMessage": {"role": "user", "parts": [{"text": "go"}]},
}
THREAD = {"threadId": SESSION, "runId": "r1", "messages": [MESSAGE]}


@dataclass(frozen=True)
class Route:
    """A route that streams a run, and how its client says what it has seen."""

    path: str
    """Has the `run`, and the `seen` position, in its braces."""
    protocol: str
    """Whose stream it is."""
    body: Json | None = None
    headers: dict[str, str] = field(default_factory=dict)
    by_number: bool = False
    """The client says the `sequence_number` of the last event, not its id."""


BY_ID = {"last-event-id": "{seen}"}
ROUTES = {
    **{
        f"runs, {name}": Route(f"/api/runs/{{run}}/stream?as={name}", name, headers=BY_ID)
        for name in protocols().specs
    },
    "runs, by cursor": Route("/api/runs/{run}/stream?after={cursor}", "adk"),
    "run_sse": Route("/run_sse", "adk", RUN_SSE, BY_ID | {"idempotency-key": "k"}),
    "ai-sdk": Route(f"/api/chat/{APP}/{SESSION}/stream", "ai-sdk"),
    "ag-ui": Route(f"/api/ag-ui/{APP}", "ag-ui", THREAD, BY_ID),
    "studio": Route(f"/api/studio/{APP}/stream?input=go", "studio", headers=BY_ID),
    "studio, posted": Route(f"/api/studio/{APP}/stream", "studio", {"input": "go"}, BY_ID),
    "openai": Route(
        "/v1/responses/resp_{run}?stream=true&starting_after={seen}",
        "openai-responses",
        by_number=True,
    ),
}


@pytest.mark.parametrize("name", ROUTES)
async def test_nothing_is_left(name: str) -> None:
    """After the last frame: 204 without a body, and no other run begins."""
    route = ROUTES[name]
    async with local_server(agent(Scripted.saying("Done."))) as server:
        await server.client.post(f"/apps/{APP}/users/{USER}/sessions/{SESSION}")
        key = {name: value for name, value in route.headers.items() if name == "idempotency-key"}
        begun = await server.client.post("/run_sse", json=RUN_SSE, headers=key)
        run = begun.headers["x-prism-run"]
        cursor = (await server.client.get(f"/api/runs/{run}")).json()["cursor"]
        whole = await server.client.get(f"/api/runs/{run}/stream?as={route.protocol}")
        pairs = (line.partition(": ")[::2] for line in whole.text.splitlines())
        frame = dict(pair for pair in pairs if pair[0])  # the last of each field
        number = json.loads(frame["data"])["sequence_number"] if route.by_number else 0
        last = str(number or frame["id"])

        def filled(text: str) -> str:
            return text.format(run=run, seen=last, cursor=cursor)

        answer = await server.client.request(
            "GET" if route.body is None else "POST",
            filled(route.path),
            json=route.body,
            headers={name: filled(value) for name, value in route.headers.items()},
        )
        assert (answer.status_code, answer.content) == (204, b""), answer.text
        assert len((await server.client.get("/api/runs")).json()) == 1


async def test_a_run_goes_on_from_run_sse() -> None:
    """The key says which run, the position from where; without a key nobody knows, and no run begins."""
    async with local_server(agent(Scripted.saying("Done."))) as server:
        await server.client.post(f"/apps/{APP}/users/{USER}/sessions/{SESSION}")
        key = {"idempotency-key": "k"}
        whole = await server.client.post("/run_sse", json=RUN_SSE, headers=key)
        first = whole.text.split("\n\n")[0].splitlines()[0].removeprefix("id: ")
        rest = await server.client.post(
            "/run_sse", json=RUN_SSE, headers=key | {"last-event-id": first}
        )
        assert rest.status_code == 200
        assert whole.text.endswith(rest.text)
        assert 0 < len(rest.text) < len(whole.text)
        bad = await server.client.post(
            "/run_sse", json=RUN_SSE, headers=key | {"last-event-id": "none"}
        )
        assert bad.status_code == 400
        alone = await server.client.post("/run_sse", json=RUN_SSE, headers={"last-event-id": first})
        assert (alone.status_code, "Idempotency-Key" in alone.text) == (400, True)
        assert len((await server.client.get("/api/runs")).json()) == 1
