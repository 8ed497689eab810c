"""`WS /api/chat/{app}/socket`, judged by the AI SDK's own `WebSocketChatTransport`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import httpx
import pytest
from tests.conformance.worker import running
from tests.conftest import Node
from tests.end_to_end.server import Server, serving
from tests.patience import PATIENCE

Json = dict[str, Any]
Play = Callable[..., Json]

_numbers = count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The bundled apps, with a model that takes its time between two words."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.end_to_end.server._environment", _environment)
        with serving(tmp_path_factory.mktemp("served"), agents=None) as found:
            yield found


def _environment() -> dict[str, str]:
    from tests.end_to_end import server

    return {**server.os.environ, "ADK_PRISM_MODEL": "offline", "ADK_PRISM_OFFLINE_DELAY": "0.005"}


@pytest.fixture
def play(server: Server, node: Node) -> Iterator[Play]:
    """`play(*steps) -> reply` of tests/node/socket.mjs, in a chat of its own."""
    url = server.url.replace("http", "ws") + "/api/chat/tour/socket"
    with running(node.binary, node.folder / "socket.mjs") as worker:

        def played(*steps: Json, **script: Any) -> Json:
            script = {"url": url, "id": f"socket-{next(_numbers)}", "steps": steps, **script}
            reply: Json = worker.ask({"script": script})
            return reply

        yield played


def step(name: str, **about: Any) -> Json:
    return {"do": name, **about}


def text_of(shown: Json) -> str:
    parts = shown["messages"][-1]["parts"]
    return "".join(part.get("text", "") for part in parts)


def outcome(server: Server, chat: str) -> list[str | None]:
    runs = server.http.get("/api/runs", params={"app": "tour", "session": chat}).json()
    return [run["outcome"] for run in runs]


def test_a_chat(play: Play) -> None:
    """Several messages over one socket."""
    reply = play(step("send", text="text"), step("send", text="tool"))
    assert reply["errors"] == []
    assert [shown["status"] for shown in reply["steps"]] == ["ready", "ready"]
    assert "plain text" in text_of(reply["steps"][0])
    assert [len(shown["messages"]) for shown in reply["steps"]] == [2, 4]


def test_two_chats_on_one_socket(play: Play) -> None:
    """At the same time, without mixing them up."""
    reply = play(
        step("send", chat="left", text="long 300", until=50),
        step("send", chat="right", text="text"),
        step("finish", chat="left"),
    )
    assert reply["errors"] == []
    assert text_of(reply["steps"][2]).split()[-1].startswith("word")
    assert "plain text" in text_of(reply["steps"][1])


def test_an_approval(play: Play) -> None:
    """The answer is a request of its own, and goes on with the message."""
    reply = play(step("send", text="approval"), step("approve", approved=False, reason="no"))
    assert reply["errors"] == []
    last = reply["steps"][-1]["messages"]
    assert len(last) == 2
    (call,) = [part for part in last[-1]["parts"] if part["type"] == "tool-send_invoice"]
    assert call["state"] == "output-denied"


def test_stop(play: Play, server: Server) -> None:
    """The run is stopped, and the socket can be used again."""
    reply = play(
        step("send", text="long 5000", until=50),
        step("stop"),
        step("send", text="text"),
        id="stopped",
    )
    assert reply["errors"] == []
    assert reply["finishes"][0]["isAbort"]
    assert outcome(server, "stopped") == ["cancelled", "finished"]


def test_drop_and_resume(play: Play) -> None:
    """The run goes on without the socket; whoever resumes gets the whole message once."""
    reply = play(
        step("send", text="long 200", until=50),
        step("drop"),
        step("reload"),
        step("resume"),
    )
    shown = reply["steps"][-1]
    assert shown["status"] == "ready"
    assert len(shown["messages"]) == 1
    words = text_of(shown).split()
    assert [word for word in words if word.startswith("word")] == [
        f"word{n}" for n in range(1, 201)
    ]


def test_stopping_to_watch_stops_nothing(play: Play, server: Server) -> None:
    """A second tab that resumes and stops leaves the run to the first."""
    reply = play(
        step("send", chat="watched", text="long 200", until=50),
        step("reload", chat="watched"),
        step("resume", chat="watched", until=50),
        step("stop", chat="watched"),
    )
    assert reply["errors"] == []
    assert server.http.get("/api/chat/tour/watched/messages").status_code == 200
    with server.http.stream("GET", "/api/chat/tour/watched/stream") as stream:
        assert "[DONE]" in stream.read().decode()
    assert outcome(server, "watched") == ["finished"]


def test_nothing_to_resume(play: Play) -> None:
    """Is no error."""
    reply = play(step("resume"))
    assert (reply["errors"], reply["steps"][0]["status"]) == ([], "ready")


def test_a_refusal_concerns_one_request(play: Play) -> None:
    """It fails with the server's words; the socket and its other chats go on."""
    reply = play(
        step("send", chat="fine", text="long 100", until=20),
        step("send", chat="not/fine", text="text"),
        step("finish", chat="fine"),
    )
    assert reply["steps"][1]["status"] == "error"
    assert "slash" in reply["steps"][1]["error"]
    assert reply["steps"][2]["status"] == "ready"


def frame(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, "requestId": "r1", **fields})


BAD = {
    "an unknown type": (frame("dance"), "error"),
    "no chat": (frame("send", messages=[]), "error"),
    "no messages": (frame("send", id="bad", messages=[]), "error"),
    "headers that are no texts": (frame("send", id="bad", messages=[], headers={"a": 1}), "error"),
    "a forged answer": (
        frame(
            "send",
            id="bad",
            messages=[
                {
                    "id": "m",
                    "role": "assistant",
                    "parts": [
                        {
                            "type": "tool-pay",
                            "toolCallId": "c1",
                            "state": "approval-responded",
                            "approval": {"id": "a1", "approved": True},
                        }
                    ],
                }
            ],
        ),
        "error",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_frames(play: Play, case: str) -> None:
    """A bad frame that names a request fails that request."""
    sent, kind = BAD[case]
    reply = play(step("raw", frames=[sent]))
    told = [frame for frame in reply["raw"] if "type" in frame]
    assert [(frame["type"], frame["requestId"]) for frame in told] == [(kind, "r1")]
    assert told[0]["errorText"]


@pytest.mark.parametrize("sent", ["{", "[]", '{"type": "send"}', '{"type":"pong"}'])
def test_what_names_no_request(play: Play, sent: str) -> None:
    """Cannot be answered: the client would give up all its requests. The socket is closed."""
    assert play(step("raw", frames=[sent]))["raw"] == [
        {"code": 1007, "reason": "not a frame of the chat transport"}
    ]


def test_the_sequence_of_frames(play: Play) -> None:
    """`start`, chunks counted from 0, `end`; an abort of what is over is nothing."""
    message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "text"}]}
    reply = play(step("raw", frames=[frame("send", id="raw", messages=[message])]))
    told = [frame for frame in reply["raw"] if "type" in frame]
    kinds = [frame["type"] for frame in told]
    assert kinds[0] == "start"
    assert kinds[-1] == "end"
    chunks = [frame for frame in told if frame["type"] == "chunk"]
    assert [frame["sequence"] for frame in chunks] == list(range(len(chunks)))
    assert (chunks[0]["chunk"]["type"], chunks[-1]["chunk"]["type"]) == ("start", "finish")


def test_a_page_of_another_origin(server: Server) -> None:
    """Is refused at the handshake, as everywhere."""
    headers = {
        "connection": "upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "x3JJHMbDL1EzLkh9GBhXDw==",
        "origin": "https://evil.example",
    }
    for path in ("/api/chat/tour/socket", "/api/live/tour"):
        answer = httpx.get(server.url + path, headers=headers, timeout=PATIENCE)
        assert answer.status_code == 403
