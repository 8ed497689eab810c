"""Apps on Agent Engine, behind our server: methods instead of routes, lines instead of frames."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.features.remote.conftest import Chat, Fronted
from tests.features.remote.engine import Engine
from tests.features.remote.loopback import Wire, listening

from adk_prism.errors import Diagnostic
from adk_prism.features.captures.recording_file import read_run
from adk_prism.testing.laws import check_laws

BODIES = Path(__file__).parents[2] / "recordings" / "servers"
CLOUD = "/v1/projects/p/locations/l/reasoningEngines/42"
ENDS = {
    "agent_engine.text": ("finished", ""),
    "agent_engine.tool": ("finished", ""),
    "agent_engine.approval": ("waiting", ""),
    "agent_engine.fail": ("failed", "498"),
    "agent_engine_go.text": ("finished", ""),
    "agent_engine_go.fail": ("failed", "ERROR"),
}


def _replaying(body: bytes, *, is_cut: bool = False) -> object:
    async def replay(wire: Wire) -> None:
        await wire.send(body)
        wire.cut() if is_cut else await wire.end()

    return replay


async def _laws(chat: Chat) -> None:
    run = (await chat.http.get("/api/runs", params={"app": "far"})).json()[-1]["run"]
    recording = (await chat.http.get(f"/api/runs/{run}/recording")).content
    assert check_laws(list(read_run(recording))) == []


@pytest.mark.parametrize("spelling", ["lines", "frames", "no last end"])
@pytest.mark.parametrize("name", ENDS)
async def test_a_run(fronted: Fronted, name: str, spelling: str) -> None:
    """What Agent Engine streamed is a run of ours, as lines and as frames."""
    body = (BODIES / f"{name}.jsonl").read_bytes()
    if spelling == "frames":
        body = b"".join(b"data: %b\r\n\r\n" % line for line in body.splitlines() if line)
    elif spelling == "no last end":
        body = body.rstrip()
    async with listening(Engine(CLOUD)) as far, fronted(far.url) as chat:
        far.run = _replaying(body)  # type: ignore[assignment]
        assert (await chat.say()).status_code == 200
        assert await chat.outcome() == ENDS[name]
        asked = far.ran()[0].body
        assert asked["class_method"] == "async_stream_query"
        assert asked["input"] == {
            "user_id": "user",
            "session_id": "c1",
            "message": {"role": "user", "parts": [{"text": "hi"}]},
            "run_config": {"streaming_mode": "sse"},
        }
        assert list(far.sessions) == ["c1"]
        await _laws(chat)


async def test_adks_own_server(fronted: Fronted) -> None:
    """Named as a dialect, the same methods are called where ADK's server has them."""
    body = (BODIES / "agent_engine.text.jsonl").read_bytes()
    async with listening(Engine()) as far:
        far.run = _replaying(body)  # type: ignore[assignment]
        async with fronted(far.url, remote_dialect=("far=agent-engine",)) as chat:
            assert '"delta":"Rain ' in (await chat.say()).text
            assert await chat.outcome() == ("finished", "")
            again = await chat.say(message="m2")
            assert again.status_code == 200
            assert {each.path for each in far.requests} == {far.ask, far.stream}


FAILED = (
    b'{"error_code":"ValueError","error_message":"hunter2","author":"far","id":"e1","actions":{}}\n'
)


@pytest.mark.parametrize(
    ("body", "ends"),
    [(FAILED, ("failed", "ValueError")), (b"", ("failed", "owner_lost"))],
    ids=["after an error", "after nothing"],
)
async def test_a_cut(fronted: Fronted, body: bytes, ends: tuple[str, str]) -> None:
    """A connection that breaks after an error is that error; its text reaches no client."""
    async with listening(Engine(CLOUD)) as far, fronted(far.url) as chat:
        far.run = _replaying(body, is_cut=True)  # type: ignore[assignment]
        answer = await chat.say()
        assert '"type":"error"' in answer.text
        assert "hunter2" not in answer.text
        assert await chat.outcome() == ends


async def test_what_it_lacks(fronted: Fronted) -> None:
    """What has no method is refused with the reason; sessions have methods."""
    async with listening(Engine(CLOUD)) as far, fronted(far.url) as chat:
        await chat.say()
        sessions = "/apps/far/users/user/sessions"
        assert [each["id"] for each in (await chat.http.get(sessions)).json()] == ["c1"]
        artifacts = await chat.http.get(f"{sessions}/c1/artifacts")
        assert artifacts.status_code == 501
        assert "Agent Engine" in artifacts.json()["detail"]
        patched = await chat.http.patch(f"{sessions}/c1", json={"stateDelta": {"a": 1}})
        assert patched.status_code == 501
        assert (await chat.http.delete(f"{sessions}/c1")).is_success
        assert far.sessions == {}


async def test_an_engine_that_fails(fronted: Fronted, reports: list[Diagnostic]) -> None:
    """A method that fails for another reason than the session is a failure of the remote."""
    async with listening(Engine(CLOUD)) as far, fronted(far.url) as chat:
        far.ask = "/elsewhere"  # every method answers 404
        answer = await chat.say()
        assert answer.status_code == 502, answer.text
        assert any(far.url in each.detail for each in reports)
        assert far.ran() == []
        assert (await chat.http.get("/health")).status_code == 200
