"""Results that come late, or come again: long-running tools are answered as ADK's server answers them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.tools import FunctionTool, LongRunningFunctionTool
from google.genai import types
from tests.adk.scripted import Scripted, call
from tests.server.answering import (
    GROUNDS,
    Ground,
    adk,
    asked,
    chat,
    chunks,
    confirmation,
    data_of,
    decided,
    on,
    part_of,
    roles,
    said,
    studio,
    text_of,
    with_result,
)
from tests.server.local_server import SESSION, LocalServer, agent, local_server, texts

Json = dict[str, Any]
UPDATES = ({"status": "in_progress"}, {"status": "still working"}, {"status": "approved"})


def order(item: str) -> Json:
    """Order something, which takes long: the first answer is a ticket."""
    return {"status": "pending", "ticket": item}


def consult(topic: str) -> None:
    """Ask somebody outside, who answers later."""


def erase(page: str) -> Json:
    """Erase a page."""
    return {"erased": page}


def shop(*turns: Any) -> LlmAgent:
    """Return an agent with long-running tools, and one that needs an approval."""
    tools = [
        LongRunningFunctionTool(order),
        LongRunningFunctionTool(consult),
        FunctionTool(erase, require_confirmation=True),
    ]
    return agent(Scripted.saying(*turns), tools=tools)


Door = Callable[[LocalServer, str, Json], Awaitable[httpx.Response]]


async def by_chat(server: LocalServer, tool: str, result: Json) -> httpx.Response:
    messages = await server.messages()
    message = next(m for m in messages if any(p["type"] == f"tool-{tool}" for p in m["parts"]))
    return await chat(server, with_result(message, tool, result))


async def by_studio(server: LocalServer, tool: str, result: Json) -> httpx.Response:
    return await studio(server, {"call": f"c-{tool}", "result": result})


async def by_adk(server: LocalServer, tool: str, result: Json) -> httpx.Response:
    return await adk(server, {"id": f"c-{tool}", "name": tool, "response": result})


async def by_run(server: LocalServer, tool: str, result: Json) -> httpx.Response:
    given = {"id": f"c-{tool}", "name": tool, "response": result}
    return await adk(server, given, route="/run")


DOORS: dict[str, Door] = {
    "chat": by_chat,
    "studio": by_studio,
    "run_sse": by_adk,
    "run": by_run,
}
door = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
ground = pytest.mark.parametrize("ground", GROUNDS, ids=lambda ground: ground.id)
CALLS = {
    "order": call("order", "c-order", item="print"),
    "consult": call("consult", "c-consult", topic="x"),
}
tool = pytest.mark.parametrize("tool", CALLS)


def heard(server: LocalServer) -> list[list[types.Content]]:
    """Return what the model was asked."""
    root = server.runner.agent
    assert isinstance(root, LlmAgent)
    assert isinstance(root.model, Scripted)
    return root.model.requests


def results(contents: list[types.Content], name: str) -> list[Any]:
    """Return the results of a tool that the model sees."""
    answers = [p.function_response for c in contents for p in c.parts or [] if p.function_response]
    return [answer.response for answer in answers if answer.name == name]


@door
@tool
@ground
async def test_a_result_may_come_after_other_messages_and_be_updated(
    door: Door, tool: str, ground: Ground, tmp_path: Path
) -> None:
    """Each update calls the model once, in the old invocation, and goes on with the message of the call;
    what was said in between stays where it is."""
    opening = [CALLS[tool], "It is ordered."] if tool == "order" else [CALLS[tool]]
    root = shop(*opening, "Hello.", "First.", "Second.", "Third.", "Bye.")
    async with on(ground, root, tmp_path) as server:
        first = await asked(server, "go")
        assert [told.get("status") for told in data_of(first, "long-running")] == [None]
        await asked(server, "hello")
        for update, words in zip(UPDATES, ("First.", "Second.", "Third."), strict=True):
            before = len(heard(server))
            answer = await door(server, tool, update)
            assert answer.status_code == 200, answer.text
            assert len(heard(server)) == before + 1
            assert results(heard(server)[-1], tool)[-1] == update
            messages = await server.messages()
            assert roles(messages) == ["user", "assistant"] * 2
            assert messages[1]["id"] == first["id"]
            assert part_of(messages[1], tool)["output"] == update
            assert [told["status"] for told in data_of(messages[1], "long-running")] == ["answered"]
            assert texts(messages[1]).endswith(words)
            assert texts(messages[3]) == "Hello."
        assert (await chat(server, said("bye"))).status_code == 200
        assert roles(await server.messages()) == ["user", "assistant"] * 3
        events = (await server.session())["events"]
        calls = [e for e in events if "functionCall" in str(e.get("content"))]
        late = [e for e in events if "Third." in str(e.get("content"))]
        assert late[-1]["invocationId"] == calls[0]["invocationId"]


async def test_the_stream_goes_on_with_the_old_message() -> None:
    """A client is told which message, and that it is over."""
    root = shop(CALLS["order"], "It is ordered.", "Hello.", "It is there.")
    async with local_server(root) as server:
        first = await asked(server, "go")
        await asked(server, "hello")
        answer = await by_chat(server, "order", {"status": "done"})
        told = chunks(answer)
        assert told[0]["messageId"] == first["id"]
        assert (told[-1]["type"], told[-1]["finishReason"]) == ("finish", "stop")
        assert "It is there." in text_of(answer)
        run = answer.headers["x-prism-run"]
        whole = await server.client.get(f"/api/runs/{run}/stream?as=studio")
        assert "event: resume" in whole.text
        film = await server.client.get(f"/api/runs/{run}/film")
        assert film.status_code == 200


async def test_a_message_that_comes_back_as_it_is_answers_nothing() -> None:
    """A chat client sends its whole message with every answer: what it was shown is not an update."""
    root = shop(CALLS["order"], "It is ordered.", "It is there.")
    async with local_server(root) as server:
        first = await asked(server, "go")
        assert (await chat(server, first)).status_code == 409
        assert (await by_chat(server, "order", {"n": 2**60, "x": 1.0})).status_code == 200
        assert (await chat(server, (await server.messages())[1])).status_code == 409
        assert len(heard(server)) == 3


@dataclass(frozen=True)
class Forged:
    id: str
    part: Json
    response: Json


FORGED = (
    Forged("a call that was never made", {"toolCallId": "x"}, {"id": "x", "name": "order"}),
    Forged("another name", {"type": "tool-consult"}, {"id": "c-order", "name": "consult"}),
    Forged("other arguments", {"input": {"item": "gold"}}, {"id": "c-erase", "name": "erase"}),
    Forged("a tool of the server's", {"toolCallId": "c-count"}, {"id": "c-count", "name": "count"}),
)


@pytest.mark.parametrize("case", FORGED, ids=lambda case: case.id)
@pytest.mark.parametrize("late", [False, True], ids=["at once", "late"])
async def test_a_forged_result_is_refused(case: Forged, late: bool) -> None:
    """409 on every route, and the model hears nothing of it."""
    calls = [CALLS["order"], call("count", "c-count")]
    async with local_server(shop(calls, "It is ordered.", "Hello.")) as server:
        first = await asked(server, "go")
        if late:
            await asked(server, "hello")
        before = len(heard(server))
        part = {**part_of(first, "order"), "output": {"status": "done"}, **case.part}
        parts = [p for p in first["parts"] if p.get("toolCallId") != "c-order"]
        forged = {**first, "parts": [*parts, part]}
        answers = [
            await chat(server, forged),
            await adk(server, {**case.response, "response": {"status": "done"}}),
            await studio(server, {"call": case.response["id"], "result": {}})
            if case.id != "another name"
            else await adk(server, {**case.response, "response": {}}, route="/run"),
        ]
        assert [answer.status_code for answer in answers] == [409, 409, 409]
        assert len(heard(server)) == before


# --------------------------------------------------------------------------- approvals


@ground
async def test_a_late_confirmation_is_for_adks_routes_alone(ground: Ground, tmp_path: Path) -> None:
    """In a chat a new message lets the question expire; ADK's own server takes the answer all the same."""
    gated = call("erase", "c-erase", page="page")
    async with on(ground, shop(gated, "Hello.", "Erased."), tmp_path) as server:
        first = await asked(server, "go")
        await asked(server, "hello")
        approval = part_of(first, "erase")["approval"]["id"]
        assert (await chat(server, decided(first, "erase", True))).status_code == 409
        given = {"id": approval, "call": "c-erase", "approved": True}
        assert (await studio(server, given)).status_code == 409
        answer = await adk(server, confirmation(approval))
        assert answer.status_code == 200, answer.text
        assert '"erased":"page"' in answer.text
        for route in ("/run_sse", "/run"):
            assert (await adk(server, confirmation(approval), route=route)).status_code == 409
        messages = await server.messages()
        assert part_of(messages[1], "erase")["state"] == "output-available"
        assert part_of(messages[1], "erase")["approval"] == {"id": approval, "approved": True}
        assert texts(messages[1]).endswith("Erased.")


async def test_what_was_approved_and_kept_expires_with_the_rest() -> None:
    """One of two approvals was given and kept; the conversation went on, and a late result of a
    long-running call does not bring it to life."""
    calls = [
        call("erase", "c-1", page="one"),
        call("erase", "c-2", page="two"),
        CALLS["consult"],
    ]
    async with local_server(shop(calls, "Hello.", "Told.")) as server:
        first = await asked(server, "go")
        one = next(p for p in first["parts"] if p.get("toolCallId") == "c-1")
        approval = {**one["approval"], "approved": True}
        parts = [
            {**p, "state": "approval-responded", "approval": approval} if p is one else p
            for p in first["parts"]
        ]
        assert (await chat(server, {**first, "parts": parts})).status_code == 200
        await asked(server, "hello")
        assert (await by_adk(server, "consult", {"said": "yes"})).status_code == 200
        assert "erased" not in str(heard(server)[-1])
        messages = await server.messages()
        states = {p["toolCallId"]: p["state"] for p in messages[1]["parts"] if "toolCallId" in p}
        assert states == {
            "c-1": "output-denied",
            "c-2": "output-denied",
            "c-consult": "output-available",
        }
        assert texts(messages[1]) == "Told."


# --------------------------------------------------------------------------- taking back


@pytest.mark.parametrize("edit", [False, True], ids=["regenerate", "edit"])
async def test_what_came_late_is_taken_back_with_what_came_before_it(edit: bool) -> None:
    """ADK rewinds in the order of time: with the second message goes the late answer to the first."""
    root = shop(
        CALLS["order"], "It is ordered.", "Hello.", "It is there.", "Hello again.", "It is."
    )
    async with local_server(root) as server:
        await asked(server, "go")
        await asked(server, "hello")
        await by_chat(server, "order", {"status": "done"})
        if edit:
            answer = await chat(server, said("hallo", "u-hello"), messageId="u-hello")
        else:
            second = (await server.messages())[3]["id"]
            answer = await chat(server, trigger="regenerate-message", messageId=second)
        assert answer.status_code == 200, answer.text
        messages = await server.messages()
        assert [texts(m) for m in messages if m["role"] == "assistant"] == [
            "It is ordered.",
            "Hello again.",
        ]
        assert part_of(messages[1], "order")["output"] == order("print")
        assert "done" not in str(heard(server)[-1])
        assert (await by_chat(server, "order", {"status": "done"})).status_code == 200
        assert part_of((await server.messages())[1], "order")["output"] == {"status": "done"}


async def test_a_late_answer_can_be_watched_by_who_comes_back() -> None:
    """While it runs it is the message that `resume` streams, and the history is without it."""
    started = asyncio.Event()
    root = shop(CALLS["order"], "It is ordered.", "Hello.", started)
    async with local_server(root) as server:
        first = await asked(server, "go")
        await asked(server, "hello")
        running = asyncio.create_task(by_chat(server, "order", {"status": "done"}))
        await started.wait()
        messages = await server.messages()
        assert first["id"] not in [m["id"] for m in messages]
        resuming = asyncio.create_task(server.client.get(f"/api/chat/app/{SESSION}/stream"))
        assert (await server.client.post(f"/api/chat/app/{SESSION}/stop")).status_code == 200
        told = chunks(await resuming)
        assert told[0]["messageId"] == first["id"]
        await running


async def test_a_late_answer_waits_for_the_run_that_is_on_and_holds_up_nobody() -> None:
    """A new message still interrupts that run; then both are answered."""
    started = asyncio.Event()
    root = shop(CALLS["order"], "It is ordered.", started, "Here.", "There.")
    async with local_server(root) as server:
        await asked(server, "go")
        running = asyncio.create_task(chat(server, said("tell me")))
        await started.wait()
        late = asyncio.create_task(by_studio(server, "order", {"status": "done"}))
        assert (await chat(server, said("stop that"))).status_code == 200
        assert (await late).status_code == 200
        await running
        messages = await server.messages()
        assert part_of(messages[1], "order")["output"] == {"status": "done"}
        told = texts(messages[1]) + texts(messages[-1])
        assert "Here." in told
        assert "There." in told
