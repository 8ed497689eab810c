"""Servers in other languages, as they were recorded or written from their sources, behind our server."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.features.remote.conftest import Fronted
from tests.features.remote.loopback import Loopback, Reply, Wire, listening

from adk_prism.features.captures.recording_file import read_run
from adk_prism.testing.laws import check_laws

BODIES = Path(__file__).parents[2] / "recordings" / "servers"


@dataclass(frozen=True)
class Kind:
    """How a server is recognised, and how it differs."""

    name: str
    files: str
    version: dict[str, Any] | None = None
    prefix: str = ""
    missing: int = 404
    by_path: bool = True
    fails: str = "fail"
    """The recording of a run that failed."""

    def body(self, said: str) -> bytes:
        """Return what the server sent."""
        name = self.fails if said == "fail" else said
        return (BODIES / f"{self.files}.{name}.sse").read_bytes()

    def server(self) -> Loopback:
        """Return a server of this kind."""
        far = Loopback(self.version, self.prefix, self.missing)
        if self.name == "python-1":
            far.replies["/openapi.json"] = Reply(b"{}")
        return far


KINDS = [
    Kind("python-1", "python1", {"version": "1.39.1", "language": "python"}, by_path=False),
    Kind("python-1", "python1", by_path=False),
    Kind("typescript", "typescript", {"version": "2.0.0"}),
    Kind("java", "java", fails="lost"),
    Kind("java", "java", fails="lost_after_tool"),
    Kind("go", "go", prefix="/api", missing=500),
    Kind("kotlin", "kotlin", {"version": "0.8.0", "language": "kotlin"}, fails="lost"),
]
OUTCOMES = {"text": "finished", "tool": "finished", "approval": "waiting", "fail": "failed"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.name} {kind.version} {kind.fails}")
@pytest.mark.parametrize("said", OUTCOMES)
async def test_a_run(fronted: Fronted, kind: Kind, said: str) -> None:
    """The server is recognised, asked in its own way, and its run is one of ours."""
    body = kind.body(said)

    async def replay(wire: Wire) -> None:
        await wire.send(body)
        await wire.end()

    async with listening(kind.server()) as far, fronted(far.url) as chat:
        far.run = replay
        answer = await chat.say()
        assert answer.status_code == 200, answer.text
        assert (await chat.outcome())[0] == OUTCOMES[said]
        created = next(each for each in far.requests if each.method == "POST")
        sessions = f"{kind.prefix}/apps/far/users/user/sessions"
        assert created.path == (f"{sessions}/c1" if kind.by_path else sessions)
        assert set(far.ran()[0].body) <= {
            "appName",
            "userId",
            "sessionId",
            "streaming",
            "newMessage",
            "stateDelta",
        }
        run = (await chat.http.get("/api/runs")).json()[0]["run"]
        recording = (await chat.http.get(f"/api/runs/{run}/recording")).content
        assert check_laws(list(read_run(recording))) == []
        events = [json.loads(line).get("event", {}) for line in recording.splitlines()]
        assert all(event.get("timestamp", 0) < 1e11 for event in events)


async def test_go_goes_on_after_an_error(fronted: Fronted) -> None:
    """An error frame is the end only if nothing follows it."""
    kind = next(each for each in KINDS if each.name == "go")
    body = (BODIES / "go.error_then_on.sse").read_bytes()

    async def replay(wire: Wire) -> None:
        await wire.send(body)
        await wire.end()

    async with listening(kind.server()) as far, fronted(far.url) as chat:
        far.run = replay
        await chat.say()
        assert (await chat.outcome())[0] == "finished"


async def test_the_graph_of_typescript(fronted: Fronted) -> None:
    """From what its server tells its own page; shown in Studio, and passed on as it is."""
    guide = {"name": "guide", "type": "agent", "description": "Guides."}
    tools = [{"name": "get_weather", "type": "tool"}]
    root = {"name": "root", "type": "agent", "model": "m", "tools": tools, "sub_agents": [guide]}
    kind = next(each for each in KINDS if each.name == "typescript")
    async with listening(kind.server()) as far, fronted(far.url) as chat:
        drawn = json.dumps({"name": "far", "root_agent": root}).encode()
        far.replies["/dev/apps/far/build_graph"] = Reply(drawn)
        graph = (await chat.http.get("/api/studio/far/graph")).json()
        assert [node["id"] for node in graph["nodes"]] == [
            "START",
            "root",
            "root/get_weather",
            "root/guide",
            "END",
        ]
        ours = (await chat.http.get("/dev/apps/far/build_graph")).json()
        assert ours == {"name": "far", "root_agent": {k: root[k] for k in root if k != "model"}}
        assert "graph" not in (await chat.http.get("/api/apps/far")).json()["lacks"]


@pytest.mark.parametrize("root", [{"name": "flow", "type": "workflow"}, {"type": 3}, []])
async def test_a_graph_that_cannot_be_read(fronted: Fronted, root: object) -> None:
    """The app is served; the graph is refused with the reason."""
    kind = next(each for each in KINDS if each.name == "typescript")
    async with listening(kind.server()) as far, fronted(far.url) as chat:
        drawn = json.dumps({"name": "far", "root_agent": root}).encode()
        far.replies["/dev/apps/far/build_graph"] = Reply(drawn)
        for path in ("/api/studio/far/graph", "/dev/apps/far/build_graph"):
            answer = await chat.http.get(path)
            assert answer.status_code == 501
            assert "how its agents are connected" in answer.json()["detail"]


async def test_a_fork_on_go(fronted: Fronted) -> None:
    """What was said is given to a new session by its path; its body has no other keys."""
    kind = next(each for each in KINDS if each.name == "go")
    async with listening(kind.server()) as far, fronted(far.url) as chat:
        await chat.say()
        (run,) = (await chat.http.get("/api/runs")).json()
        far.has_session = False
        far.replies["/api/apps/far/users/user/sessions/c1/artifacts"] = Reply(b"[]")
        body = {
            "at": run["cursor"],
            "newMessage": {"role": "user", "parts": [{"text": "and?"}]},
            "sessionId": "forked",
        }
        answer = await chat.http.post(f"/api/runs/{run['run']}/fork", json=body)
        assert answer.status_code == 200, answer.text
        made = [each for each in far.requests if each.path.endswith("/sessions/forked")]
        (created,) = [each for each in made if each.method == "POST"]
        assert set(created.body) == {"state", "events"}
        assert created.body["events"][0]["author"] == "user"


@pytest.mark.parametrize("name", ["typescript", "java", "go", "kotlin"])
async def test_a_named_dialect_is_not_detected(fronted: Fronted, name: str) -> None:
    """The operator's word counts; state without a run is refused with the reason."""
    kind = next(each for each in KINDS if each.name == name)
    far = Loopback(None, kind.prefix, kind.missing)
    async with (
        listening(far),
        fronted(far.url, remote_dialect=(f"far={name}",)) as chat,
    ):
        assert "Hello" in (await chat.say()).text
        assert not any(each.path == "/version" for each in far.requests)
        where = "/apps/far/users/user/sessions/c1"
        changed = await chat.http.patch(where, json={"stateDelta": {"a": 1}})
        assert changed.status_code == 501
        assert "state" in changed.json()["detail"]
