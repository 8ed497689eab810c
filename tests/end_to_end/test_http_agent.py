"""AG-UI's own `HttpAgent`, 0.0.59 and 1.0.0, against the served tour: it objects to nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from tests.conformance.worker import Worker, running
from tests.conftest import Node
from tests.end_to_end.server import Server

Json = dict[str, Any]
CLIENTS = ("ag-ui-client-0", "ag-ui-client-1")

APPROVED: Json = {"status": "resolved", "payload": {"approved": True}}
DENIED: Json = {"status": "resolved", "payload": {"approved": False}}
HERE: Json = {"result": {"city": "Rome"}, "of": "get_location"}
CANCELLED: Json = {"status": "cancelled"}

_threads = count(1)


@pytest.fixture(scope="module")
def worker(node: Node) -> Iterator[Worker]:
    with running(node.binary, node.folder / "http_agent.mjs") as found:
        yield found


@pytest.fixture(params=CLIENTS, ids=["0.0.59", "1.0.0"])
def client(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@dataclass(frozen=True)
class Talk:
    """Talks to the tour in a thread of its own; call it."""

    worker: Worker
    server: Server
    client: str

    def __call__(self, *steps: Json) -> Json:
        asked = {
            "client": self.client,
            "url": f"{self.server.url}/api/ag-ui/tour",
            "thread": f"thread-{next(_threads)}",
            "steps": list(steps),
        }
        found = self.worker.ask(asked)
        assert found["faults"] == []
        return found


@pytest.fixture
def talk(worker: Worker, server: Server, client: str) -> Talk:
    return Talk(worker, server, client)


def say(text: str, **more: Any) -> Json:
    return {"say": text, **more}


def texts(messages: list[Json], role: str = "assistant") -> list[str]:
    found = [m["content"] for m in messages if m["role"] == role and m.get("content")]
    return [text.strip() for text in found]


FINE = (
    "help",
    "text",
    "reasoning",
    "tool",
    "streamed arguments",
    "tool error",
    "recovered error",
    "long-running tool",
    "progress",
    "code",
    "image",
    "file reference",
    "audio",
    "sources",
    "state",
    "artifact",
    "transfer",
    "parallel specialists",
    "agent tool",
    "workflow",
    "max tokens",
    "safety block",
    "server-side tool",
    "empty answer",
)


@pytest.mark.parametrize("prompt", FINE)
def test_every_prompt_of_the_tour(prompt: str, talk: Talk) -> None:
    """It is said, and said again; whoever opens the thread then holds the same messages and state."""
    found = talk(say(prompt), {"again": True}, {"connect": True})
    for ended in found["ended"]:
        assert ended["outcome"]["type"] == "success", ended
        assert "thrown" not in ended
    fresh = found["fresh"]
    assert [m["id"] for m in fresh["messages"]] == [m["id"] for m in found["messages"]]
    assert fresh["state"] == found["state"]
    assert texts(fresh["messages"], "user") == [prompt]


@pytest.mark.parametrize("prompt", ["exception", "quota error", "broken stream"])
def test_a_run_that_fails_says_so_and_the_thread_goes_on(prompt: str, talk: Talk) -> None:
    found = talk(say(prompt), {"connect": True}, say("text"))
    first, opened, then = found["ended"]
    assert first["error"]["message"]
    assert opened["error"] == first["error"]
    assert then["outcome"]["type"] == "success"


@pytest.mark.parametrize("answer", [APPROVED, DENIED, CANCELLED], ids=["yes", "no", "cancelled"])
@pytest.mark.parametrize("prompt", ["approval", "two approvals", "sub-agent approval"])
def test_approvals(prompt: str, answer: Json, talk: Talk) -> None:
    found = talk(say(prompt), {"connect": True}, {"answer": [answer, answer]}, say("text"))
    asked, opened, answered, then = found["ended"]
    assert asked["outcome"]["type"] == "interrupt"
    assert opened["outcome"] == asked["outcome"]
    assert answered["outcome"]["type"] == "success", answered
    assert then["outcome"]["type"] == "success"
    results = [m for m in found["messages"] if m["role"] == "tool"]
    assert len(results) >= len(asked["outcome"]["interrupts"])


def test_requests_for_input_and_credentials(talk: Talk) -> None:
    found = talk(
        say("input request"), {"answer": [{"status": "resolved", "payload": {"guests": 4}}]}
    )
    asked, answered = found["ended"]
    assert asked["outcome"]["interrupts"][0]["reason"] == "input_required"
    assert answered.get("outcome", {}).get("type") == "success", answered
    found = talk(say("credential request"), {"answer": [CANCELLED]}, say("text"))
    asked, left, then = found["ended"]
    assert asked["outcome"]["interrupts"][0]["reason"] == "adk:credential"
    assert left["outcome"]["type"] == "success"
    assert then["outcome"]["type"] == "success"


def test_tools_of_the_page(talk: Talk) -> None:
    found = talk(say("client tool"), {"connect": True}, HERE)
    assert found["interrupts"] == []
    asked, _, answered = found["ended"]
    assert asked["outcome"]["type"] == answered["outcome"]["type"] == "success"
    assert texts(found["messages"])


def test_a_call_an_approval_and_a_tool_of_the_page_in_one(talk: Talk) -> None:
    found = talk(say("mixed batch"), {"answer": [APPROVED]}, HERE)
    asked, answered, done = found["ended"]
    assert asked["outcome"]["type"] == "interrupt"
    assert answered["outcome"]["type"] == "success"
    assert done["outcome"]["type"] == "success", done
    assert texts(found["messages"])


def test_state_is_shared(talk: Talk) -> None:
    found = talk(say("text", state={"theme": "dark"}), say("state"))
    assert found["state"]["theme"] == "dark"
    assert len(found["state"]) > 1


def test_new_input_while_a_question_is_open(talk: Talk) -> None:
    """The client itself refuses it; one that forgot the question is told by the server."""
    found = talk(say("approval"), say("text"))
    assert "pending interrupt" in found["ended"][1]["thrown"]
