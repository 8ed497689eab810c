"""Run again with a part of the message edited: what was said, a model's parameters, a tool's arguments."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from tests.adk.scripted import Scripted, call
from tests.features.rerun.test_rerun import answers, differs, ending, refused, rerun, said
from tests.server.local_server import LocalServer, agent, local_server

from adk_prism.adk.request import REPEATS
from adk_prism.log.entry import RunStarted

Json = dict[str, Any]


class Configured(Scripted):
    """Also keeps the config of its last request."""

    config: types.GenerateContentConfig | None = None

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
        self.config = llm_request.config
        async for response in super().generate_content_async(llm_request, stream):
            yield response


def add(a: int, b: int) -> Json:
    """Add."""
    return {"sum": a + b}


async def repeated(server: LocalServer, run: str) -> Any:
    head = (await server.entries(run))[0].record
    assert isinstance(head, RunStarted)
    return REPEATS.read(head)


async def test_the_message_says_something_else() -> None:
    """The new session has the new message in the place of the recorded one, after what came before."""
    model = Scripted.saying("First.", "Four.", "Five.")
    async with local_server(agent(model)) as server:
        await server.say("before")
        run = await server.say("two and two")
        found = await rerun(server, run, message="two and three")
        assert await said(server, found["run"]) == "Five."
        spoken = [p.text for content in model.requests[-1] for p in content.parts or [] if p.text]
        assert spoken == ["before", "First.", "two and three"]
        assert "answer" in await differs(server, found)
        assert (await repeated(server, found["run"])).message


async def test_a_model_is_asked_with_other_parameters() -> None:
    """Those that are given take the place of the agent's; the others, and the served app, stay."""
    model = Configured.saying("One.", "Two.", "Three.")
    root = agent(model)
    root.generate_content_config = types.GenerateContentConfig(temperature=0.1, top_k=3)
    async with local_server(root) as server:
        run = await server.say("go")
        given = {"temperature": 0.9, "maxOutputTokens": 50, "stopSequences": ["x"]}
        found = await rerun(server, run, parameters={"agent": given})
        assert model.config is not None
        now = model.config
        assert (now.temperature, now.max_output_tokens, now.top_k) == (0.9, 50, 3)
        assert (await repeated(server, found["run"])).parameters == ["agent"]
        await server.say("go on")
        assert model.config.temperature == 0.1


async def test_a_recorded_call_gets_other_arguments() -> None:
    """The tool is called with them, and from there on the model is asked."""
    model = Scripted.saying(call("add", "c1", a=2, b=2), "Four.", "Nine.")
    async with local_server(agent(model, tools=[add]), model_calls="full") as server:
        run = await server.say("add")
        change = {"tool": "add", "recorded": {"b": 2, "a": 2}, "instead": {"a": 4, "b": 5}}
        found = await rerun(server, run, calls=[change], models="auto", tools="auto")
        assert await answers(server, found["run"]) == [{"sum": 9}]
        assert await said(server, found["run"]) == "Nine."
        assert (found["models"]["recorded"], found["models"]["live"]) == (1, 1)
        assert (await repeated(server, found["run"])).calls == ["add"]
        # What was recorded has no answer for them, and the tool is not called.
        found = await rerun(server, run, calls=[change], models="auto")
        assert (await ending(server, found["run"])).outcome == "failed"
        detail = await refused(
            server, run, 422, calls=[change | {"recorded": {"a": 1}}], models="auto"
        )
        assert "no model calls 'add' with these arguments" in detail


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"parameters": {"nobody": {"temperature": 1}}}, "no agent 'nobody'"),
        ({"parameters": {"agent": {"tools": []}}}, "no parameter 'tools' to change"),
        ({"parameters": {"agent": {"temperature": "hot"}}}, "temperature of 'agent'"),
        ({"calls": [{"tool": "add", "instead": {}}]}, "`models` must be `recorded` or `auto`"),
        ({"message": "x" * 100_001}, ""),
        ({"parameters": {"agent": 3}}, ""),
        ({"calls": [{"tool": "add", "instead": 3}]}, ""),
        ({"calls": {"tool": "add"}}, ""),
    ],
)
async def test_what_cannot_be_edited_is_refused(body: Json, reason: str) -> None:
    """Before anything is run, with the name of what is wrong."""
    async with local_server(agent(Scripted.saying("One."))) as server:
        run = await server.say("go")
        answer = await server.client.post(f"/api/runs/{run}/rerun", json=body)
        assert answer.status_code == 422, answer.text
        assert reason in answer.text


async def test_a_rerun_is_asked_for_later() -> None:
    """Whoever did not wait gets the same answer from the new run; any other run has none."""
    async with local_server(agent(Scripted.saying("One.", "Two."))) as server:
        run = await server.say("go")
        begun = (await server.client.post(f"/api/runs/{run}/rerun", json={"wait": False})).json()
        url = f"/api/runs/{begun['run']}/rerun"
        done = (await server.client.get(url, params={"wait": True})).json()
        assert (done["runs"], done["recorded"], done["warnings"]) == ([begun["run"]], [run], [])
        assert await said(server, begun["run"]) == "Two."
        for other in (run, "run-nobody"):
            assert (await server.client.get(f"/api/runs/{other}/rerun")).status_code == 404
