"""Responses, as OpenAI's own client uses them: chains, conversations, background, coming back, approvals."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import openai
import pytest
from google.adk.tools.function_tool import FunctionTool
from tests.adk.scripted import Scripted, call
from tests.features.openai.conftest import sessions, talking
from tests.server.local_server import APP

from adk_prism import accept_client_tools


def _pay(amount: int) -> dict[str, int]:
    """Pay."""
    return {"paid": amount}


async def test_a_response_follows_another() -> None:
    """One conversation; one that follows an earlier response is another version of it."""
    model = Scripted.saying("One.", "Two.", "Other two.")
    async with talking(model) as (client, server):
        first = await client.responses.create(model=APP, input="first")
        assert (first.status, first.output_text.strip()) == ("completed", "One.")
        second = await client.responses.create(
            model=APP, input="second", previous_response_id=first.id
        )
        assert second.conversation == first.conversation
        other = await client.responses.create(
            model=APP, input="not second", previous_response_id=first.id
        )
        assert other.output_text.strip() == "Other two."
        (session,) = await sessions(server)
        texts = str(await server.messages(session))
        assert "not second" in texts
        assert "Two." not in texts.replace("Other two.", "")


async def test_a_conversation_has_a_name_and_items() -> None:
    """It is there once it has a response."""
    async with talking(Scripted.saying("One.", "Two.")) as (client, server):
        made = await client.conversations.create()
        for text in ("first", "second"):
            await client.responses.create(model=APP, input=text, conversation=made.id)
        assert await sessions(server) == [made.id]
        found = [item async for item in client.conversations.items.list(made.id)]
        assert [item.content[0].text.strip() for item in found] == [  # type: ignore[union-attr]
            "first", "One.", "second", "Two.",
        ]  # fmt: skip
        assert (await client.conversations.retrieve(made.id)).id == made.id
        with pytest.raises(openai.NotFoundError):
            await client.conversations.retrieve("conv_nobody")


async def test_a_stream_is_gone_on_with_after_any_event() -> None:
    """By `sequence_number`, in whatever process."""
    async with talking(Scripted.saying("One two three four.")) as (client, _):
        events = [
            event
            async for event in await client.responses.create(model=APP, input="go", stream=True)
        ]
        assert events[0].type == "response.created"
        last = events[-1]
        assert last.type == "response.completed"
        for at in range(len(events) - 1):
            number = events[at].sequence_number
            rest = await client.responses.retrieve(
                last.response.id, stream=True, starting_after=number
            )
            assert [event.to_dict() async for event in rest] == [
                event.to_dict() for event in events[at + 1 :]
            ]
        with pytest.raises(openai.BadRequestError):
            await client.responses.retrieve(last.response.id, stream=True, starting_after=7)


async def test_a_response_in_the_background_is_looked_at_and_stopped() -> None:
    """It is answered at once, and runs until somebody stops it."""
    began = asyncio.Event()
    async with talking(Scripted.saying(began)) as (client, server):
        made = await client.responses.create(model=APP, input="go", background=True)
        assert made.status == "in_progress"
        await began.wait()
        run = made.id.removeprefix("resp_")
        await server.reaches(run, b"Once")
        found = await client.responses.retrieve(made.id)
        assert (found.status, found.output[0].type) == ("in_progress", "message")
        stopped = await client.responses.cancel(made.id)
        assert stopped.status == "cancelled"
        assert (await client.responses.retrieve(made.id)).status == "cancelled"


async def test_tools_of_the_agent_are_calls_with_results() -> None:
    """As `mcp_call`: nobody runs them again."""
    model = Scripted.saying(call("_pay", "c1", amount=5), "Paid.")
    async with talking(model, [_pay]) as (client, _):
        found = await client.responses.create(model=APP, input="pay 5")
        shown = [each for each in found.output if each.type == "mcp_call"]
        assert [(each.name, each.arguments, each.output) for each in shown] == [
            ("_pay", '{"amount":5}', '{"paid":5}')
        ]
        items = [item async for item in client.responses.input_items.list(found.id)]
        assert items[0].content[0].text == "pay 5"  # type: ignore[union-attr]


@pytest.mark.parametrize("approve", [True, False])
async def test_an_approval_is_an_item_of_the_next_input(approve: bool) -> None:
    """As the API has it for tools of MCP servers."""
    model = Scripted.saying(call("_pay", "c1", amount=5), "Done.")
    tool = FunctionTool(_pay, require_confirmation=True)
    async with talking(model, [tool], resumable=True) as (client, _):  # type: ignore[list-item]
        asked = await client.responses.create(model=APP, input="pay 5")
        assert [each.type for each in asked.output] == ["mcp_approval_request"]
        request = asked.output[0]
        given: Any = {
            "type": "mcp_approval_response",
            "approval_request_id": request.id,
            "approve": approve,
        }
        done = await client.responses.create(
            model=APP, input=[given], previous_response_id=asked.id
        )
        (made,) = [each for each in done.output if each.type == "mcp_call"]
        assert bool(made.output) == approve
        assert done.output_text.strip() == "Done."
        with pytest.raises(openai.ConflictError):
            await client.responses.create(model=APP, input=[given], previous_response_id=asked.id)


async def test_the_clients_own_functions() -> None:
    """A `function_call`, answered with a `function_call_output`."""
    model = Scripted.saying(call("where", "c1"), "In Rome.")
    tools: Any = [
        {"type": "function", "name": "where", "parameters": {"type": "object", "properties": {}}}
    ]
    async with talking(model, plugins=[accept_client_tools("request")]) as (client, _):
        asked = await client.responses.create(model=APP, input="where?", tools=tools)
        (made,) = asked.output
        assert made.type == "function_call"
        result: Any = {"type": "function_call_output", "call_id": made.call_id, "output": "Rome"}
        done = await client.responses.create(
            model=APP, input=[result], previous_response_id=asked.id, tools=tools
        )
        assert done.output_text.strip() == "In Rome."


async def test_a_stateless_list_of_items_is_matched_like_a_chat() -> None:
    """With its own output sent back."""
    async with talking(Scripted.saying("One.", "Two.")) as (client, server):
        first = await client.responses.create(model=APP, input="first", store=False)
        items: Any = [
            {"role": "user", "content": "first"},
            *[item.model_dump(exclude_none=True) for item in first.output],
            {"role": "user", "content": [{"type": "input_text", "text": "second"}]},
        ]
        await client.responses.create(model=APP, input=items, store=False)
        assert len(await sessions(server)) == 1


async def test_a_failure_is_a_failed_response() -> None:
    """With safe text and a reference."""
    async with talking(Scripted.saying(RuntimeError("secret"))) as (client, _):
        found = await client.responses.create(model=APP, input="go")
        assert found.status == "failed"
        assert found.error is not None
        assert "Reference: " in found.error.message
        assert "secret" not in json.dumps(found.to_dict())


@pytest.mark.parametrize(
    "body",
    [
        {"input": []},
        {"input": 7},
        {"input": [{"type": "computer_call_output"}]},
        {"input": "x", "previous_response_id": "resp_nobody"},
        {"input": "x", "conversation": 7},
        {
            "input": [
                {"type": "mcp_approval_response", "approval_request_id": "x", "approve": "yes"}
            ]
        },
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]}]},
    ],
)
async def test_bad_input_is_refused(body: dict[str, Any]) -> None:
    """As an `error` object; nothing has run."""
    async with talking(Scripted.saying("One.")) as (_, server):
        answer = await server.client.post("/v1/responses", json={"model": APP, **body})
        assert 400 <= answer.status_code < 500, answer.text
        assert answer.json()["error"]["message"]
        assert await sessions(server) == []


async def test_other_callers_see_nothing_of_it() -> None:
    """A response belongs to who asked for it, whatever `user` says."""

    async def authenticate(connection: Any) -> str | None:
        return connection.headers.get("authorization", "").removeprefix("Bearer ") or None

    async with talking(Scripted.saying("One."), authenticate=authenticate) as (client, server):
        mine, other = client.with_options(api_key="ada"), client.with_options(api_key="bob")
        made = await mine.responses.create(model=APP, input="first", user="someone-of-mine")
        assert (await mine.responses.retrieve(made.id)).id == made.id
        for refused in (
            other.responses.retrieve(made.id),
            other.responses.cancel(made.id),
            other.responses.create(model=APP, input="x", previous_response_id=made.id),
            other.conversations.retrieve(made.conversation.id),  # type: ignore[union-attr]
        ):
            with pytest.raises(openai.NotFoundError):
                await refused
        answer = await server.client.post("/v1/responses", json={"model": APP, "input": "x"})
        assert answer.status_code == 401
        assert answer.json()["error"]["type"] == "authentication_error"
