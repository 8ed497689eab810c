"""Our server dies in the middle of runs of a remote app: each run has an end, and the chats go on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from tests.end_to_end.clients import chat_body, new_id
from tests.end_to_end.server import Server, serving
from tests.end_to_end.streams import connect
from tests.patience import PATIENCE

Json = dict[str, Any]
PROMPTS = {"silent": "slow 600", "waiting": "approval", "talking": "long 20000"}


@dataclass(frozen=True)
class Life:
    """The runs of the first life by what they did, their chats, and the server of the second."""

    server: Server
    runs: dict[str, str]
    chats: dict[str, str]


@pytest.fixture(scope="module")
def killed(adk_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """A server that was killed while the remote's runs went on, and its successor."""
    folder = tmp_path_factory.mktemp("killed-remote")
    given = ("--remote", f"tour={adk_url}")
    chats = {kind: new_id("killed") for kind in PROMPTS}
    with serving(folder, *given, agents=None) as first:
        runs = asyncio.run(die_while_running(first, chats))
    with serving(folder, *given, agents=None) as second:
        yield Life(second, runs, chats)


async def die_while_running(server: Server, chats: dict[str, str]) -> dict[str, str]:
    """Begin a run of each kind, see something of it, and kill the server."""
    runs: dict[str, str] = {}
    async with connect(server) as http:
        for kind, prompt in PROMPTS.items():
            body = chat_body(chats[kind], prompt)
            async with http.stream("POST", "/api/chat/tour", json=body) as stream:
                runs[kind] = stream.headers["x-prism-run"]
                async for _ in stream.aiter_bytes():
                    if kind != "waiting":  # that one is left when it is over
                        break
        server.kill()
    return runs


async def ended(http: httpx.AsyncClient, run: str) -> Json:
    """Wait for a run's end."""
    async with asyncio.timeout(PATIENCE):
        while (found := (await http.get(f"/api/runs/{run}")).json())["outcome"] is None:
            pass
    return dict(found)


@pytest.mark.parametrize(
    ("kind", "outcome"), [("silent", "failed"), ("talking", "failed"), ("waiting", "waiting")]
)
async def test_every_run_has_an_end(killed: Life, kind: str, outcome: str) -> None:
    """And the conversation shows the message and what was seen of its answer, once."""
    async with connect(killed.server) as http:
        assert (await ended(http, killed.runs[kind]))["outcome"] == outcome
        recording = (await http.get(f"/api/runs/{killed.runs[kind]}/recording")).text
        assert ('"code":"owner_lost"' in recording) == (outcome == "failed")
        where = f"/api/chat/tour/{killed.chats[kind]}/messages"
        messages = (await http.get(where)).json()
        assert [message["role"] for message in messages] == ["user", "assistant"]


async def test_the_chat_goes_on(killed: Life) -> None:
    """The next message is answered."""
    async with connect(killed.server) as http:
        await ended(http, killed.runs["silent"])
        answer = await http.post(
            "/api/chat/tour", json=chat_body(killed.chats["silent"], "text"), timeout=PATIENCE
        )
        assert '"finishReason":"stop"' in answer.text
