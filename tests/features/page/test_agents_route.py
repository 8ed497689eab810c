"""What the agents of an app are made of: for every root, without secrets."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_toolset import BaseToolset
from tests.adk.scripted import Scripted
from tests.server.local_server import APP, count, local_server

KEY = "sk-test-0123456789abcdef"


class _Down(BaseToolset):
    """A toolset whose server is down."""

    async def get_tools(self, _: Any = None) -> Any:
        raise ConnectionError("10.0.0.7 refused hunter2")

    async def close(self) -> None:
        pass


async def test_agents_below_any_root_are_described(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that ADK's app-info leaves out; a toolset that fails is named, and nothing of it leaks."""
    monkeypatch.setenv("TRAIL_API_KEY", KEY)
    model = Scripted.saying("x")
    child = LlmAgent(name="child", model=model, instruction=f"Use {KEY}.", tools=[count])
    first = LlmAgent(name="first", model=model, instruction="Be {tone}.", tools=[AgentTool(child)])
    second = LlmAgent(name="second", model=model, instruction=lambda _: "x", tools=[_Down()])
    async with local_server(SequentialAgent(name="root", sub_agents=[first, second])) as server:
        answer = await server.client.get(f"/api/apps/{APP}/agents")
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert set(found) == {"first", "second", "child"}
        assert found["first"]["instruction"] == "Be {tone}."
        assert found["first"]["tools"][0]["name"] == "child"
        assert found["child"]["tools"][0]["description"] == "Count one further."
        assert found["second"]["instruction"].startswith("<InstructionProvider")
        assert found["second"]["tools"] == [
            {"name": "_Down", "problem": "Its tools could not be read."}
        ]
        assert KEY not in answer.text
        assert "hunter2" not in answer.text
        assert [r.kind for r in server.reports] == ["tools not described"]
        assert (await server.client.get("/api/apps/nobody/agents")).status_code == 404
