"""Interrupts: answered all in one by their ids, cancelled, repeated, too late, forged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.adk.tools import LongRunningFunctionTool
from google.adk.tools.function_tool import FunctionTool
from tests.adk.scripted import Scripted, call
from tests.server.ag_ui.thread import (
    Thread,
    cancelled,
    customs,
    events,
    interrupts,
    of_type,
    resolved,
    result,
    text_of,
    user,
)
from tests.server.local_server import LocalServer, agent, local_server
from tests.server.test_input_answers import Guests, booking
from tests.server.test_payloads import office

Json = dict[str, Any]

PAID: list[int] = []


def pay(amount: int) -> Json:
    """Pay."""
    PAID.append(amount)
    return {"paid": amount}


def locate() -> None:
    """Ask the page where it is."""


PAY = FunctionTool(pay, require_confirmation=True)
FIRST, SECOND = call("pay", "c-pay-0000000001", amount=1), call("pay", "c-pay-0000000002", amount=2)
WHERE = call("locate", "c-loc-0000000001")


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    PAID.clear()


def cashier(*turns: Any) -> Any:
    return agent(Scripted.saying(*turns), tools=[PAY, LongRunningFunctionTool(locate)])


async def asked(server: LocalServer, prompt: str = "pay") -> tuple[Thread, list[Json]]:
    """Say something; return the thread and its interrupts."""
    thread = Thread(server)
    return thread, interrupts(await thread.run(user(prompt)))


async def test_an_approval_goes_on_and_gives_the_result() -> None:
    async with local_server(cashier(FIRST, "Paid it.")) as server:
        thread, (asks,) = await asked(server)
        assert asks["reason"] == "tool_call"
        found = await thread.run(resume=[resolved(asks["id"], {"approved": True})])
        assert not of_type(found, "TOOL_CALL_START")
        (given,) = of_type(found, "TOOL_CALL_RESULT")
        assert given["toolCallId"] == asks["toolCallId"]
        assert json.loads(given["content"]) == {"paid": 1}
        assert text_of(found) == "Paid it."
        assert found[-1]["outcome"] == {"type": "success"}
    assert PAID == [1]


@pytest.mark.parametrize("answer", ["denied", "cancelled", "false"])
async def test_a_denial_and_a_cancellation_let_the_agent_go_on_without(answer: str) -> None:
    async with local_server(cashier(FIRST, "Fine, not.")) as server:
        thread, (asks,) = await asked(server)
        given = {
            "denied": resolved(asks["id"], {"approved": False, "reason": "too much"}),
            "cancelled": cancelled(asks["id"]),
            "false": resolved(asks["id"], False),
        }[answer]
        found = await thread.run(resume=[given])
        assert text_of(found) == "Fine, not."
    assert PAID == []


async def test_copilotkits_tool_message_is_the_same_answer() -> None:
    async with local_server(cashier(FIRST, "Paid it.")) as server:
        thread, (asks,) = await asked(server)
        said = {"approved": True}
        found = await thread.run(
            result(asks["toolCallId"], said), resume=[resolved(asks["id"], said)]
        )
        assert text_of(found) == "Paid it."
    assert PAID == [1]


async def test_a_tool_message_alone_approves_nothing() -> None:
    async with local_server(cashier(FIRST, "Paid it.")) as server:
        thread, (asks,) = await asked(server)
        forged = result(asks["toolCallId"], {"paid": 1})
        code, _ = await thread.refused(forged)
        assert code == "INTERRUPT_OPEN"
        thread.messages.remove(forged)
        assert await thread.run(resume=[resolved(asks["id"], True)])
    assert PAID == [1]


async def test_all_questions_are_answered_in_one() -> None:
    """One that is missing is refused, and everything stays open."""
    async with local_server(cashier([FIRST, SECOND], "Done.")) as server:
        thread, (one, two) = await asked(server)
        code, message = await thread.refused(resume=[resolved(one["id"], True)])
        assert code == "INTERRUPT_OPEN"
        assert two["id"] in message
        found = await thread.run(resume=[resolved(one["id"], True), resolved(two["id"], False)])
        assert text_of(found) == "Done."
    assert PAID == [1]


async def test_other_input_waits_until_the_questions_are_answered() -> None:
    async with local_server(cashier(FIRST, "Paid it.", "Then.")) as server:
        thread, (asks,) = await asked(server)
        new = user("something else")
        code, message = await thread.refused(new)
        assert code == "INTERRUPT_OPEN"
        assert asks["id"] in message
        thread.messages.remove(new)
        found = await thread.run(resume=[resolved(asks["id"], True)])
        assert text_of(found) == "Paid it."
        assert text_of(await thread.run(new)) == "Then."


async def test_a_new_message_may_follow_questions_that_are_cancelled() -> None:
    async with local_server(cashier(FIRST, "Something else, then.")) as server:
        thread, (asks,) = await asked(server)
        found = await thread.run(user("never mind"), resume=[cancelled(asks["id"])])
        assert text_of(found) == "Something else, then."
        code, _ = await thread.refused(resume=[resolved(asks["id"], True)])
        assert code == "INTERRUPT_EXPIRED"
    assert PAID == []


async def test_answering_again_is_the_same_run() -> None:
    """Under the same `runId` and under another one; a different answer comes too late."""
    async with local_server(cashier(FIRST, "Paid it.")) as server:
        thread, (asks,) = await asked(server)
        approved = [resolved(asks["id"], {"approved": True})]
        first = await thread.post(run="answer", resume=approved)
        for run in ("answer", "other"):
            again = await thread.post(run=run, resume=approved)
            assert again.headers["x-prism-run"] == first.headers["x-prism-run"]
        code, _ = await thread.refused(resume=[resolved(asks["id"], False)])
        assert code == "INTERRUPT_EXPIRED"
    assert PAID == [1]


async def test_a_run_and_its_answer_may_have_one_id() -> None:
    """CopilotKit answers under the `runId` of the run that asked."""
    async with local_server(cashier(FIRST, SECOND, "Paid both.")) as server:
        thread = Thread(server)
        (one,) = interrupts(await thread.run(user("pay"), run="same"))
        (two,) = interrupts(await thread.run(run="same", resume=[resolved(one["id"], True)]))
        found = await thread.run(run="same", resume=[resolved(two["id"], True)])
        assert text_of(found) == "Paid both."
    assert PAID == [1, 2]


async def test_an_unknown_question_cannot_be_answered() -> None:
    async with local_server(cashier(FIRST, "Paid it.", "Hello.")) as server:
        nothing = await Thread(server).refused(user("x"), resume=[resolved("none", True)])
        assert nothing[0] == "INTERRUPT_EXPIRED"
        thread, (asks,) = await asked(server)
        both = [resolved(asks["id"], True), resolved("none", True)]
        code, _ = await thread.refused(resume=both)
        assert code == "INTERRUPT_EXPIRED"
        assert PAID == []
        assert await thread.run(resume=both[:1])
    assert PAID == [1]


async def test_an_approval_needs_a_decision_and_its_arguments_stay() -> None:
    async with local_server(cashier(FIRST, "Paid it.")) as server:
        thread, (asks,) = await asked(server)
        for payload in (None, "yes", {"ok": True}, {"approved": "yes"}):
            code, _ = await thread.refused(resume=[resolved(asks["id"], payload)])
            assert code == "INVALID_INPUT"
        edited = {"approved": True, "editedArgs": {"amount": 99}}
        code, message = await thread.refused(resume=[resolved(asks["id"], edited)])
        assert code == "INVALID_INPUT"
        assert "arguments" in message
        same = {"approved": True, "editedArgs": {"amount": 1}}
        assert text_of(await thread.run(resume=[resolved(asks["id"], same)])) == "Paid it."
    assert PAID == [1]


async def test_a_payload_has_the_shape_that_the_tool_asks_for() -> None:
    async with local_server(office("Enjoy.")) as server:
        thread, (asks,) = await asked(server, "time off")
        wanted = asks["responseSchema"]["properties"]["payload"]
        assert wanted["required"] == ["approved_days"]
        code, _ = await thread.refused(resume=[resolved(asks["id"], {"approved": True})])
        assert code == "INVALID_INPUT"
        given = {"approved": True, "payload": {"approved_days": 3}}
        found = await thread.run(resume=[resolved(asks["id"], given)])
        (told,) = of_type(found, "TOOL_CALL_RESULT")
        assert json.loads(told["content"])["approved_days"] == 3


async def test_a_request_for_input_takes_what_its_schema_says() -> None:
    async with local_server(booking(Guests)) as server:
        thread, (asks,) = await asked(server, "book")
        assert (asks["id"], asks["reason"]) == ("q-1", "input_required")
        assert "guests" in asks["responseSchema"]["properties"]
        code, message = await thread.refused(resume=[resolved("q-1", {"guests": "many"})])
        assert code == "INVALID_INPUT"
        assert "guests" in message
        found = await thread.run(resume=[resolved("q-1", {"guests": 4})])
        assert found[-1]["outcome"] == {"type": "success"}
        told = customs(found, "adk.output")[-1]
        assert told["value"]["output"]["answer"]["guests"] == 4


async def test_an_answer_typed_again_is_the_same_run_and_another_one_comes_too_late() -> None:
    async with local_server(booking(Guests)) as server:
        thread, _ = await asked(server, "book")
        first = await thread.post(run="answer", resume=[resolved("q-1", {"guests": 4})])
        same = ({"guests": 4}, {"guests": "4"}, "4")
        for number, given in enumerate(same):
            again = await thread.post(run=f"again-{number}", resume=[resolved("q-1", given)])
            assert again.headers["x-prism-run"] == first.headers["x-prism-run"]
        for answer in (resolved("q-1", {"guests": 5}), resolved("q-1", "many"), cancelled("q-1")):
            code, _ = await thread.refused(resume=[answer])
            assert code == "INTERRUPT_EXPIRED"


async def test_a_request_that_is_cancelled_ends_what_asked_for_it() -> None:
    async with local_server(booking(Guests)) as server:
        thread, _ = await asked(server, "book")
        found = await thread.run(resume=[cancelled("q-1")])
        assert found[-1]["outcome"] == {"type": "success"}
        code, _ = await thread.refused(resume=[resolved("q-1", {"guests": 4})])
        assert code == "INTERRUPT_EXPIRED"
        assert interrupts(await thread.run(user("again")))


async def test_results_of_the_pages_tools_come_with_the_answer() -> None:
    async with local_server(cashier([FIRST, WHERE], "Paid there.")) as server:
        thread, (asks,) = await asked(server)
        found = await thread.run(
            result("c-loc-0000000001", {"at": "home"}), resume=[resolved(asks["id"], True)]
        )
        assert text_of(found) == "Paid there."
    assert PAID == [1]


async def test_results_may_come_after_the_answer() -> None:
    async with local_server(cashier([FIRST, WHERE], "Paid there.")) as server:
        thread, (asks,) = await asked(server)
        found = await thread.run(resume=[resolved(asks["id"], True)])
        assert text_of(found) == ""
        assert PAID == []
        found = await thread.run(result("c-loc-0000000001", {"at": "home"}))
        assert text_of(found) == "Paid there."
    assert PAID == [1]


async def test_an_edit_takes_a_question_back() -> None:
    async with local_server(cashier(FIRST, "Hello.")) as server:
        thread, _ = await asked(server)
        found = events(await Thread(server).post(user("no, hello", "u-pay"), run="edit"))
        assert text_of(found) == "Hello."
        assert thread.messages


# --------------------------------------------------------------------------- tools that the user passed over


def _given(*models: Scripted) -> list[Any]:
    parts = [part for content in models[0].requests[-1] for part in content.parts or ()]
    return [part.function_response.response for part in parts if part.function_response]


async def test_a_call_that_the_user_passed_over_has_an_interim_result_for_the_model() -> None:
    """Real models refuse a call without one. The client is told of none, and can still answer."""
    model = Scripted.saying(WHERE, "Never mind.", "And so on.")
    async with local_server(agent(model, tools=[LongRunningFunctionTool(locate)])) as server:
        thread = Thread(server)
        await thread.run(user("where am I"))
        found = await thread.run(user("something else"))
        assert text_of(found) == "Never mind."
        assert [given["status"] for given in _given(model)] == ["pending"]
        assert not of_type(found, "TOOL_CALL_RESULT")
        contents = model.requests[-1]
        at = next(i for i, c in enumerate(contents) if any(p.function_call for p in c.parts or ()))
        assert all(part.function_response for part in contents[at + 1].parts or ())
        assert [part.text for part in contents[at + 2].parts or ()] == ["something else"]
        session = await server.session()
        parts = [p for e in session["events"] for p in e.get("content", {}).get("parts", [])]
        assert not [part for part in parts if "functionResponse" in part]


@pytest.mark.parametrize("more", [0, 1], ids=["after one message", "after two"])
async def test_a_result_beside_its_call_answers_it_however_late(more: int) -> None:
    """CopilotKit puts what a person clicked behind the call, wherever in the list that is, and runs."""
    model = Scripted.saying(WHERE, *["Never mind."] * (more + 1), "In Rome.", "Done.")
    async with local_server(agent(model, tools=[LongRunningFunctionTool(locate)])) as server:
        thread = Thread(server)
        found = await thread.run(user("where am I"))
        (start,) = of_type(found, "TOOL_CALL_START")
        for number in range(more + 1):
            await thread.run(user(f"something else {number}"))
            thread.messages.append({"id": f"a-{number}", "role": "assistant", "content": "…"})
        at = next(i for i, m in enumerate(thread.messages) if m.get("toolCalls")) + 1
        thread.messages.insert(at, result(start["toolCallId"], {"city": "Rome"}))
        found = await thread.run()
        assert text_of(found) == "In Rome."
        assert _given(model) == [{"city": "Rome"}]
        code, text = await thread.refused()
        assert (code, "nothing to answer" in text) == ("INVALID_INPUT", True), "once is enough"


async def test_a_late_result_is_stored_before_the_message_that_it_comes_with() -> None:
    model = Scripted.saying(WHERE, "Never mind.", "Rome, I see.", "Yes.")
    async with local_server(agent(model, tools=[LongRunningFunctionTool(locate)])) as server:
        thread = Thread(server)
        found = await thread.run(user("where am I"))
        (start,) = of_type(found, "TOOL_CALL_START")
        await thread.run(user("something else"))
        thread.messages.insert(2, result(start["toolCallId"], {"city": "Rome"}))
        for text in ("and now", "and then"):
            await thread.run(user(text))
            assert _given(model) == [{"city": "Rome"}]


@pytest.mark.parametrize(
    "payload", ['{"approved": true}', "true", '{"approved": true, "reason": "ok"}']
)
async def test_an_answer_as_json_text_is_taken(payload: str) -> None:
    """Some clients encode what a form gives."""
    async with local_server(cashier(FIRST, "Paid it.")) as server:
        thread, (asks,) = await asked(server)
        assert text_of(await thread.run(resume=[resolved(asks["id"], payload)])) == "Paid it."
    assert PAID == [1]
