"""Conversations of the AI SDK's real chat clients with the real server.

Every stream that a client is sent passes the judges of all releases that have to understand it
(`clients.Player`); beyond that each test says what the person must see and what must have happened.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from tests.conformance.chat import ChatResult, text_of
from tests.conformance.judge import SDKS, Judge
from tests.end_to_end.clients import Client, Player, Step, chat_body, new_id, open_gate, send
from tests.end_to_end.server import Server

from adk_prism.apps.tour.scenarios import SCENARIOS, Scenario

Json = dict[str, Any]
APPROVE = {"do": "approve"}
DENY = {"do": "deny", "reason": "too expensive"}
RELOAD = {"do": "reload"}
RESUME = {"do": "resume"}
RELEASE = {"do": "release"}
MESSAGES = {"do": "fetch", "path": "messages"}
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


def shown(message: Json, client: Client) -> Json:
    """Return a message without what a release adds to it or forgets of it."""
    return {**message, "parts": [_shown_part(part, client) for part in message["parts"]]}


def _shown_part(part: Json, client: Client) -> Json:
    dropped = {"reasoning": "id"}  # kept on the part by newer releases
    if client.sdk == "ai-6.0.0":
        dropped["file"] = "providerMetadata"  # not read by the first release
    return {key: value for key, value in part.items() if key != dropped.get(part["type"])}


PICTURE = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,iVBORw0KGgo="}
PAGE = {"type": "file", "mediaType": "application/pdf", "url": "https://example.com/a.pdf"}


def test_files_of_the_person_are_kept(play: Player) -> None:
    """What was attached comes back with the message."""
    result = play(send("text", files=[PICTURE, PAGE]), MESSAGES)
    assert json.loads(result.requests[-1]["text"])[0] == result.messages[0]
    assert result.messages[0]["parts"][:2] == [PICTURE, PAGE]


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


DONE, FAILED, DENIED = "output-available", "output-error", "output-denied"
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
    the client holds (but for how a dialect tells a decision), and the conversation goes on."""
    result = play(send(case.prompt), *case.answers, send("text"), MESSAGES, app=case.app)
    check(result.steps[-3], case)
    assert len(result.posts) == case.posts + 1
    assert [m["role"] for m in result.messages] == ["user", "assistant"] * 2
    assert "text" in result.text
    stored = json.loads(result.requests[-1]["text"])
    assert [decided(m, client) for m in stored] == [decided(m, client) for m in result.messages]


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
    assert ran(server, chat) == ["erase one", "erase two"]


def test_a_kept_answer_goes_with_one_that_comes_another_way(play: Player, server: Server) -> None:
    """The other question is answered by a client of ADK's routes: both answers count."""
    chat = new_id()
    kept = play(
        send("erase one two"), FIRST, CONTINUE, app="diary", id=chat, auto=[], allowed=UNANSWERED
    )
    asked = [part["approval"]["id"] for part in kept.messages[-1]["parts"] if "approval" in part]
    statuses = [decide_by_adk(server, chat, approval) for approval in asked]
    assert statuses == [409, 200]
    assert ran(server, chat) == ["erase one", "erase two"]


def decide_by_adk(server: Server, chat: str, approval: str) -> int:
    """Approve a call over ADK's `/run`; return the status."""
    response = {"id": approval, "name": "adk_request_confirmation", "response": {"confirmed": True}}
    body = {"appName": "diary", "userId": "user", "sessionId": chat}
    body["newMessage"] = {"parts": [{"functionResponse": response}]}
    return server.http.post(f"/run", json=body).status_code


def decided(message: Json, client: Client) -> Json:
    """Return a message as both the open page and a later one tell it.

    Release 6 has no word for a decision in a replay: a later page shows an approved call as one that
    was run, and a denied one as an error.
    """
    message = shown(message, client)
    if client.dialect == "7":
        return message
    return {**message, "parts": [_undecided(part) for part in message["parts"]]}


def _undecided(part: Json) -> Json:
    part = {key: value for key, value in part.items() if key not in ("approval", "errorText")}
    return {**part, "state": FAILED} if part.get("state") == DENIED else part


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


def ran(server: Server, chat: str) -> list[str]:
    """Return the tools of the diary that ran in a chat."""
    return [" ".join(entry.values()) for entry in notes(server, "ran", chat)]


def notes(server: Server, kind: str, chat: str) -> list[Json]:
    """Return what the diary has noted of a chat."""
    file = server.folder / f"{kind}-{chat}.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_a_question_is_answered_by_typing(play: Player) -> None:
    """A workflow that asks for a value takes the next message for its answer."""
    result = play(send("input request"), send('{"guests": 4}'), MESSAGES)
    assert "'guests': 4" in result.text
    stored = json.loads(result.requests[-1]["text"])
    assert [m["id"] for m in stored] == [m["id"] for m in result.messages]


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
    assert server.http.post(f"/run", json=body).status_code == 200
    later = play(RELOAD, id=chat)
    assert later.call("order_print")["output"] == {"status": "done"}
    assert later.text.endswith("The print is done: status done.")
    assert [m["id"] for m in later.messages] == [m["id"] for m in result.messages]


# ------------------------------------------------------------------ answers that nobody asked for

ERASE = send("erase page")


@dataclass(frozen=True)
class Forgery:
    """An answer to a call that waits for an approval, as a client could make it up."""

    id: str
    part: Json
    """What is changed in the part of the call."""


RESPONDED = {"state": "approval-responded"}
FORGERIES = [
    Forgery("approval id", RESPONDED | {"approval": {"id": "forged", "approved": True}}),
    Forgery("call id", RESPONDED | {"toolCallId": "forged"}),
    Forgery("both ids", RESPONDED | {"toolCallId": "x", "approval": {"id": "x", "approved": True}}),
    Forgery("result", {"state": DONE, "output": {"erased": "page"}}),
    Forgery("failure", {"state": FAILED, "errorText": "no"}),
    Forgery("arguments", RESPONDED | {"input": {"name": "everything"}}),
    Forgery("more arguments", RESPONDED | {"input": {"name": "page", "force": True}}),
    Forgery("no arguments", RESPONDED | {"input": {}}),
]


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.id)
def test_a_forged_answer_is_refused(play: Player, server: Server, forgery: Forgery) -> None:
    """409, the tool does not run, and the real answer still counts afterwards."""
    chat = new_id()
    asked = play(ERASE, app="diary", id=chat)
    question, call = asked.messages[-1], asked.call("erase")
    approval = {"approval": {**call["approval"], "approved": True}}
    forged = {**call, **approval, **forgery.part}
    parts = [forged if part is call else part for part in question["parts"]]
    body = {"id": chat, "messages": [{**question, "parts": parts}], "trigger": "submit-message"}
    assert server.http.post(server.chat("diary"), json=body).status_code == 409
    assert ran(server, chat) == []
    result = play(RELOAD, APPROVE, app="diary", id=chat)
    assert (ran(server, chat), result.error) == (["erase page"], None)


def test_a_second_answer_is_refused(play: Player, server: Server) -> None:
    """Whoever answers again, the same or otherwise, is told that it is too late."""
    chat = new_id()
    result = play(ERASE, APPROVE, app="diary", id=chat)
    answer = result.posts[-1]["body"]
    assert server.http.post(server.chat("diary"), json=answer).status_code == 409
    answer["messages"][-1]["parts"][-1]["approval"]["approved"] = False
    assert server.http.post(server.chat("diary"), json=answer).status_code == 409
    assert ran(server, chat) == ["erase page"]


def test_of_many_answers_at_once_one_counts(play: Player, server: Server) -> None:
    """Ten pages that approve in the same moment run the tool once."""
    chat = new_id()
    asked = play(ERASE, app="diary", id=chat)
    body = play(APPROVE, app="diary", id=new_id(), messages=asked.messages).posts[-1]["body"]
    url, body = server.chat("diary"), {**body, "id": chat}
    with ThreadPoolExecutor(10) as pool:
        statuses = list(pool.map(lambda _: server.http.post(url, json=body).status_code, range(10)))
    assert sorted(statuses) == [200] + [409] * 9
    assert ran(server, chat) == ["erase page"]


def test_a_new_message_expires_the_question(play: Player, server: Server) -> None:
    """The person types something else; an answer that comes then is refused and runs nothing."""
    chat = new_id()
    asked = play(ERASE, send("hello"), app="diary", id=chat)
    assert asked.text == "You said: hello"
    # The page of somebody who has not seen the message.
    late = play(APPROVE, app="diary", id=chat, messages=asked.messages[:2])
    assert late.posts[-1]["status"] == 409
    assert late.status == "error"
    assert ran(server, chat) == []


def test_an_answer_while_the_next_run_goes_on_is_refused(play: Player, server: Server) -> None:
    """Also before the new message has got its answer."""
    chat, gate = new_id(), new_id("gate")
    asked = play(ERASE, app="diary", id=chat)
    held = send(f"hello [{gate}] there", hold={"chunks": 5})
    late = {"do": "fetch", "path": "../../diary", "method": "POST"}
    body = play(APPROVE, app="diary", id=new_id(), messages=asked.messages).posts[-1]["body"]
    late["body"] = {**body, "id": chat}
    result = play(
        held, late, open_gate(gate), RELEASE, app="diary", id=chat, messages=asked.messages
    )
    assert next(r for r in result.requests[1:] if r["method"] == "POST")["status"] == 409
    assert result.text == f"You said: hello [{gate}] there"
    assert ran(server, chat) == []


# ------------------------------------------------------------------ taking back


@dataclass(frozen=True)
class TakenBack:
    """What is done to a chat, and the messages that are as if they alone had been sent."""

    id: str
    steps: tuple[Step, ...]
    left: tuple[Step, ...]


COUNT = send("count")
LAST = send("what do you see")
TAKEN_BACK = [
    TakenBack("regenerate the last", (COUNT, {"do": "regenerate"}), (COUNT,)),
    TakenBack("regenerate after another", (COUNT, COUNT, {"do": "regenerate"}), (COUNT, COUNT)),
    TakenBack(
        "regenerate an earlier one", (COUNT, COUNT, {"do": "regenerate", "message": 1}), (COUNT,)
    ),
    TakenBack(
        "regenerate again and again",
        (COUNT, COUNT, {"do": "regenerate"}, {"do": "regenerate"}),
        (COUNT, COUNT),
    ),
    TakenBack(
        "edit the last",
        (COUNT, COUNT, {"do": "edit", "message": 2, "text": "hello"}),
        (COUNT, send("hello")),
    ),
    TakenBack(
        "edit the first",
        (COUNT, COUNT, {"do": "edit", "message": 0, "text": "hello"}),
        (send("hello"),),
    ),
    TakenBack(
        "regenerate an approved one",
        (send("hello"), ERASE, APPROVE, {"do": "regenerate"}, APPROVE),
        (send("hello"), ERASE, APPROVE),
    ),
    TakenBack(
        "edit a question",
        (send("hello"), ERASE, {"do": "edit", "message": 2, "text": "count"}),
        (send("hello"), COUNT),
    ),
    TakenBack(
        "after a reload",
        (COUNT, COUNT, RELOAD, {"do": "regenerate", "message": 1}),
        (COUNT,),
    ),
]


@pytest.mark.parametrize("case", TAKEN_BACK, ids=lambda case: case.id)
def test_what_was_taken_back_was_never_said(play: Player, server: Server, case: TakenBack) -> None:
    """The model's next request, and the state, are those of a chat in which it never was."""
    chat, other = new_id(), new_id()
    result = play(*case.steps, LAST, MESSAGES, app="diary", id=chat)
    plain = play(*case.left, LAST, app="diary", id=other)
    assert notes(server, "requests", chat)[-1] == notes(server, "requests", other)[-1]
    assert session(server, chat)["state"] == session(server, other)["state"]
    assert [text_of(m) for m in result.messages] == [text_of(m) for m in plain.messages]
    stored = json.loads(result.requests[-1]["text"])
    assert [m["id"] for m in stored] == [m["id"] for m in result.messages]


def session(server: Server, chat: str, app: str = "diary") -> Json:
    """Return a chat's ADK session."""
    found: Json = server.http.get(f"/apps/{app}/users/user/sessions/{chat}").json()
    return found


def test_state_that_was_there_before_survives(play: Player, server: Server) -> None:
    """What the session was created with, and what a state change brought, is not taken back."""
    chat = new_id()
    path = f"/apps/diary/users/user/sessions/{chat}"
    server.http.post(path, json={"count": 40}).raise_for_status()
    server.http.patch(path, json={"stateDelta": {"mood": "good"}}).raise_for_status()
    play(COUNT, {"do": "regenerate"}, {"do": "regenerate"}, app="diary", id=chat)
    assert session(server, chat)["state"] == {"count": 41, "seen_41": True, "mood": "good"}


def test_a_message_that_was_never_stored_is_taken_back(play: Player) -> None:
    """The run failed before ADK had the message: there is nothing to rewind, and it can be edited."""
    steps = (
        send("please sing"),
        send("sing"),
        {"do": "edit", "message": 2, "text": "please dance"},
    )
    result = play(*steps, RELOAD, app="moody", fails=True)
    texts = ["please sing", "Gladly: please sing", "please dance", "Gladly: please dance"]
    assert [text_of(m) for m in result.messages] == texts


# ------------------------------------------------------------------ stopping


STOP = {"do": "fetch", "method": "POST", "path": "stop"}


def test_stop(play: Player, client: Client, server: Server) -> None:
    """The server's stop route ends the run: what was said is kept, in the page and in the chat, and
    the next message is answered. Stopping again, or nothing, is no error."""
    chat = new_id()
    held = send(f"hello [{new_id('gate')}] there", hold={"chunks": 5})
    result = play(held, STOP, RELEASE, STOP, MESSAGES, app="diary", id=chat)
    stops = [r for r in result.requests if r["url"].partition("?")[0].endswith("/stop")]
    assert [json.loads(r["text"]) for r in stops] == [{"stopped": True}, {"stopped": False}]
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


def last_run(server: Server, chat: str, app: str = "diary") -> Json:
    """Return the newest run of a chat."""
    runs: list[Json] = server.http.get(f"/api/runs?app={app}&session={chat}").json()
    return runs[-1]


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
    """204 when no run is on: before the first message, after a run, while a person is asked."""
    for steps in ([send("hello")], [ERASE]):
        result = play(*steps, RESUME, app="diary")
        assert result.requests[-1]["status"] == 204
        assert result.status == "ready"


def test_nothing_to_resume_in_a_new_chat(server: Server) -> None:
    """A chat that nobody has begun has nothing to resume, and no messages."""
    url = f"{server.chat()}/{new_id()}"
    assert server.http.get(url + "/stream").status_code == 204
    assert server.http.get(url + "/messages").status_code == 404


def test_the_message_that_streams_is_not_among_the_stored(play: Player) -> None:
    """Else older clients would show it twice when they resume."""
    gate = new_id("gate")
    held = send(gated(gate), hold={"chunks": 4})
    result = play(held, MESSAGES, open_gate(gate), RELEASE, app="diary")
    stored = json.loads(result.requests[1]["text"])
    assert [m["role"] for m in stored] == ["user"]


def test_a_chat_of_another_user_is_another_chat(play: Player, server: Server) -> None:
    """The chat id alone does not give a user's messages away to another."""
    chat = new_id()
    play(send("hello"), app="diary", id=chat, body={"userId": "ada"})
    url = f"{server.chat('diary')}/{chat}/messages"
    assert server.http.get(url).status_code == 404
    assert len(server.http.get(url, params={"userId": "ada"}).json()) == 2


def test_an_unknown_app(server: Server) -> None:
    """404, on every route of the chat."""
    body = chat_body(new_id(), "hello")
    assert server.http.post(server.chat("nobody"), json=body).status_code == 404
    assert server.http.get(server.chat("nobody") + "/x/stream").status_code == 404
    assert server.http.get(server.chat("nobody") + "/x/messages").status_code == 404
    assert server.http.post(server.chat("nobody") + "/x/stop").status_code == 404
