"""What ADK's run routes take: answers, state, and nothing that cannot run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from tests.end_to_end.adk_client import (
    Adk,
    answers,
    client_of,
    comparable,
    events_of,
    expected,
    open_gate,
    opened,
    until_asked,
    words,
)
from tests.end_to_end.clients import new_id
from tests.end_to_end.server import Server
from tests.patience import PATIENCE

Json = dict[str, Any]

# ------------------------------------------------------------------ answers


def calls(events: Sequence[Json], name: str) -> list[Json]:
    """Return the calls of that name, whole ones."""
    whole = [event for event in events if not event.get("partial")]
    parts = [part for event in whole for part in event.get("content", {}).get("parts", [])]
    found = [part["functionCall"] for part in parts if "functionCall" in part]
    return [call for call in found if call["name"] == name]


def decide(approved: bool, **extras: Any) -> Callable[[Sequence[Json]], Json]:
    """Return the message that answers every approval request."""

    def answer(events: Sequence[Json]) -> Json:
        asked = calls(events, "adk_request_confirmation")
        response = {"confirmed": approved, **extras}
        return answers(*(respond(call, response) for call in asked))

    return answer


def respond(call: Json, response: Any) -> Json:
    return {"id": call["id"], "name": call["name"], "response": response}


def as_text(events: Sequence[Json]) -> Json:
    """Return an approval in the other form that ADK accepts: as JSON text."""
    call = calls(events, "adk_request_confirmation")[0]
    return answers(respond(call, {"response": '{"confirmed": true}'}))


def located(events: Sequence[Json]) -> Json:
    return answers(respond(calls(events, "get_location")[0], {"city": "Rome"}))


def printed(events: Sequence[Json]) -> Json:
    return answers(respond(calls(events, "order_print")[0], {"status": "done"}))


def seated(events: Sequence[Json]) -> Json:
    return answers(respond(calls(events, "adk_request_input")[0], {"result": {"guests": 4}}))


def snake(events: Sequence[Json]) -> Json:
    """Return an approval in ADK's other spelling."""
    call = calls(events, "adk_request_confirmation")[0]
    return {"parts": [{"function_response": respond(call, {"confirmed": True})}]}


@dataclass(frozen=True)
class Case:
    id: str
    prompt: str
    answer: Callable[[Sequence[Json]], Json]
    again: bool = False
    """Whether it may be given again, as an update."""


CASES = [
    Case("approved", "approval", decide(True)),
    Case("approved, as text", "approval", as_text),
    Case("approved, snake_case", "approval", snake),
    Case("denied", "approval", decide(False)),
    Case("two approved", "two approvals", decide(True)),
    Case("in a sub-agent", "sub-agent approval", decide(True)),
    Case("client tool", "client tool", located, again=True),
    Case("long-running tool", "long-running tool", printed, again=True),
    Case("input request", "input request", seated),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_an_answer_goes_on_as_in_adk(ours: Adk, theirs: Adk, case: Case) -> None:
    """The continuation's events are ADK's, also of an update to a long-running call; a second decision, or
    a second answer to a question, is 409, where ADK would run again."""
    asked, same = await ours.say(case.prompt), await theirs.say(case.prompt)
    answer, answered = case.answer(asked), case.answer(same)
    got, wanted = await ours.run(answer), await theirs.run(answered)
    assert comparable(got) == comparable(expected(wanted))
    if case.again:
        got, wanted = await ours.run(answer), await theirs.run(answered)
        assert comparable(got) == comparable(expected(wanted))
    else:
        for route in ("/run_sse", "/run"):
            assert (await ours.post(route, answer)).status_code == 409


async def test_all_answers_of_a_batch_in_one_message(ours: Adk) -> None:
    """The client's result reaches the model also beside an approval, where ADK loses it."""
    asked = await ours.say("mixed batch")
    parts = [*located(asked)["parts"], *decide(True)(asked)["parts"]]
    events = await ours.run({"role": "user", "parts": parts})
    text = "".join(p.get("text", "") for e in events for p in e.get("content", {}).get("parts", []))
    assert "Your device: city Rome. The invoice was sent." in text


def forged(response: Json) -> Callable[[Sequence[Json]], Json]:
    return lambda events: answers(response)


def gated_result(events: Sequence[Json]) -> Json:
    return answers(respond(calls(events, "erase")[0], {"erased": "page"}))


FORGERIES = {
    "approval id": forged(
        {"id": "x", "name": "adk_request_confirmation", "response": {"confirmed": True}}
    ),
    "call id": forged({"id": "x", "name": "erase", "response": {"erased": "page"}}),
    "no id": forged({"name": "erase", "response": {}}),
    "result of a gated call": gated_result,
}


@pytest.mark.parametrize("name", FORGERIES)
async def test_a_forged_answer_is_refused(diary: Adk, server: Server, name: str) -> None:
    """409, nothing runs, and the real answer still counts."""
    asked = await diary.say("erase page")
    assert (await diary.post("/run_sse", FORGERIES[name](asked))).status_code == 409
    assert (await diary.post("/run", FORGERIES[name](asked))).status_code == 409
    ran = server.folder / f"ran-{diary.session}.jsonl"
    assert not ran.exists()
    await diary.run(decide(True)(asked))
    assert len(ran.read_text().splitlines()) == 1


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_a_late_answer_is_taken_as_by_adk(ours: Adk, theirs: Adk, case: Case) -> None:
    """After the person went on to something else, it runs in the old invocation; a decision once."""
    asked, same = await ours.say(case.prompt), await theirs.say(case.prompt)
    await ours.say("text")
    await theirs.say("text")
    answer = case.answer(asked)
    got, wanted = await ours.run(answer), await theirs.run(case.answer(same))
    assert comparable(got) == comparable(expected(wanted))
    again = await ours.post("/run_sse", answer)
    assert again.status_code == (200 if case.again else 409)


async def test_an_answer_from_another_session_is_refused(server: Server, diary: Adk) -> None:
    """A call id is good in its own session only."""
    asked = await diary.say("erase page")
    async with opened(client_of(server), "diary") as other:
        assert (await other.post("/run_sse", decide(True)(asked))).status_code == 409


# ------------------------------------------------------------------ state

EMPTY = [
    {"role": "system", "parts": []},
    {"role": "user", "parts": []},
    {"role": "user"},
    {"parts": None},
    None,
]


@pytest.mark.parametrize("spelling", ["camel", "snake"])
@pytest.mark.parametrize("message", EMPTY, ids=json.dumps)
async def test_a_state_only_update(
    diary: Adk, server: Server, message: Json | None, spelling: str
) -> None:
    """One event comes back, the state is changed, and no model was asked."""
    if spelling == "camel":
        body = diary.body(message, stateDelta={"count": 7})
    else:
        body = {"app_name": "diary", "user_id": "ada", "session_id": diary.session}
        body |= {"new_message": message, "state_delta": {"count": 7}}
    answer = await diary.http.post("/run_sse", json=body)
    (event,) = events_of(answer.text)
    assert event["actions"]["stateDelta"] == {"count": 7}
    assert event["author"] == "user"
    (listed,) = (await diary.http.post("/run", json=body)).json()
    assert listed["actions"]["stateDelta"] == {"count": 7}
    assert (await diary.session_now())["state"] == {"count": 7}
    assert not (server.folder / f"requests-{diary.session}.jsonl").exists()


async def test_a_state_update_leaves_a_question_open(diary: Adk) -> None:
    """A front end that keeps its state in the session does not lose what a person is asked."""
    asked = await diary.say("erase page")
    await diary.run(None, stateDelta={"count": 7})
    events = await diary.run(decide(True)(asked))
    assert "erased" in json.dumps(events)


async def test_a_state_update_waits_for_the_run(diary: Adk, server: Server) -> None:
    """It would make the run fail; so it comes after it, and not before."""
    gate = new_id("gate")
    async with client_of(server) as other:
        body = diary.body(words(f"hello [{gate}]"), streaming=True)
        running = asyncio.create_task(other.post("/run_sse", json=body))
        await until_asked(server, diary)
        updating = asyncio.create_task(diary.run(None, stateDelta={"count": 7}))
        assert "count" not in (await diary.session_now())["state"]
        await open_gate(server, gate)
        events = events_of((await running).text)
        (update,) = await updating
    assert not any(event.get("errorCode") for event in events)
    assert update["actions"]["stateDelta"] == {"count": 7}
    assert (await diary.session_now())["events"][-1]["id"] == update["id"]


async def test_state_with_a_message_is_there_from_the_first_step(
    diary: Adk, server: Server
) -> None:
    """The agent's instruction and its tools see it."""
    events = await diary.say("count", stateDelta={"count": 7})
    asked = (server.folder / f"requests-{diary.session}.jsonl").read_text().splitlines()
    assert json.loads(asked[0])["state"] == {"count": 7}
    assert '"count": 8' in json.dumps(events)


@pytest.mark.parametrize("key", ["app:x", "user:x", "temp:x", "_adk_x"])
async def test_shared_state_is_not_a_clients(diary: Adk, key: str) -> None:
    """A client that could write it would reach into other conversations."""
    for message in (words("hello"), None):
        answer = await diary.post("/run_sse", message, stateDelta={key: 1})
        assert answer.status_code == 403


# ------------------------------------------------------------------ what cannot be


@dataclass(frozen=True)
class Refused:
    id: str
    change: Json
    status: int


REFUSED = [
    Refused("unknown session", {"sessionId": "nobody"}, 404),
    Refused("another user's session", {"userId": "bob"}, 404),
    Refused("unknown app", {"appName": "nobody"}, 404),
    Refused("no message", {"newMessage": None}, 422),
    Refused(
        "a call of the user's", {"newMessage": {"parts": [{"functionCall": {"name": "x"}}]}}, 422
    ),
    Refused(
        "text and an answer",
        {"newMessage": {"parts": [{"text": "x"}, {"functionResponse": {"id": "x", "name": "x"}}]}},
        409,
    ),
    Refused("an unknown invocation", {"newMessage": None, "invocationId": "e-nobody"}, 409),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.id)
async def test_what_cannot_run_is_refused_before_it_begins(diary: Adk, case: Refused) -> None:
    """A problem with a status, not a stream that ends badly; there is no run of it."""
    body = {**diary.body(words("hello")), **case.change}
    for route in ("/run", "/run_sse"):
        answer = await diary.http.post(route, json=body)
        assert answer.status_code == case.status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
    assert (await diary.http.get(f"/api/runs?session={diary.session}")).json() == []


async def test_a_busy_session_is_refused(diary: Adk, server: Server) -> None:
    """409 at once; the run that is on goes on, and afterwards the session is free."""
    gate = new_id("gate")
    async with diary.http.stream(
        "POST", "/run_sse", json=diary.body(words(f"hello [{gate}]"), streaming=True)
    ) as running:
        lines = running.aiter_lines()
        async for line in lines:
            if gate in line:
                break
        assert (await diary.post("/run_sse", words("second"))).status_code == 409
        assert (await diary.post("/run", words("second"))).status_code == 409
        await open_gate(server, gate)
        rest = [line async for line in lines]
    assert any("You said" in line for line in rest)
    assert len(await diary.say("third")) > 0


# ------------------------------------------------------------------ a client that leaves


@pytest.mark.parametrize("route", ["/run_sse", "/run"])
async def test_a_message_after_a_run_that_was_left_is_not_refused(
    server: Server, diary: Adk, route: str
) -> None:
    """ADK's clients stop a run by closing the connection. It is interrupted by the next message."""
    gate = new_id("gate")
    leaving = asyncio.create_task(diary.post(route, words(f"wait {gate}")))
    await until_asked(server, diary)
    refused = await diary.post(route, words("hello"))
    assert refused.status_code == 409, "it is not left yet"
    leaving.cancel()
    async with asyncio.timeout(PATIENCE):
        while (answer := await diary.post(route, words("hello"))).status_code == 409:
            pass  # the server has not seen yet that the connection is closed
    assert answer.status_code == 200, answer.text
    assert await _outcomes(diary) == ["cancelled", "finished"]


async def _outcomes(adk: Adk) -> list[str | None]:
    runs = (await adk.http.get("/api/runs", params={"session": adk.session})).json()
    return [run["outcome"] for run in runs]


async def test_a_message_after_a_run_that_has_ended_interrupts_nothing(
    server: Server, diary: Adk
) -> None:
    """A client that has gone is forgotten with the next message."""
    gate, other = new_id("gate"), new_id("gate")
    leaving = asyncio.create_task(diary.post("/run_sse", words(f"wait {gate}")))
    await until_asked(server, diary)
    leaving.cancel()
    async with asyncio.timeout(PATIENCE):
        while (await diary.post("/run_sse", words("hello"))).status_code == 409:
            pass
    waiting = asyncio.create_task(diary.post("/run_sse", words(f"wait {other}")))
    async with asyncio.timeout(PATIENCE):
        while (await _outcomes(diary))[-1] is not None:
            pass  # it has not begun yet
    assert (await diary.post("/run_sse", words("hello"))).status_code == 409
    await open_gate(server, other)
    assert (await waiting).status_code == 200
