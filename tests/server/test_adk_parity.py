"""Requests that ADK's own server answers with a run: ours answers with the same events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from google.adk.cli.fast_api import get_fast_api_app
from tests.server.conftest import OPEN, talking

from adk_prism.adk.app_folder import TOUR_FOLDER
from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

Json = Any
SESSION = "/apps/tour/users/u/sessions/s"
EMPTY: list[Json] = [{"role": "user", "parts": []}, {"role": "user"}, {"parts": None}, {}]


@dataclass(frozen=True)
class Both:
    ours: httpx.AsyncClient
    theirs: httpx.AsyncClient


@pytest.fixture
async def both(settings: Settings) -> AsyncIterator[Both]:
    """The bundled apps on both servers, each with a session that has a state."""
    adk = get_fast_api_app(
        agents_dir=str(TOUR_FOLDER),
        web=False,
        session_service_uri="memory://",
        artifact_service_uri="memory://",
    )
    async with (
        talking(create_app(None, settings)) as ours,
        httpx.AsyncClient(transport=httpx.ASGITransport(adk), base_url=OPEN) as theirs,
    ):
        for client in (ours, theirs):
            made = await client.post(SESSION, json={"lang": "en"})
            assert (made.json()["state"], made.json()["events"]) == ({"lang": "en"}, [])
        yield Both(ours, theirs)


def _body(message: Json, **more: Json) -> Json:
    return {"appName": "tour", "userId": "u", "sessionId": "s", "newMessage": message, **more}


def _plain(event: Json) -> Json:
    return {key: event.get(key) for key in ("author", "content", "partial", "finishReason")}


async def _stored(client: httpx.AsyncClient) -> list[Json]:
    session = (await client.get(SESSION)).json()
    return [_plain(event) for event in session["events"]]


@pytest.mark.parametrize("message", EMPTY, ids=str)
async def test_a_message_without_parts_runs_the_agent(both: Both, message: Json) -> None:
    """The same events come, and the same are stored."""
    answers = [
        (await client.post("/run", json=_body(message))).json()
        for client in (both.ours, both.theirs)
    ]
    ours, theirs = ([_plain(event) for event in events] for events in answers)
    assert ours == theirs
    assert await _stored(both.ours) == await _stored(both.theirs)
    shown = await both.ours.get("/api/chat/tour/s/messages?userId=u")
    assert [each["role"] for each in shown.json()][-1] == "assistant"


async def test_a_message_without_parts_and_a_state_change_runs_nothing(both: Both) -> None:
    """One event with the change comes back."""
    body = _body({"role": "user", "parts": []}, stateDelta={"lang": "pt"})
    (event,) = (await both.ours.post("/run", json=body)).json()
    assert event["actions"]["stateDelta"] == {"lang": "pt"}
    assert "content" not in event


async def test_a_first_state_is_no_event_and_outlives_a_rewind(both: Both) -> None:
    """It is in the session, in no list of events, and still there when all else was taken back."""
    text = {"role": "user", "parts": [{"text": "text"}]}
    for client in (both.ours, both.theirs):
        await client.post("/run", json=_body(text))
    ours, theirs = await _stored(both.ours), await _stored(both.theirs)
    assert ours == theirs
    session = (await both.ours.get(SESSION)).json()
    invocation = session["events"][0]["invocationId"]
    rewound = await both.ours.post(SESSION + "/rewind", json={"invocationId": invocation})
    assert rewound.json()["state"] == {"lang": "en"}
    assert not any(e["invocationId"].startswith("p-seed-") for e in rewound.json()["events"])
    changed = (await both.ours.patch(SESSION, json={"stateDelta": {"lang": "pt"}})).json()
    assert changed["state"] == {"lang": "pt"}
    assert changed["events"][-1]["actions"]["stateDelta"] == {"lang": "pt"}


async def test_a_legacy_root_refuses_a_message_without_parts(
    settings: Settings, tmp_path: Any
) -> None:
    """Before the run: on ADK's server the run begins and fails."""
    folder = tmp_path / "agents" / "prism_test_legacy"
    folder.mkdir(parents=True)
    (folder / "agent.py").write_text(
        "from google.adk.agents import BaseAgent\nroot_agent = BaseAgent(name='legacy')\n"
    )
    async with talking(create_app(folder.parent, settings)) as client:
        await client.post("/apps/prism_test_legacy/users/u/sessions/s")
        body = _body({"role": "user", "parts": []}) | {"appName": "prism_test_legacy"}
        answer = await client.post("/run", json=body)
        assert answer.status_code == 422
        assert "no parts" in answer.json()["detail"]
