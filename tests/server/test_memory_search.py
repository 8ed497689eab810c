"""Memories are searched as the app's own tool does it: of one user, or a clear refusal."""

from __future__ import annotations

import httpx
import pytest
from tests.adk.scripted import Scripted
from tests.server.conftest import Client
from tests.server.local_server import APP, USER, agent, local_server

pytestmark = pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]")
PATH = "/apps/helper/users/ann"


async def _remember(client: httpx.AsyncClient) -> None:
    event = {"author": "user", "content": {"role": "user", "parts": [{"text": "Trails are wet."}]}}
    made = await client.post(f"{PATH}/sessions", json={"sessionId": "s", "events": [event]})
    assert made.status_code == 200, made.text
    kept = await client.patch(f"{PATH}/memory", json={"sessionId": "s"})
    assert kept.status_code == 200, kept.text


async def test_what_the_service_keeps_of_a_user_is_found(serve: Client) -> None:
    """By its words, with its author; nothing of other users; a query is needed."""
    async with serve() as client:
        await _remember(client)
        found = (await client.get(f"{PATH}/memory", params={"query": "trails"})).json()
        (memory,) = found["memories"]
        assert memory["content"]["parts"] == [{"text": "Trails are wet."}]
        assert memory["author"] == "user"
        other = await client.get("/apps/helper/users/bob/memory", params={"query": "trails"})
        assert other.json() == {"memories": []}
        assert (await client.get(f"{PATH}/memory")).status_code == 422
        assert (await client.get(f"{PATH}/memory", params={"query": "x" * 1001})).status_code == 422


async def test_an_app_without_a_memory_service_says_so() -> None:
    """As for adding to it: 400 with the reason."""
    async with local_server(agent(Scripted.saying("x"))) as server:
        path = f"/apps/{APP}/users/{USER}/memory"
        answer = await server.client.get(path, params={"query": "x"})
        assert answer.status_code == 400
        assert "not configured" in answer.json()["detail"]
