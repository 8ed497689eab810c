"""Chats whose stream is stopped, left, interrupted or cut, and that are come back to."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.conformance.chat import ChatResult, text_of
from tests.conformance.judge import SDKS, Judge
from tests.end_to_end.clients import (
    APPROVE,
    DENIED,
    DENY,
    DONE,
    FAILED,
    MESSAGES,
    RELEASE,
    RELOAD,
    RESUME,
    STOP,
    Client,
    Player,
    Step,
    chat_body,
    new_id,
    open_gate,
    send,
    shown,
)
from tests.end_to_end.diary import last_run
from tests.end_to_end.server import Server

# ------------------------------------------------------------------ stopping


def test_stop(play: Player, client: Client, server: Server) -> None:
    """The server's stop route ends the run: what was said is kept, in the page and in the chat, and
    the next message is answered. Stopping again, or nothing, is no error."""
    chat = new_id()
    held = send(f"hello [{new_id('gate')}] there", hold={"chunks": 5})
    result = play(held, STOP, RELEASE, STOP, MESSAGES, app="diary", id=chat)
    stops = [r for r in result.requests if r["url"].partition("?")[0].endswith("/stop")]
    assert [json.loads(r["text"])["stopped"] for r in stops] == [True, False]
    assert text_of(result.messages[-1]).startswith("You said: hello")
    stored = json.loads(result.requests[-1]["text"])
    assert [shown(m, client) for m in stored] == [shown(m, client) for m in result.messages]
    assert last_run(server, chat)["outcome"] == "cancelled"
    after = play(RELOAD, send("again"), app="diary", id=chat)
    assert after.text == "You said: again"


def test_leaving_is_not_stopping(play: Player, server: Server) -> None:
    """A client's own stop button only leaves: the run goes on, and its message is there later."""
    chat, gate = new_id(), new_id("gate")
    held = send(f"hello [{gate}] there", hold={"chunks": 5})
    result = play(held, {"do": "stop"}, open_gate(gate), RESUME, app="diary", id=chat)
    assert result.text == f"You said: hello [{gate}] there"
    assert last_run(server, chat)["outcome"] == "finished"


def test_a_second_message_interrupts_the_first(play: Player, server: Server) -> None:
    """The run that is on stops, keeps what it said, and the new message is answered."""
    chat, gate = new_id(), new_id("gate")
    held = send(f"first [{gate}] part", hold={"chunks": 5})
    result = play(held, {"do": "stop"}, send("second"), RELOAD, app="diary", id=chat)
    texts = [text_of(m) for m in result.messages]
    assert texts[:1] + texts[2:] == [f"first [{gate}] part", "second", "You said: second"]
    assert texts[1] == f"You said: first [{gate}] "
    runs = server.http.get(f"/api/runs?session={chat}").json()
    assert [run["outcome"] for run in runs] == ["cancelled", "finished"]


def test_many_messages_at_once(server: Server, judge: Judge) -> None:
    """Each is answered or interrupted, none fails, and nothing of them is mixed."""
    chat, url = new_id(), server.chat("diary")
    bodies = [chat_body(chat, f"number {number}") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda body: server.http.post(url, json=body), bodies))
    for answer in answers:
        verdicts = [judge(answer.text, sdk) for sdk in SDKS]
        assert "".join(verdict.why for verdict in verdicts if not verdict.ok) == ""
    runs = server.http.get(f"/api/runs?session={chat}").json()
    assert len(runs) == 8
    assert {run["outcome"] for run in runs} <= {"cancelled", "finished"}
    assert runs[-1]["outcome"] == "finished"
    stored = server.http.get(f"{url}/{chat}/messages").json()
    for asked, answered in zip(stored[::2], stored[1::2], strict=True):
        assert f"You said: {text_of(asked)}".startswith(text_of(answered))


# ------------------------------------------------------------------ coming back


def gated(gate: str) -> str:
    """Return a message whose answer stops in the middle until the gate is opened."""
    return f"one two [{gate}] three four"


@pytest.mark.parametrize("chunks", [1, 2, 3, 4, 6])
def test_resume_after_a_cut(play: Player, chunks: int) -> None:
    """Wherever the connection broke, a new page shows the whole message, once."""
    gate = new_id("gate")
    cut = send(gated(gate), cut={"chunks": chunks})
    result = play(cut, {**RESUME, "hold": {"chunks": 5}}, open_gate(gate), RELEASE, app="diary")
    check_resumed(result, f"You said: {gated(gate)}")


@pytest.mark.parametrize("place", [40, 200, 333, 450])
def test_resume_after_a_cut_inside_a_chunk(play: Player, place: int) -> None:
    """Also where half a chunk had come."""
    gate = new_id("gate")
    cut = send(gated(gate), cut={"bytes": place})
    result = play(cut, {**RESUME, "hold": {"chunks": 5}}, open_gate(gate), RELEASE, app="diary")
    check_resumed(result, f"You said: {gated(gate)}")


@pytest.mark.parametrize("decision", [APPROVE, DENY], ids=["approved", "denied"])
@pytest.mark.parametrize("chunks", [1, 3, 5])
def test_resume_in_a_continuation(play: Player, decision: Step, chunks: int) -> None:
    """A message that an answer has continued comes back whole: question, decision and the rest."""
    gate = new_id("gate")
    result = play(
        send(f"erase page [{gate}]"),
        decision,
        {"do": "continue", "cut": {"chunks": chunks}},
        {**RESUME, "hold": {"chunks": 9}},
        open_gate(gate),
        RELEASE,
        app="diary",
        auto=[],
    )
    check_resumed(result, f"I do it.Done: [{gate}] erase")
    state = {"approved": DONE, "denied": DENIED if play.client.dialect else FAILED}
    assert result.call("erase")["state"] == state["approved" if decision is APPROVE else "denied"]


def check_resumed(result: ChatResult, says: str) -> None:
    assert (result.status, result.error) == ("ready", None)
    assert [m["role"] for m in result.messages] == ["user", "assistant"]
    assert says in result.text
    assert len({m["id"] for m in result.messages}) == 2
    resumed = [r for r in result.requests if r["url"].partition("?")[0].endswith("/stream")]
    assert [r["status"] for r in resumed] == [200]


def test_nothing_to_resume(play: Player) -> None:
    """204 when no run is on: after a run, and while a person is asked."""
    for text in ("hello", "erase page"):
        result = play(send(text), RESUME, app="diary")
        assert result.requests[-1]["status"] == 204
        assert result.status == "ready"


def test_nothing_to_resume_in_a_new_chat(server: Server) -> None:
    """A chat that nobody has begun has nothing to resume, and no messages."""
    url = f"{server.chat()}/{new_id()}"
    assert server.http.get(url + "/stream").status_code == 204
    assert server.http.get(url + "/messages").json() == []


def test_the_message_that_streams_is_not_among_the_stored(play: Player) -> None:
    """Else older clients would show it twice when they resume."""
    gate = new_id("gate")
    held = send(gated(gate), hold={"chunks": 4})
    result = play(held, MESSAGES, open_gate(gate), RELEASE, app="diary")
    stored = json.loads(result.requests[1]["text"])
    assert [m["role"] for m in stored] == ["user"]
