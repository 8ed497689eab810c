"""What a tool wants with an approval, and what an agent asks, while it speaks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.tools import FunctionTool, ToolContext
from google.adk.tools._request_input_tool import request_input
from tests.voice.live_run import runner_of, scripted_agent
from tests.voice.served import Served, served

from adk_prism.models import Call, Turn, read_conversation, say

Json = dict[str, Any]


def request_time_off(days: int, tool_context: ToolContext) -> Json:
    """Request days off; a person says how many of them."""
    confirmation = tool_context.tool_confirmation
    if confirmation is None:
        tool_context.request_confirmation(hint="How many?", payload={"approved_days": 0})
        return {"status": "waiting"}
    if not confirmation.confirmed:
        return {"status": "rejected"}
    approved = confirmation.payload["approved_days"]
    if approved > days:
        raise ValueError("secret words of the exception")
    return {"status": "ok", "approved_days": approved}


def script(request: LlmRequest) -> Turn:
    conversation = read_conversation(request)
    if conversation.answers:
        return say(f"It says {dict(conversation.answers[-1].response)}.")
    if conversation.prompt == "ask":
        schema = {"type": "integer"}
        question = {"message": "How many?", "response_schema": schema}
        return Turn((Call("adk_request_input", question),))
    return Turn((Call("request_time_off", {"days": 5}),))


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    tools = [FunctionTool(request_time_off), request_input]
    async with served(runner_of(scripted_agent(script, tools))) as found:
        yield found


async def test_a_payload_is_given_with_an_approval(server: Served) -> None:
    """The person is asked, told the shape, refused a wrong one, and the tool gets the right one."""
    async with server.live() as client:
        await client.say("time off")
        asked = (await client.until_chunk("tool-approval-request"))["chunk"]
        told = (await client.until_chunk("data-approval"))["chunk"]["data"]
        assert told["payload"] == {"approved_days": 0}
        assert told["schema"]["required"] == ["approved_days"]
        answer = {"approvalId": asked["approvalId"], "approved": True}
        for wrong in (answer, {**answer, "payload": {"approved_days": "3"}}):
            await client.send("approval", **wrong)
            refused = await client.error()
            assert "approved_days" in refused["errorText"]
        await client.send("approval", **answer, payload={"approved_days": 3})
        output = (await client.until_chunk("tool-output-available"))["chunk"]["output"]
        assert output == {"status": "ok", "approved_days": 3}
        await client.until_chunk("finish")


async def test_a_tool_that_fails_on_it_fails_alone(server: Served) -> None:
    """The conversation goes on, and the exception's text stays here."""
    async with server.live() as client:
        await client.say("time off")
        asked = (await client.until_chunk("tool-approval-request"))["chunk"]
        answer = {"approvalId": asked["approvalId"], "approved": True}
        await client.send("approval", **answer, payload={"approved_days": 30})
        failed = (await client.until_chunk("tool-output-error"))["chunk"]
        assert "ValueError" in failed["errorText"]
        assert "secret" not in failed["errorText"]
        await client.until_chunk("finish")


async def test_a_denial_reaches_the_tool(server: Served) -> None:
    async with server.live() as client:
        await client.say("time off")
        asked = (await client.until_chunk("tool-approval-request"))["chunk"]
        answer = {"approvalId": asked["approvalId"], "approved": False}
        await client.send("approval", **answer, reason="no")
        await client.until_chunk("tool-output-denied")
        await client.until_chunk("finish")
        assert "rejected" in client.text


async def test_an_answer_that_does_not_fit_leaves_the_question_open(server: Served) -> None:
    """As a result, or as a part of a message."""
    async with server.live() as client:
        await client.say("ask")
        asked = (await client.until_chunk("data-input-request"))["chunk"]["data"]
        await client.send("tool_result", toolCallId=asked["id"], result="many")
        assert "integer" in (await client.error())["errorText"]
        data = {"id": asked["id"], "response": {"result": "4"}}
        part = {"type": "data-input-response", "data": data}
        message = {"id": "m", "role": "user", "parts": [part]}
        await client.send("message", id="s1", messages=[message], trigger="submit-message")
        await client.until_chunk("finish")
        assert "{'result': 4}" in client.text
