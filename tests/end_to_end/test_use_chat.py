"""Conversations of the AI SDK's real chat clients with the real server.

Every stream that a client is sent passes the judges of all releases that have to understand it
(`clients.Player`); beyond that each test says what the person must see and what must have happened.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from tests.conformance.chat import text_of
from tests.end_to_end.clients import (
    APPROVE,
    DENIED,
    DENY,
    DONE,
    FAILED,
    MESSAGES,
    RELOAD,
    Client,
    Player,
    Step,
    chat_body,
    new_id,
    send,
    shown,
)
from tests.end_to_end.diary import notes, ran
from tests.end_to_end.server import Server

from adk_prism.apps.tour.scenarios import SCENARIOS, Scenario

Json = dict[str, Any]
ROME = {"city": "Rome"}

# ------------------------------------------------------------------ what is shown is what is kept

PROMPTS = {"slow": "slow 0", "long": "long 200", "large file": "large file 100"}
"""Where the scenario's own example would take long."""


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_stored_messages_are_what_the_client_holds(
    play: Player, client: Client, scenario: Scenario
) -> None:
    """A page that is loaded later shows what the open one shows: ids, order, parts, metadata."""
    fails = scenario.name in ("exception", "quota error", "broken stream")
    result = play(send(PROMPTS.get(scenario.name, scenario.example)), MESSAGES, fails=fails)
    assert len(result.posts) == 1
    assert result.status == ("error" if fails else "ready")
    stored = json.loads(result.requests[-1]["text"])
    assert [shown(m, client) for m in stored] == [shown(m, client) for m in result.messages]


PICTURE = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,iVBORw0KGgo="}
PAGE = {"type": "file", "mediaType": "application/pdf", "url": "https://example.com/a.pdf"}
NAMED = [PICTURE | {"filename": "map of Rome.png"}, PAGE | {"filename": "a \u202e.pdf"}]


def test_files_of_the_person_are_kept(play: Player, client: Client) -> None:
    """What was attached comes back with the message."""
    files = [PICTURE, PAGE, *NAMED]
    result = play(send("text", files=files), MESSAGES)
    stored = json.loads(result.requests[-1]["text"])[0]
    assert isinstance(stored["metadata"]["createdAt"], int)
    assert shown(stored, client) == shown(result.messages[0], client)
    assert result.messages[0]["parts"][:4] == files


# ------------------------------------------------------------------ answers


@dataclass(frozen=True)
class Case:
    """A conversation with questions, and what the person reads at its end."""

    id: str
    prompt: str
    answers: tuple[Step, ...]
    says: str
    states: dict[str, str]
    """How the calls end, by tool."""
    posts: int = 2
    app: str = "tour"


FIRST = {"do": "approve", "first": True}
LOCATION = {"do": "output", "tool": "get_location", "output": ROME}
BOTH = {"send_invoice": DONE, "delete_draft": DONE}
BATCH = {"get_location": DONE, "send_invoice": DONE, "get_weather": DONE}
ALL_THREE = "Your device: city Rome. The invoice was sent. The weather is sunny."

CASES = [
    Case("approve", "approval", (APPROVE,), "The invoice was sent.", {"send_invoice": DONE}),
    Case("deny", "approval", (DENY,), "The invoice was not approved.", {"send_invoice": DENIED}),
    Case(
        "two at once",
        "two approvals",
        (APPROVE,),
        "The invoice was sent, and the draft was deleted.",
        BOTH,
    ),
    Case(
        "one by one",
        "two approvals",
        (FIRST, {**DENY, "first": True}),
        "The invoice was sent, and the draft was not approved.",
        {"send_invoice": DONE, "delete_draft": DENIED},
    ),
    Case(
        "in a sub-agent",
        "sub-agent approval",
        (APPROVE,),
        "The clerk reports: The refund is paid.",
        {"issue_refund": DONE, "clerk": DONE},
    ),
    Case(
        "denied in a sub-agent",
        "sub-agent approval",
        (DENY,),
        "The clerk reports: The refund was not approved.",
        {"issue_refund": DENIED, "clerk": DONE},
    ),
    Case(
        "client tool",
        "client tool",
        ({"do": "output", "output": ROME},),
        "Your device answered: city Rome.",
        {"get_location": DONE},
    ),
    Case(
        "failing client tool",
        "client tool",
        ({"do": "output", "errorText": "no permission"},),
        "Your device answered: error no permission.",
        {"get_location": FAILED},
    ),
    Case("batch, client first", "mixed batch", (LOCATION, APPROVE), ALL_THREE, BATCH),
    Case("batch, approval first", "mixed batch", (APPROVE, LOCATION), ALL_THREE, BATCH),
    Case(
        "not resumable",
        "erase one two",
        (FIRST, {**DENY, "first": True}),
        'Done: erase {"erased": "one"}; '
        'erase {"error": "This tool call is rejected. Reason: too expensive"}',
        {"erase": DENIED},
        app="diary",
    ),
    Case(
        "not resumable, batch",
        "batch",
        ({"do": "output", "tool": "locate", "output": ROME}, APPROVE),
        'Done: count {"count": 1}; erase {"erased": "page"}; locate {"city": "Rome"}',
        {"locate": DONE, "erase": DONE, "count": DONE},
        app="diary",
    ),
]
CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


@CASE
def test_answers_continue_the_message(play: Player, client: Client, case: Case) -> None:
    """All answers go out in one request, the message goes on under its id, what is kept of it is what
    the client holds, decisions and all, and the conversation goes on."""
    result = play(send(case.prompt), *case.answers, send("text"), MESSAGES, app=case.app)
    check(result.steps[-3], case)
    assert len(result.posts) == case.posts + 1
    assert [m["role"] for m in result.messages] == ["user", "assistant"] * 2
    assert "text" in result.text
    stored = json.loads(result.requests[-1]["text"])
    assert [shown(m, client) for m in stored] == [shown(m, client) for m in result.messages]


@CASE
def test_answers_after_a_reload(play: Player, case: Case) -> None:
    """A new page, which has only what the server kept, can answer just as well."""
    steps = [step for answer in case.answers for step in (RELOAD, answer)]
    if len(case.answers) > 1:  # what is answered and not yet sent is lost with the page
        steps = [RELOAD, *case.answers]
    result = play(send(case.prompt), *steps, app=case.app)
    check(result.steps[-1], case)


def check(chat: Json, case: Case) -> None:
    """Check what the chat shows after the last answer."""
    assert chat["error"] is None
    assert [m["role"] for m in chat["messages"]] == ["user", "assistant"]
    assert text_of(chat["messages"][-1]).endswith(case.says)
    parts = chat["messages"][-1]["parts"]
    states = {part["type"]: part["state"] for part in parts if "toolCallId" in part}
    assert states == {f"tool-{tool}": state for tool, state in case.states.items()}


CONTINUE = {"do": "continue"}
PARTLY = [case for case in CASES if len(case.answers) > 1]
UNANSWERED = frozenset({"decision-unanswered"})
"""What a client brings about that sends a decision on one call and none on the next."""


@pytest.mark.parametrize("case", PARTLY, ids=lambda case: case.id)
def test_answers_that_are_sent_one_by_one(play: Player, server: Server, case: Case) -> None:
    """An app may send each answer by itself: the first ones are kept until the last is there, also
    for a page that is loaded in between, and the model is asked once."""
    chat, (first, second) = new_id(), case.answers
    steps = (send(case.prompt), first, CONTINUE, RELOAD, second, CONTINUE)
    result = play(*steps, app=case.app, id=chat, auto=[], allowed=UNANSWERED)
    check(result.steps[-1], case)
    if case.app == "diary":
        assert len(notes(server, "requests", chat)) == 2


def test_a_kept_answer_cannot_be_changed(play: Player, server: Server) -> None:
    """What was sent counts, also while it is only kept."""
    chat = new_id()
    kept = play(
        send("erase one two"), FIRST, CONTINUE, app="diary", id=chat, auto=[], allowed=UNANSWERED
    )
    answer = kept.posts[-1]["body"]
    one = next(part for part in answer["messages"][-1]["parts"] if "approval" in part)
    one["approval"]["approved"] = False
    assert server.http.post(server.chat("diary"), json=answer).status_code == 409
    play(RELOAD, APPROVE, CONTINUE, app="diary", id=chat, auto=[])
    assert sorted(ran(server, chat)) == ["erase one", "erase two"]


def test_a_kept_answer_goes_with_one_that_comes_another_way(play: Player, server: Server) -> None:
    """The other question is answered by a client of ADK's routes: both answers count."""
    chat = new_id()
    kept = play(
        send("erase one two"), FIRST, CONTINUE, app="diary", id=chat, auto=[], allowed=UNANSWERED
    )
    asked = [part["approval"]["id"] for part in kept.messages[-1]["parts"] if "approval" in part]
    statuses = [decide_by_adk(server, chat, approval) for approval in asked]
    assert statuses == [409, 200]
    assert sorted(ran(server, chat)) == ["erase one", "erase two"]


def decide_by_adk(server: Server, chat: str, approval: str) -> int:
    """Approve a call over ADK's `/run`; return the status."""
    response = {"id": approval, "name": "adk_request_confirmation", "response": {"confirmed": True}}
    body = {"appName": "diary", "userId": "user", "sessionId": chat}
    body["newMessage"] = {"parts": [{"functionResponse": response}]}
    return server.http.post("/run", json=body).status_code


def test_a_client_tool_that_answers_at_once(play: Player) -> None:
    """As `onToolCall` does: before the stream with the call has ended."""
    result = play(send("client tool"), clientTools={"get_location": {"output": ROME}})
    assert result.text.endswith("Your device answered: city Rome.")
    assert len(result.posts) == 2


@pytest.mark.parametrize("client", [Client("ai-6"), Client("ai-7", "7")], ids=str)
def test_the_chat_of_react(play: Player) -> None:
    """The Chat of @ai-sdk/react asks, answers and goes on just as well."""
    result = play(send("mixed batch"), LOCATION, APPROVE, RELOAD, client="react")
    assert result.text.endswith(ALL_THREE)


def test_the_model_sees_why_it_was_denied(play: Player) -> None:
    """The person's words are in what the model is told of the call."""
    result = play(send("erase diary"), DENY, app="diary")
    assert "Reason: too expensive" in result.text


def test_an_approved_tool_runs_once_and_a_denied_one_never(play: Player, server: Server) -> None:
    """What ran is in the diary."""
    chat = new_id()
    play(send("erase one two"), FIRST, {**DENY, "first": True}, app="diary", id=chat)
    assert ran(server, chat) == ["erase one"]


def test_a_question_is_answered_by_typing(play: Player) -> None:
    """A workflow that asks for a value takes the next message for its answer."""
    result = play(send("input request"), send('{"guests": 4}'), MESSAGES)
    assert "'guests': 4" in result.text
    stored = json.loads(result.requests[-1]["text"])
    assert [m["id"] for m in stored] == [m["id"] for m in result.messages]
    calls = [part for m in stored for part in m["parts"] if "toolCallId" in part]
    assert {call["state"] for call in calls} == {DONE}
    assert len(result.posts) == 2


def test_a_question_is_answered_by_a_form(play: Player, server: Server) -> None:
    """A page with a form of its own sends the value under the question's id."""
    chat = new_id()
    asked = play(send("input request"), id=chat).data
    question = next(part["data"] for part in asked if part["type"] == "data-input-request")
    value = {"id": question["id"], "response": {"result": {"guests": 7}}}
    message = {
        "id": "form",
        "role": "user",
        "parts": [{"type": "data-input-response", "data": value}],
    }
    answer = server.http.post(server.chat(), json={"id": chat, "messages": [message]})
    assert answer.status_code == 200
    assert "'guests': 7" in play(RELOAD, id=chat).text


def test_a_long_running_tool(play: Player, server: Server) -> None:
    """Its first answer is a ticket, and the message is over. The result, which some backend sends
    later, goes on with the message."""
    chat = new_id()
    result = play(send("long-running tool"), id=chat)
    call = result.call("order_print")
    assert call["output"]["ticket"] == "print-1"
    assert (result.finishes[-1]["finishReason"], len(result.posts)) == ("stop", 1)
    response = {"id": call["toolCallId"], "name": "order_print", "response": {"status": "done"}}
    body = {"appName": "tour", "userId": "user", "sessionId": chat}
    body["newMessage"] = {"parts": [{"functionResponse": response}]}
    assert server.http.post("/run", json=body).status_code == 200
    later = play(RELOAD, id=chat)
    assert later.call("order_print")["output"] == {"status": "done"}
    assert later.text.endswith("The print is done: status done.")
    assert [m["id"] for m in later.messages] == [m["id"] for m in result.messages]


def test_a_chat_of_another_user_is_another_chat(play: Player, server: Server) -> None:
    """The chat id alone does not give a user's messages away to another."""
    chat = new_id()
    play(send("hello"), app="diary", id=chat, body={"userId": "ada"})
    url = f"{server.chat('diary')}/{chat}/messages"
    assert server.http.get(url).json() == []
    assert len(server.http.get(url, params={"userId": "ada"}).json()) == 2


def test_an_unknown_app(server: Server) -> None:
    """404, on every route of the chat."""
    body = chat_body(new_id(), "hello")
    assert server.http.post(server.chat("nobody"), json=body).status_code == 404
    assert server.http.get(server.chat("nobody") + "/x/stream").status_code == 404
    assert server.http.get(server.chat("nobody") + "/x/messages").status_code == 404
    assert server.http.post(server.chat("nobody") + "/x/stop").status_code == 404
