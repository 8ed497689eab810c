"""Agents over A2A, by a server process that has the A2A SDK (`make .venv/a2a/.installed`)."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.server import Server, serving
from tests.patience import PATIENCE
from tests.security.people import ANN, BOB, headers, token_file

import adk_prism.apps

ROOT = Path(__file__).parents[3]
PACKAGES = ROOT / ".venv" / "a2a"
TOUR = Path(adk_prism.apps.__path__[0]) / "tour"
ASKER = """
from pathlib import Path
import httpx
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent

card = (Path(__file__).parent / "card").read_text()
client = httpx.AsyncClient(headers={"authorization": "Bearer token-of-bob"}, timeout=60)
root_agent = RemoteA2aAgent(name="asker", agent_card=card, httpx_client=client)
"""

Json = dict[str, Any]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve the tour over A2A, an agent that asks it, and apps without a card or with a bad one."""
    assert (PACKAGES / "a2a").is_dir(), "run `make .venv/a2a/.installed`"
    folder = tmp_path_factory.mktemp("a2a")
    agents = folder / "agents"
    shutil.copytree(TOUR, agents / "tour")
    shutil.copytree(TOUR, agents / "unnamed")
    (agents / "unnamed" / "agent.json").write_text('{"name": 7')
    (agents / "asker").mkdir()
    (agents / "asker" / "agent.py").write_text(ASKER)
    options = ["--a2a", "--tokens", token_file(folder), "--limit-rate", "10000"]
    with serving(folder, *options, agents=agents, packages=PACKAGES) as server:
        (agents / "tour" / "agent.json").write_text(json.dumps(card(f"{server.url}/a2a/tour")))
        (agents / "asker" / "card").write_text(f"{server.url}/a2a/tour/.well-known/agent-card.json")
        yield server


def card(url: str) -> Json:
    """Return an agent card."""
    skill = {"id": "tour", "name": "tour", "description": "Shows what there is.", "tags": ["tour"]}
    return {
        "name": "tour",
        "description": "Shows what an ADK run can contain.",
        "url": url,
        "version": "1.0.0",
        "protocolVersion": "0.3.0",
        "preferredTransport": "JSONRPC",
        "capabilities": {"streaming": True},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [skill],
    }


def call(server: Server, method: str, params: Json, user: str = BOB, **more: str) -> Json:
    """Call a method of A2A 0.3; return the whole answer."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = server.http.post("/a2a/tour", json=body, headers=headers(user) | more)
    assert answer.status_code == 200, answer.text
    answered: Json = answer.json()
    return answered


def say(server: Server, *parts: Json, user: str = BOB, **more: Any) -> Json:
    """Send a message; return the task."""
    about = {key: more.pop(key) for key in ("contextId", "taskId") if key in more}
    message = {"role": "user", "messageId": "m", "parts": list(parts), **about}
    task: Json = call(server, "message/send", {"message": message, **more}, user)["result"]
    return task


def text(words: str) -> Json:
    return {"kind": "text", "text": words}


def runs(server: Server, session: str, user: str = BOB) -> list[Json]:
    found: list[Json] = server.http.get(
        "/api/runs", params={"session": session}, headers=headers(user)
    ).json()
    return found


def test_a_message_is_a_recorded_run_of_its_caller(server: Server) -> None:
    """With the answer as an artifact; the run is like all others."""
    task = say(server, text("tool"))
    assert task["status"]["state"] == "completed"
    assert "sunny in Lisbon" in json.dumps(task["artifacts"])
    (run,) = runs(server, task["contextId"])
    assert (run["app"], run["user"], run["outcome"]) == ("tour", BOB, "finished")
    view = server.http.get(f"/api/runs/{run['run']}/view", headers=headers(BOB)).json()
    assert [node["name"] for node in view["timeline"]["nodes"]] == ["tour", "get_weather"]


def test_both_versions_of_the_protocol_are_spoken(server: Server) -> None:
    """A2A 1.0 as well as 0.3, and 0.3 as a stream."""
    message = {"role": "ROLE_USER", "messageId": "m", "parts": [{"text": "text"}]}
    answer = call(server, "SendMessage", {"message": message}, **{"A2A-Version": "1.0"})
    assert answer["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    body = {"message": {"role": "user", "messageId": "m", "parts": [text("text")]}}
    streamed = server.http.post(
        "/a2a/tour",
        json={"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": body},
        headers=headers(BOB),
    )
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert '"state":"completed"' in streamed.text


def test_an_approval_is_answered_in_the_same_task(server: Server) -> None:
    """The run waits; the answer goes on with it."""
    task = say(server, text("approval"))
    assert task["status"]["state"] == "input-required"
    asked = next(
        part["data"]
        for message in task["history"]
        for part in message["parts"]
        if part.get("data", {}).get("name") == "adk_request_confirmation"
    )
    response = {"id": asked["id"], "name": asked["name"], "response": {"confirmed": True}}
    given = {"kind": "data", "data": response, "metadata": {"adk_type": "function_response"}}
    done = say(server, given, contextId=task["contextId"], taskId=task["id"])
    assert done["status"]["state"] == "completed"
    outcomes = [run["outcome"] for run in runs(server, task["contextId"])]
    assert outcomes == ["waiting", "finished"]


def test_cancelling_a_task_stops_its_run(server: Server) -> None:
    """A client that leaves does not; that is asked for."""
    task = say(server, text("slow 600"), configuration={"blocking": False})
    until = time.monotonic() + PATIENCE
    while not (found := runs(server, task["contextId"])):
        assert time.monotonic() < until
    cancelled = call(server, "tasks/cancel", {"id": task["id"]})
    assert cancelled["result"]["status"]["state"] == "canceled"
    while found[0]["outcome"] is None:
        assert time.monotonic() < until
        found = runs(server, task["contextId"])
    assert found[0]["outcome"] == "cancelled"


def test_tasks_and_sessions_are_the_callers(server: Server) -> None:
    """Another's task is not there, and the same context is another session."""
    task = say(server, text("text"))
    assert "result" in call(server, "tasks/get", {"id": task["id"]})
    assert "error" in call(server, "tasks/get", {"id": task["id"]}, ANN)
    assert "error" in call(server, "tasks/cancel", {"id": task["id"]}, ANN)
    hers = say(server, text("text"), user=ANN, contextId=task["contextId"])
    assert hers["status"]["state"] == "completed"
    assert [run["user"] for run in runs(server, task["contextId"], ANN)] == [ANN]
    assert [run["user"] for run in runs(server, task["contextId"])] == [BOB]
    assert server.http.get("/a2a/tour/.well-known/agent-card.json").status_code == 401
    assert server.http.post("/a2a/tour", json={}).status_code == 401


def test_failures_are_told_without_their_texts(server: Server) -> None:
    """Of the agent, of the request; and no URL of a client's is called."""
    failed = say(server, text("exception"))
    assert failed["status"]["state"] == "failed"
    assert "always fails" not in json.dumps(failed)
    bad = say(server, text("text"), contextId="../up")
    assert bad["status"]["state"] == "failed"
    assert "session id" in json.dumps(bad["status"])
    push = {"taskId": "t", "pushNotificationConfig": {"url": "http://127.0.0.1:1/"}}
    assert "error" in call(server, "tasks/pushNotificationConfig/set", push)
    nonsense = server.http.post("/a2a/tour", content=b"{", headers=headers(BOB))
    assert nonsense.json()["error"]["code"] == -32700


@pytest.mark.parametrize(
    ("app", "status", "said"),
    [("asker", 404, "agent.json"), ("unnamed", 500, "Reference"), ("nobody", 404, "no app")],
)
def test_apps_without_a_good_card_are_refused(
    app: str, status: int, said: str, server: Server
) -> None:
    """With what is missing; the others are served."""
    answer = server.http.get(f"/a2a/{app}/.well-known/agent-card.json", headers=headers(BOB))
    assert answer.status_code == status
    assert said in answer.json()["detail"]


def test_adks_own_client_understands_it(server: Server) -> None:
    """An agent on the other side of A2A: ADK reads the card, and gets the answer."""
    sessions = f"/apps/asker/users/{BOB}/sessions"
    session = server.http.post(sessions, json={}, headers=headers(BOB)).json()["id"]
    message = {"role": "user", "parts": [{"text": "tool"}]}
    body = {"appName": "asker", "userId": BOB, "sessionId": session, "newMessage": message}
    answer = server.http.post("/run", json=body, headers=headers(BOB))
    assert answer.status_code == 200, answer.text
    assert "sunny in Lisbon" in answer.text


def test_line_separators_are_escaped(server: Server) -> None:
    """Readers that split with `str.splitlines`, as httpx does, take them for the end of a line."""
    said = "one\u2028two\u2029three\u0085four"
    message = {"role": "user", "messageId": "m-lines", "parts": [{"kind": "text", "text": said}]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": {"message": message}}
    streamed = server.http.post("/a2a/tour", json=body, headers=headers(BOB))
    lines = [line[6:] for line in streamed.text.splitlines() if line.startswith("data: ")]
    assert any(said in json.dumps(json.loads(line), ensure_ascii=False) for line in lines)
    assert not set("\u2028\u2029\u0085") & set(streamed.text)
