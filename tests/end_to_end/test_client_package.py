"""`PrismChatTransport` and `sendWhenAnswered` of `packages/client`, under the AI SDK's real chat."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.chat import ChatResult
from tests.end_to_end.clients import (
    APPROVE,
    DENY,
    DONE,
    RELEASE,
    RELOAD,
    Player,
    chat_body,
    new_id,
    open_gate,
    send,
)
from tests.end_to_end.server import Server, free_port

Json = dict[str, Any]
OURS: Json = {"prism": {}}
LEFT: Json = {"prism": {"stopOnAbort": False}}
"""A page that is left lets its run go on."""
HERE: Json = {"do": "output", "output": {"city": "Rome"}}
STOP_BUTTON: Json = {"do": "stop"}


def test_only_the_last_message_is_sent(play: Player) -> None:
    """And which one is before it; the page that is loaded later shows the same."""
    played = play(send("text"), send("tool"), RELOAD, **OURS)
    first, second = played.posts
    shown = played.steps[1]["messages"]
    assert [message["id"] for message in first["body"]["messages"]] == [shown[0]["id"]]
    before, _ = second["body"]["messages"]
    assert before == {"id": shown[1]["id"], "role": "assistant", "parts": []}
    assert played.call("get_weather")["state"] == DONE
    assert [message["id"] for message in played.messages] == [message["id"] for message in shown]


ANSWERS = {
    "approval": ("approval", [APPROVE]),
    "denial": ("approval", [DENY]),
    "sub-agent": ("sub-agent approval", [APPROVE]),
    "two approvals": ("two approvals", [APPROVE]),
    "client tool": ("client tool", [HERE]),
    "tool, then approval": ("mixed batch", [HERE, APPROVE]),
    "approval, then tool": ("mixed batch", [APPROVE, HERE]),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_chat_goes_on_once_all_is_answered(play: Player, name: str) -> None:
    """Approvals and tools of the page, alone and mixed: one further request, and none after it."""
    prompt, answers = ANSWERS[name]
    played = play(send(prompt), *answers, **OURS)
    assert played.status == "ready", played.error
    assert [step["requests"] for step in played.steps] == [1, *[0] * (len(answers) - 1), 1]
    assert played.text


@pytest.mark.parametrize("prompt", ["long-running tool", "input request", "agent tool", "workflow"])
def test_nothing_is_sent_where_nothing_was_asked_of_the_client(play: Player, prompt: str) -> None:
    played = play(send(prompt), **OURS)
    assert len(played.posts) == 1


def bare(play: Player, *steps: Json, **script: Any) -> ChatResult:
    """Play a script whose responses are not judged: those after a cut are no whole messages."""
    url = play.server.chat(script.pop("app", "tour")) + play.client.query
    script = {"id": new_id(), "limits": {"seconds": 60}, **OURS, **script}
    return play.chat({"sdk": play.client.sdk, "url": url, "steps": steps, **script})


@pytest.mark.parametrize("cut", [{"bytes": 0}, {"bytes": 700}, {"chunks": 12}], ids=str)
def test_a_lost_connection_is_not_noticed(play: Player, cut: Json) -> None:
    """The stream goes on after the last frame; the run was started once."""
    whole = play(send("tool"), **OURS)
    played = bare(play, send("tool", cut=cut))
    assert (played.status, played.errors) == ("ready", [])
    assert played.text == whole.text
    assert [part["type"] for part in played.messages[-1]["parts"]] == [
        part["type"] for part in whole.messages[-1]["parts"]
    ]
    assert len(played.posts) == 1


@pytest.mark.parametrize("at", [3, 15], ids=["in an earlier run", "in the last run"])
def test_a_resumed_message_goes_on_after_a_cut(play: Player, at: int) -> None:
    """Its beginning is of an earlier run; frames of both are read once."""
    gate = new_id("gate")
    asked = [send(f"erase page [{gate}]"), APPROVE, {"do": "continue", "hold": {"chunks": 2}}]
    again = [{"do": "resume", "hold": {"chunks": at}}, {"do": "drop"}, open_gate(gate), RELEASE]
    played = bare(play, *asked, *again, app="diary", auto=[], **LEFT)
    assert (played.status, played.errors) == ("ready", [])
    assert played.text == f'I do it.Done: [{gate}] erase {{"erased": "page"}}'


def test_a_resumed_message_that_ended_meanwhile(play: Player) -> None:
    """Where its rest cannot be asked for any more, the error says what to do."""
    gate = new_id("gate")
    asked = [send(f"erase page [{gate}]"), APPROVE, {"do": "continue", "hold": {"chunks": 2}}]
    again = [{"do": "resume", "hold": {"chunks": 3}}, open_gate(gate), {"do": "drop"}, RELEASE]
    played = bare(play, *asked, *again, app="diary", auto=[], **LEFT)
    assert played.status == "error"
    assert "Load the messages again" in (played.error or "")


def test_stop_reaches_the_server(play: Player, server: Server) -> None:
    """The run is cancelled, not only left; the chat is ready for the next message."""
    chat, gate = new_id(), new_id("gate")
    hold = send(f"say [{gate}] more", hold={"chunks": 3})
    played = bare(play, hold, STOP_BUTTON, send("hello"), app="diary", id=chat)
    assert (played.status, played.errors) == ("ready", [])
    runs: list[Json] = server.http.get(f"/api/runs?app=diary&session={chat}").json()
    assert [run["outcome"] for run in runs] == ["cancelled", "finished"]


REFUSED = {
    "an unknown app": ("/api/chat/nowhere", "There is no app 'nowhere'"),
    "another server's page": (
        "/elsewhere/api/chat/tour",
        "is it the address of an adk-prism server?",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_can_be_read(play: Player, server: Server, name: str) -> None:
    path, reason = REFUSED[name]
    script = {"sdk": play.client.sdk, "url": server.url + path, "steps": [send("text")]}
    played = play.chat({**script, **OURS})
    assert played.status == "error"
    assert reason in (played.error or "")


def test_a_server_that_is_down(play: Player) -> None:
    """It is tried again for a moment, and then said what may be wrong."""
    url = f"http://127.0.0.1:{free_port()}/api/chat/tour"
    played = play.chat({"sdk": play.client.sdk, "url": url, "steps": [send("text")], **OURS})
    assert len(played.posts) == 3
    assert "cannot be reached. Is the server running" in (played.error or "")


# ------------------------------------------------------------------ schemas

METADATA: dict[str, tuple[str, Any, bool]] = {
    "a user's message without any": ("user", None, True),
    "when it was sent": ("user", {"createdAt": 1}, True),
    "what a page keeps for itself": ("user", {"theme": "dark", "usage": "none"}, True),
    "a text": ("user", "note", True),
    "an answer's": ("assistant", {"runId": "r", "createdAt": 1}, True),
    "an answer's, wrong": ("assistant", {"runId": 1}, False),
    "an answer's usage, wrong": ("assistant", {"runId": "r", "usage": "none"}, False),
}


def _validated(*lists: list[Json]) -> list[str | None]:
    script = Path(__file__).parents[1] / "node" / "metadata_schema.mjs"
    ran = subprocess.run(
        [Path(sys.executable).parent / "node", script],
        input=json.dumps(lists),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found: list[str | None] = json.loads(ran.stdout)
    return found


def test_metadata_of_answers_and_of_users_is_accepted() -> None:
    """`validateUIMessages` asks the schema about every message, also about those without metadata."""
    lists = []
    for role, metadata, _ in METADATA.values():
        message = {"id": "m", "role": role, "parts": [{"type": "text", "text": "hi"}]}
        lists.append([{**message, "metadata": metadata} if metadata is not None else message])
    accepted = [refused is None for refused in _validated(*lists)]
    assert dict(zip(METADATA, accepted, strict=True)) == {k: v[2] for k, v in METADATA.items()}


def test_a_whole_conversation_is_accepted(server: Server) -> None:
    """As it is loaded: answers, the user's messages, data parts."""
    chat = new_id()
    for prompt in ("text", "tool"):
        server.http.post(server.chat("tour"), json=chat_body(chat, prompt)).raise_for_status()
    messages = server.http.get(f"{server.chat('tour')}/{chat}/messages").json()
    assert _validated(messages) == [None]
