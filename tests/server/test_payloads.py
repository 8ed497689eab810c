"""What a tool wants with an approval: given in the shape it asks for, or the approval does not count."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.tools import ToolContext
from tests.adk.scripted import Scripted, call
from tests.server.answering import (
    GROUNDS,
    Ground,
    adk,
    answering,
    asked,
    chat,
    confirmation,
    data_of,
    decided,
    on,
    part_of,
    studio,
)
from tests.server.local_server import LocalServer, agent, local_server, texts

Json = dict[str, Any]
CALL = call("request_time_off", "c-off", days=5)


def request_time_off(days: int, tool_context: ToolContext) -> Json:
    """Request days off; a person says how many of them."""
    confirmation = tool_context.tool_confirmation
    if confirmation is None:
        hint = "Approve, and say for how many days."
        tool_context.request_confirmation(hint=hint, payload={"approved_days": 0})
        return {"status": "waiting"}
    if not confirmation.confirmed:
        return {"status": "rejected"}
    approved = confirmation.payload["approved_days"]
    if approved > days:
        raise ValueError("secret words of the exception")
    return {"status": "ok", "approved_days": approved}


def office(*turns: Any) -> LlmAgent:
    return agent(Scripted.saying(CALL, *turns), tools=[request_time_off])


def beside(message: Json, payload: Any) -> Json:
    """Return the part that a client puts beside its approval."""
    approval = part_of(message, "request_time_off")["approval"]["id"]
    data = {"approvalId": approval, "payload": payload}
    return {"type": "data-confirmation-response", "data": data}


Door = Callable[[LocalServer, Json, bool, Any], Awaitable[httpx.Response]]


async def by_chat(
    server: LocalServer, message: Json, approved: bool, payload: Any
) -> httpx.Response:
    more = [] if payload is None else [beside(message, payload)]
    return await chat(server, decided(message, "request_time_off", approved, *more))


async def by_studio(
    server: LocalServer, message: Json, approved: bool, payload: Any
) -> httpx.Response:
    approval = part_of(message, "request_time_off")["approval"]["id"]
    given = {"id": approval, "call": "c-off", "approved": approved}
    return await studio(server, given | ({} if payload is None else {"payload": payload}))


DOORS: dict[str, Door] = {"chat": by_chat, "studio": by_studio}
door = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)


@door
@pytest.mark.parametrize("ground", GROUNDS, ids=lambda ground: ground.id)
async def test_the_payload_reaches_the_tool(door: Door, ground: Ground, tmp_path: Path) -> None:
    """The client is told the shape; the tool gets what fits it; the history has the decision."""
    async with on(ground, office("You have three."), tmp_path) as server:
        message = await asked(server, "go")
        (told,) = data_of(message, "approval")
        assert told["payload"] == {"approved_days": 0}
        assert told["schema"] == {
            "type": "object",
            "properties": {"approved_days": {"type": "number"}},
            "required": ["approved_days"],
        }
        answer = await door(server, message, True, {"approved_days": 3})
        assert answer.status_code == 200, answer.text
        kept = (await server.messages())[-1]
        part = part_of(kept, "request_time_off")
        assert part["output"] == {"status": "ok", "approved_days": 3}
        assert part["approval"] == {"id": told["approvalId"], "approved": True}
        assert "You have three." in texts(kept)


@dataclass(frozen=True)
class Wrong:
    id: str
    payload: Any
    says: str


WRONG = (
    Wrong("none", None, "requires a payload"),
    Wrong("a key is missing", {}, "'approved_days' is a required property"),
    Wrong("a text for a number", {"approved_days": "3"}, "not of type 'number'"),
    Wrong("yes for a number", {"approved_days": True}, "not of type 'number'"),
    Wrong("no object", 3, "not of type 'object'"),
)


@door
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.id)
async def test_a_payload_of_another_shape_does_not_approve(door: Door, wrong: Wrong) -> None:
    """422 that says what is expected; the approval stays open, and the right payload counts."""
    async with local_server(office("You have three.")) as server:
        message = await asked(server, "go")
        refused = await door(server, message, True, wrong.payload)
        assert refused.status_code == 422
        assert wrong.says in refused.text
        assert "`approved_days` (number)" in refused.text
        assert part_of((await server.messages())[-1], "request_time_off")["state"] == (
            "approval-requested"
        )
        assert (await door(server, message, True, {"approved_days": 3})).status_code == 200


@door
async def test_a_denial_needs_no_payload(door: Door) -> None:
    async with local_server(office("A pity.")) as server:
        message = await asked(server, "go")
        assert (await door(server, message, False, None)).status_code == 200
        kept = part_of((await server.messages())[-1], "request_time_off")
        assert kept["state"] == "output-denied"


@door
async def test_a_tool_that_fails_on_the_payload_does_not_end_the_run(door: Door) -> None:
    """It is a tool's error, with a reference; the text of the exception is for the operator."""
    async with local_server(office("I cannot.")) as server:
        message = await asked(server, "go")
        assert (await door(server, message, True, {"approved_days": 30})).status_code == 200
        kept = (await server.messages())[-1]
        part = part_of(kept, "request_time_off")
        assert part["state"] == "output-error"
        assert "ValueError" in part["errorText"]
        assert "secret words" not in str(kept)
        assert "I cannot." in texts(kept)
        assert any("secret words" in str(report) for report in server.reports)


async def test_adks_routes_pass_the_payload_on() -> None:
    """There it is ADK's contract: the payload comes as it was sent, and what the tool makes of it shows."""
    async with local_server(office("You have three.")) as server:
        message = await asked(server, "go")
        approval = part_of(message, "request_time_off")["approval"]["id"]
        given = confirmation(approval, payload={"approved_days": 3})
        answer = await adk(server, given)
        assert '"approved_days":3' in answer.text


async def test_a_message_with_the_payload_is_the_approval() -> None:
    """The answer is a message of its own, and both messages tell of it after a reload."""
    async with local_server(office("You have three.")) as server:
        message = await asked(server, "go")
        data = beside(message, {"approved_days": 3})["data"]
        assert (
            await chat(server, answering("confirmation", data | {"payload": {}}))
        ).status_code == 422
        assert (await chat(server, answering("confirmation", data))).status_code == 200
        assert (await chat(server, answering("confirmation", data, "again"))).status_code == 409
        first, answered, second = (await server.messages())[1:]
        assert data_of(answered, "confirmation-response") == [data]
        assert part_of(first, "request_time_off")["approval"]["approved"] is True
        assert part_of(first, "request_time_off")["state"] == "output-available"
        assert part_of(second, "request_time_off")["output"]["approved_days"] == 3


async def test_a_payload_is_held_with_its_approval() -> None:
    """Two calls, answered one by one: the first payload is there when the second comes."""
    calls = [call("request_time_off", f"c-{n}", days=5) for n in (1, 2)]
    root = agent(Scripted.saying(calls, "Both."), tools=[request_time_off])
    async with local_server(root) as server:
        message = await asked(server, "go")
        for name, days in (("c-1", 1), ("c-2", 2)):
            parts = []
            for part in message["parts"]:
                if part.get("toolCallId") == name:
                    approval = {**part["approval"], "approved": True}
                    data = {"approvalId": approval["id"], "payload": {"approved_days": days}}
                    parts.append({"type": "data-confirmation-response", "data": data})
                    part = {**part, "state": "approval-responded", "approval": approval}
                parts.append(part)
            message = {**message, "parts": parts}
            assert (await chat(server, message)).status_code == 200
        kept = (await server.messages())[-1]
        outputs = {p["toolCallId"]: p["output"] for p in kept["parts"] if "output" in p}
        assert {k: v["approved_days"] for k, v in outputs.items()} == {"c-1": 1, "c-2": 2}
