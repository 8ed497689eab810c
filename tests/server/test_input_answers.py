"""Answers to a workflow's question: fitted to its schema, or refused while the question stays open."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.events.request_input import RequestInput
from google.adk.tools import LongRunningFunctionTool
from google.adk.tools._request_input_tool import request_input
from google.adk.workflow import Workflow
from pydantic import BaseModel
from tests.adk.scripted import Scripted, call
from tests.server.answering import (
    GROUNDS,
    Ground,
    adk,
    answering,
    asked,
    chat,
    data_of,
    on,
    part_of,
    roles,
    said,
    studio,
)
from tests.server.local_server import LocalServer, agent, local_server

Json = dict[str, Any]


class Guests(BaseModel):
    guests: int
    terrace: bool = False


class Trip(BaseModel):
    place: str
    days: int


class Table(BaseModel):
    place: str


def booking(schema: Any, **more: Any) -> Workflow:
    """Return a workflow that asks one question, and says what it was answered."""

    async def ask(node_input: Any) -> AsyncGenerator[RequestInput, None]:
        yield RequestInput(interrupt_id="q-1", message="How many?", response_schema=schema)

    def tell(node_input: Any) -> Json:
        return {"answer": node_input}

    return Workflow(name="booking", edges=[("START", ask, tell)], **more)


Door = Callable[[LocalServer, Any], Awaitable[httpx.Response]]


async def typed(server: LocalServer, value: Any) -> httpx.Response:
    return await chat(server, said(value if isinstance(value, str) else str(value), "u-typed"))


async def by_form(server: LocalServer, value: Any) -> httpx.Response:
    return await chat(server, answering("input", {"id": "q-1", "response": {"result": value}}))


async def by_studio(server: LocalServer, value: Any) -> httpx.Response:
    return await studio(server, {"id": "q-1", "result": {"result": value}})


async def by_adk(server: LocalServer, value: Any) -> httpx.Response:
    response = {"id": "q-1", "name": "adk_request_input", "response": {"result": value}}
    return await adk(server, response)


DOORS: dict[str, Door] = {"typed": typed, "form": by_form, "studio": by_studio, "run_sse": by_adk}
door = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)


async def outputs(server: LocalServer) -> list[Any]:
    """Return what the workflow's last node gave."""
    messages = await server.messages()
    told = [
        data for m in messages for data in data_of(m, "output") if data["path"].endswith("tell@1")
    ]
    return [data["output"]["answer"] for data in told]


@dataclass(frozen=True)
class Case:
    id: str
    schema: Any
    wrong: Any
    right: Any
    value: Any
    """What the workflow gets of the right one."""


CASES = (
    Case("a word for a number", Guests, "four", 4, {"guests": 4, "terrace": None}),
    Case("a typed number", Guests, "?", "4", {"guests": 4, "terrace": None}),
    Case("a plain number", int, "four", "4", 4),
    Case(
        "two required fields",
        Trip,
        4,
        '{"place": "Rome", "days": "2"}',
        {"place": "Rome", "days": 2},
    ),
    Case("a schema by hand", {"type": "integer", "minimum": 2}, "1", "2", 2),
    Case("a choice", {"type": "string", "enum": ["red", "blue"]}, "green", "red", "red"),
)


@door
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_a_wrong_answer_is_refused_and_the_question_stays_open(
    door: Door, case: Case
) -> None:
    """422, nothing is consumed, no run begins; the right answer still counts."""
    async with local_server(booking(case.schema)) as server:
        await asked(server, "go")
        before = await server.messages()
        refused = await door(server, case.wrong)
        assert refused.status_code == 422, refused.text
        assert "The question stays open" in refused.text
        assert await server.messages() == before
        answer = await door(server, case.right)
        assert answer.status_code == 200, answer.text
        assert await outputs(server) == [case.value]
        assert (await by_adk(server, case.right)).status_code == 409


@door
@pytest.mark.parametrize("ground", GROUNDS, ids=lambda ground: ground.id)
async def test_an_answer_is_fitted(door: Door, ground: Ground, tmp_path: Path) -> None:
    """A single value is that of the one required field."""
    async with on(ground, booking(Guests), tmp_path) as server:
        await asked(server, "go")
        assert (await door(server, "4")).status_code == 200
        assert await outputs(server) == [{"guests": 4, "terrace": None}]


@pytest.mark.parametrize("text", ["4", "true", "null", '"quoted"', "[1]", "plain words"])
async def test_text_stays_text(text: str) -> None:
    """ADK reads a text that is JSON as what that says, and would refuse it where text is wanted."""
    async with local_server(booking(str)) as server:
        await asked(server, "go")
        assert (await typed(server, text)).status_code == 200
        assert await outputs(server) == [text]


@pytest.mark.parametrize("schema", [None, {"type": "nonsense"}, {"$ref": "http://127.0.0.1:9/x"}])
async def test_without_a_schema_anything_is_an_answer(schema: Any) -> None:
    """Nothing is fetched, and a schema that is none refuses nobody."""
    async with local_server(booking(schema)) as server:
        await asked(server, "go")
        assert (await typed(server, "whatever")).status_code == 200
        assert await outputs(server) == ["whatever"]


async def test_a_question_of_an_agent_is_checked_too() -> None:
    """A model asks with a schema that it wrote itself."""
    question = call(
        "adk_request_input", "q-1", message="How many?", response_schema={"type": "integer"}
    )
    root = agent(Scripted.saying(question, "Thanks."), tools=[request_input])
    assert isinstance(request_input, LongRunningFunctionTool)
    async with local_server(root) as server:
        await asked(server, "go")
        assert (await typed(server, "many")).status_code == 422
        assert (await typed(server, "4")).status_code == 200
        model = root.model
        assert isinstance(root, LlmAgent)
        assert isinstance(model, Scripted)
        answers = [p.function_response for p in model.requests[-1][-1].parts or []]
        assert [answer.response for answer in answers if answer] == [{"result": 4}]


# --------------------------------------------------------------------------- what is shown


async def test_a_call_whose_question_is_open_has_no_output() -> None:
    """It waits; once the question is answered, the next message has its result."""
    workflow = booking(Guests, input_schema=Table, description="Books a table.")
    table = call("booking", "c-1", place="Prisma")
    root = agent(Scripted.saying(table, "Booked."), tools=[workflow])
    async with local_server(root) as server:
        message = await asked(server, "go")
        assert part_of(message, "booking")["state"] == "input-available"
        (told,) = data_of(message, "input-request")
        assert "status" not in told
        answer = await chat(
            server, answering("input", {"id": told["id"], "response": {"result": 4}})
        )
        assert answer.status_code == 200, answer.text
        messages = await server.messages()
        assert part_of(messages[1], "booking")["state"] == "output-available"
        assert part_of(messages[3], "booking")["state"] == "output-available"
        assert data_of(messages[1], "input-request")[0]["status"] == "answered"


async def test_an_answer_by_a_part_is_in_the_history() -> None:
    """As the client's own message, under the client's id."""
    async with local_server(booking(Guests)) as server:
        await asked(server, "go")
        await by_form(server, 4)
        messages = await server.messages()
        assert roles(messages) == ["user", "assistant"] * 2
        kept = {key: value for key, value in messages[2].items() if key != "metadata"}
        assert kept == answering("input", {"id": "q-1", "response": {"result": {"guests": 4}}})
