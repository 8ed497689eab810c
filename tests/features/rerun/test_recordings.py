"""Recordings in tests of agents, with bare Runners: made and played in one process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent, ParallelAgent, SequentialAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.adk.tools import AgentTool
from google.genai import types
from tests.adk.scripted import Scripted, Turn, call
from tests.gemini_replies import ANSWER, THOUGHT_AND_TOOL
from tests.loopback_gemini import serve_gemini

from adk_prism.testing import recorded_model
from adk_prism.testing.recordings import playing, read_recordings, recording

Json = dict[str, Any]
Said = list[tuple[str, bool, str]]


async def say(root: BaseAgent, *texts: str) -> Said:
    """Run an agent in a bare Runner; return who said what, the pieces included."""
    runner = InMemoryRunner(root, app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="u")
    said: Said = []
    for text in texts:
        async for event in runner.run_async(
            user_id="u",
            session_id=session.id,
            new_message=types.UserContent(text),
            run_config=RunConfig(streaming_mode=StreamingMode.SSE),
        ):
            parts = (event.content.parts if event.content else None) or []
            said += [(event.author, bool(event.partial), part.text) for part in parts if part.text]
    return said


def add(number: int) -> Json:
    """Add."""
    return {"sum": number + 1}


Make = Callable[[Callable[..., Scripted]], BaseAgent]


def delegating(model: Callable[..., Scripted]) -> BaseAgent:
    helper = LlmAgent(name="helper", model=model("I help."), instruction="Help.")
    return LlmAgent(
        name="root",
        model=model(call("helper", "h", request="help"), call("add", "a", number=1), "Done."),
        tools=[AgentTool(helper), add],
    )


def transferring(model: Callable[..., Scripted]) -> BaseAgent:
    other = LlmAgent(name="other", model=model("I am the other."), description="Another.")
    first = model(call("transfer_to_agent", "t", agent_name="other"))
    return LlmAgent(name="root", model=first, sub_agents=[other])


def side_by_side(model: Callable[..., Scripted]) -> BaseAgent:
    agents = [LlmAgent(name=name, model=model(f"{name} speaks.")) for name in ("a", "b", "c")]
    both = ParallelAgent(name="all", sub_agents=agents)
    return SequentialAgent(
        name="root", sub_agents=[both, LlmAgent(name="last", model=model("The end."))]
    )


def inheriting(model: Callable[..., Scripted]) -> BaseAgent:
    child = LlmAgent(name="child", description="A child.")
    shared = model(call("transfer_to_agent", "t", agent_name="child"), "I am the child.")
    return LlmAgent(name="root", model=shared, sub_agents=[child])


@pytest.mark.parametrize("make", [delegating, transferring, side_by_side, inheriting])
async def test_agents_are_answered_from_the_file(make: Make, tmp_path: Path) -> None:
    """Whatever they are made of; the live models are not asked."""
    file = tmp_path / "talk.jsonl"
    with recording(file) as recorded:
        live = await say(make(Scripted.saying), "go")
        assert recorded.write() == 1
    assert live

    class Silent(Scripted):
        async def generate_content_async(self, *_: Any, **__: Any) -> Any:  # type: ignore[override]
            raise RuntimeError("the live model was asked")
            yield

    def silent(*_: Turn) -> Scripted:
        return Silent()

    with playing(file) as models:
        played = await say(make(silent), "go")
    assert sorted(played) == sorted(live)
    assert models.left == []
    assert models.difference is None
    with pytest.raises(RuntimeError, match="was asked"):
        await say(make(silent), "go")


def get_weather(city: str) -> Json:
    """Tell the weather."""
    return {"city": city, "sky": "sunny"}


async def test_gemini_without_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that names its model by a string, as most do; the key is not in the file."""
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv("GOOGLE_API_KEY", "synthetic-key-AbC123dEf456")
    file = tmp_path / "weather.jsonl"
    with serve_gemini(THOUGHT_AND_TOOL, ANSWER) as gemini:
        model = Gemini(model="gemini-2.5-flash", base_url=gemini.url)
        with recording(file) as recorded:
            live = await say(LlmAgent(name="w", model=model, tools=[get_weather]), "weather?")
            recorded.write()
    assert b"synthetic-key" not in file.read_bytes()
    monkeypatch.delenv("GOOGLE_API_KEY")
    with playing(file):
        agent = LlmAgent(name="w", model="gemini-2.5-flash", tools=[get_weather])
        assert await say(agent, "weather?") == live


async def test_a_model_of_a_package_that_is_not_installed(tmp_path: Path) -> None:
    """Its name is enough to play it."""
    file = tmp_path / "other.jsonl"
    model = Scripted.saying("Hello.")
    model.model = "elsewhere/model-1"
    with recording(file) as recorded:
        await say(LlmAgent(name="one", model=model), "hi")
        recorded.write()
    said = await say(LlmAgent(name="one", model=recorded_model(file)), "hi")
    assert said[-1] == ("one", False, "Hello.")


async def test_an_error_that_the_app_hides_is_known(tmp_path: Path) -> None:
    """The difference is kept for whoever checks the test."""
    file = tmp_path / "talk.jsonl"
    with recording(file) as recorded:
        await say(LlmAgent(name="one", model=Scripted.saying("Hello."), instruction="A."), "hi")
        recorded.write()
    assert len(read_recordings(file)) == 1

    def hide(callback_context: Any, llm_request: Any, error: Exception) -> Any:
        from google.adk.models.llm_response import LlmResponse

        return LlmResponse(content=types.ModelContent("All is well."))

    with playing(file) as models:
        agent = LlmAgent(
            name="one", model=Scripted.saying(), instruction="B.", on_model_error_callback=hide
        )
        assert (await say(agent, "hi"))[-1][2] == "All is well."
    assert models.difference is not None
    assert "instruction" in models.difference.detail
