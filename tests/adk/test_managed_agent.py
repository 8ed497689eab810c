"""ADK's `ManagedAgent`, whose model runs elsewhere: served over a loopback of the Interactions API."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from google.adk.agents import ManagedAgent

from adk_prism import Prism, Settings
from adk_prism.testing import TestClient

Json = dict[str, Any]

SECRET = "project 42 has no quota"
CODE = {"language": "python", "code": "print(1)"}
DELTAS: list[Json] = [
    {"type": "thought_summary", "content": {"type": "text", "text": "I will count."}},
    {"type": "code_execution_call", "id": "c1", "arguments": CODE},
    {"type": "code_execution_result", "call_id": "c1", "result": "1", "is_error": False},
    {"type": "text", "text": "The answer "},
    {"type": "text", "text": "is 1."},
]
TIME = "2026-11-19T00:00:00Z"
USAGE = {"total_input_tokens": 5, "total_output_tokens": 7, "total_tokens": 12}


@dataclass
class Service:
    """What was asked, and how the service behaves."""

    requests: list[Json] = field(default_factory=list)
    refuses: bool = False
    breaks_off: bool = False

    def answer(self) -> Iterator[Json]:
        """Yield the events of one interaction."""
        about = {"id": f"i{len(self.requests)}", "environment_id": "e1", "steps": []}
        about |= {"status": "in_progress", "created": TIME, "updated": TIME}
        yield {"event_type": "interaction.created", "interaction": about}
        for index, delta in enumerate(DELTAS[: 4 if self.breaks_off else None]):
            yield {"event_type": "step.delta", "index": index, "delta": delta}
        if not self.breaks_off:
            about |= {"status": "completed", "usage": USAGE}
            yield {"event_type": "interaction.completed", "interaction": about}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    state = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            state.requests.append(json.loads(body))
            self.send_response(400 if state.refuses else 200)
            kind = "application/json" if state.refuses else "text/event-stream"
            self.send_header("content-type", kind)
            self.end_headers()
            if state.refuses:
                refusal = {"code": "invalid_request", "message": SECRET}
                self.wfile.write(json.dumps({"error": refusal}).encode())
                return
            for event in state.answer():
                self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("GEMINI_API_KEY", "dummy")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", f"http://127.0.0.1:{server.server_address[1]}")
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def client() -> Iterator[TestClient]:
    agent = ManagedAgent(name="solver", agent_id="agents/solver")
    with TestClient(Prism(apps={"solver": agent}, settings=Settings(log="memory:"))) as found:
        yield found


def chunks(client: TestClient, run: str) -> list[Json]:
    """Return what `useChat` gets of a run."""
    lines = client.get(f"/api/runs/{run}/stream?as=ai-sdk").text.splitlines()
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: {")]
    return [json.loads(line) for line in data]


def test_it_thinks_runs_code_and_answers(service: Service, client: TestClient) -> None:
    """Piece by piece; the next message continues the interaction and its environment."""
    reply = client.say("solver", "count", session="s")
    assert (reply.text, reply.run.outcome) == ("The answer is 1.", "finished")
    told = chunks(client, reply.run.id)
    deltas = [chunk["delta"] for chunk in told if chunk["type"].endswith("-delta")]
    assert deltas == ["I will count.", "The answer ", "is 1."]
    shown = [chunk["data"] for chunk in told if chunk["type"].startswith("data-")]
    assert [part.get("code") or part.get("output") for part in shown] == ["print(1)", "1"]
    assert told[-1]["messageMetadata"]["usage"]["totalTokens"] == 12

    client.say("solver", "again", session="s")
    asked = service.requests[1]
    assert (asked["previous_interaction_id"], asked["environment"]) == ("i1", "e1")


def test_a_refusal_fails_the_run_without_its_text(service: Service, client: TestClient) -> None:
    """The client gets a reference to the log."""
    service.refuses = True
    reply = client.say("solver", "count")
    assert reply.run.outcome == "failed"
    told = chunks(client, reply.run.id)
    assert "Reference" in told[-1]["errorText"]
    assert SECRET not in json.dumps(told)


def test_a_stream_that_ends_early_keeps_what_came(service: Service, client: TestClient) -> None:
    """ADK takes it for the end of the answer, and stores none of its text."""
    service.breaks_off = True
    reply = client.say("solver", "count")
    assert reply.run.outcome == "finished"
    told = chunks(client, reply.run.id)
    assert [chunk["delta"] for chunk in told if chunk["type"] == "text-delta"] == ["The answer "]
    session = client.get(f"/apps/solver/users/user/sessions/{reply.run.session}").json()
    assert "The answer" not in json.dumps(session["events"])
