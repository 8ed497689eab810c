"""A client tool is declared with its schema, and its call stays open until the client answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.llm_request import LlmRequest
from pydantic import BaseModel
from tests.answers import respond
from tests.app_runner import AppRunner

from adk_prism import client_tool
from adk_prism.models import Call, ScriptedModel, Turn, read_conversation, say


class Place(BaseModel):
    """Ask where the person is."""

    accuracy: str = "city"


def find_place(accuracy: str = "city") -> None:
    """Ask where the person is."""
    raise AssertionError("only the signature is read")


@dataclass(frozen=True)
class Case:
    id: str
    parameters: dict[str, Any] | type[BaseModel] | Callable[..., Any] | None
    properties: set[str]


SCHEMA = {"type": "object", "properties": {"accuracy": {"type": "string"}}}
CASES = [
    Case("schema", SCHEMA, {"accuracy"}),
    Case("model", Place, {"accuracy"}),
    Case("function", find_place, {"accuracy"}),
    Case("none", None, set()),
]


async def declared(tool: Any) -> Any:
    """Return the declaration as a model is given it."""
    seen: list[LlmRequest] = []

    def script(request: LlmRequest) -> Turn:
        seen.append(request)
        return say("Seen.")

    root = LlmAgent(name="root", model=ScriptedModel(script=script), tools=[tool])
    await AppRunner(App(name="app", root_agent=root)).send("go")
    (bundle,) = seen[0].config.tools or []
    (declaration,) = getattr(bundle, "function_declarations", None) or []
    return declaration


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_the_declaration_carries_the_parameters(case: Case) -> None:
    declaration = await declared(client_tool("place", "Where?", case.parameters))

    assert declaration.name == "place"
    assert declaration.description.startswith("Where?")
    assert declaration.parameters_json_schema["type"] == "object"
    assert set(declaration.parameters_json_schema["properties"]) == case.properties


@pytest.mark.parametrize("parameters", [Place, find_place])
async def test_a_docstring_is_the_description(parameters: Any) -> None:
    declaration = await declared(client_tool("place", parameters=parameters))

    assert declaration.description.startswith("Ask where the person is.")


def test_parameters_must_be_an_object() -> None:
    with pytest.raises(ValueError, match="'place' must be a JSON Schema of type 'object'"):
        client_tool("place", "Where?", {"type": "string"})


async def test_the_call_waits_for_the_client() -> None:
    def script(request: LlmRequest) -> Turn:
        answer = read_conversation(request).answer("place")
        return say(f"In {answer['city']}.") if answer else Turn((Call("place"),))

    model = ScriptedModel(script=script)
    root = LlmAgent(name="root", model=model, tools=[client_tool("place", "Where?")])
    stage = AppRunner(App(name="app", root_agent=root))

    first = await stage.send("go")
    call = first.call("place")
    assert first.responses == []
    assert first.events[-1].long_running_tool_ids == {call.id}

    second = await stage.answer(respond(call, {"city": "Rome"}))
    assert second.text == "In Rome."
    assert {event.invocation_id for event in second.events} == {first.events[0].invocation_id}
