"""Recorded models with ADK's own `Gemini` class, which changes requests before it sends them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.models import Gemini
from google.adk.planners import BuiltInPlanner
from google.genai import types
from tests.features.rerun.test_rerun import differs, ending, rerun
from tests.gemini_replies import ANSWER, STREAMS, THOUGHT_AND_TOOL
from tests.loopback_gemini import serve_gemini
from tests.server.local_server import LocalServer, local_server

from adk_prism.log.entry import AgentEvent

Json = dict[str, Any]
_OWN = ("id", "invocationId", "timestamp", "errorMessage")
"""Of an exception the code is recorded."""


def get_weather(city: str) -> Json:
    """Tell the weather."""
    return {"city": city, "sky": "sunny"}


def plain(value: Any) -> Any:
    """Return a value without what is another one in each run."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key not in _OWN}
    return [plain(item) for item in value] if isinstance(value, list) else value


async def events(server: LocalServer, run: str) -> list[Json]:
    """Return all events of a run, the partial ones included."""
    found = [each.record for each in await server.entries(run)]
    return [plain(json.loads(each.event)) for each in found if isinstance(each, AgentEvent)]


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Set a key, which the test takes away."""
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv("GOOGLE_API_KEY", "synthetic")
    return monkeypatch


@pytest.mark.parametrize("name", STREAMS)
async def test_what_gemini_streams_is_streamed_again(name: str, key: pytest.MonkeyPatch) -> None:
    """Event by event, without a key and without a request: thoughts, streamed arguments, refusals."""
    with serve_gemini(*STREAMS[name]) as gemini:
        model = Gemini(model="gemini-2.5-flash", base_url=gemini.url)
        root = LlmAgent(name="gemini", model=model, tools=[get_weather])
        async with local_server(root, model_calls="full") as server:
            run = await server.say("What is the weather?")
            asked = len(gemini.requests)
            key.delenv("GOOGLE_API_KEY")
            found = await rerun(server, run, models="recorded")
            assert "difference" not in found["models"], found
            assert found["models"]["recorded"] == len(STREAMS[name])
            assert await differs(server, found) == []
            assert await events(server, found["run"]) == await events(server, run)
            ends = await ending(server, run), await ending(server, found["run"])
            assert (ends[0].outcome, ends[0].code) == (ends[1].outcome, ends[1].code)
            assert len(gemini.requests) == asked


async def test_what_the_class_adds_to_a_request_is_no_difference(key: pytest.MonkeyPatch) -> None:
    """A message for an agent that has nothing new from the user; names of files; HTTP options; a planner's
    config. Also with a file in the message, and for the messages after it."""
    with serve_gemini(*[ANSWER] * 6) as gemini:

        def named(name: str, **more: Any) -> LlmAgent:
            model = Gemini(model="gemini-2.5-flash", base_url=gemini.url)
            return LlmAgent(name=name, model=model, **more)

        thinking = types.ThinkingConfig(include_thoughts=True)
        agents = [
            named("first", planner=BuiltInPlanner(thinking_config=thinking)),
            named("second", include_contents="none"),
            named("third", generate_content_config=types.GenerateContentConfig(temperature=0.5)),
        ]
        root = SequentialAgent(name="root", sub_agents=agents)
        async with local_server(root, model_calls="full") as server:
            picture = {"mimeType": "image/png", "data": "iVBORw0KGgo=", "displayName": "a.png"}
            table = {"mimeType": "application/vnd.ms-excel", "data": "YSxiCjEsMgo="}
            files = [{"inlineData": each} for each in (picture, table)]
            said = {"role": "user", "parts": [{"text": "Look."}, *files]}
            runs = [await server.post_run(newMessage=said), await server.say("And now?")]
            assert len(gemini.requests) == 6
            key.delenv("GOOGLE_API_KEY")
            for run in runs:
                found = await rerun(server, run, models="recorded")
                assert found["models"] == {"recorded": 3, "live": 0, "left": 0}, found
            assert len(gemini.requests) == 6


async def test_auto_asks_gemini_from_the_call_that_differs(key: pytest.MonkeyPatch) -> None:
    """With a key; without one it stops, and the difference is known."""
    with serve_gemini(THOUGHT_AND_TOOL, ANSWER, ANSWER) as gemini:
        model = Gemini(model="gemini-2.5-flash", base_url=gemini.url)
        later = {"text": "Short."}
        root = LlmAgent(
            name="gemini",
            model=model,
            tools=[get_weather],
            instruction=lambda context: later["text"] if context.state.get("seen") else "Look.",
            after_tool_callback=lambda tool_context, **_: tool_context.state.update({"seen": 1}),
        )
        async with local_server(root, model_calls="full") as server:
            run = await server.say("What is the weather?")
            later["text"] = "Long."
            found = await rerun(server, run, models="auto")
            assert (found["models"]["recorded"], found["models"]["live"]) == (1, 1)
            assert len(gemini.requests) == 3
            assert "Long." in json.dumps(gemini.requests[-1])
            key.delenv("GOOGLE_API_KEY")
            root.model = Gemini(model="gemini-2.5-flash", base_url=gemini.url)
            found = await rerun(server, run, models="auto")
            assert (found["models"]["recorded"], found["models"]["live"]) == (1, 0)
            assert found["models"]["difference"]["call"] == 2
            [warning] = found["warnings"]
            assert warning.endswith(
                "The live model cannot be asked: there is no API key (GOOGLE_API_KEY)."
            )
            assert len(gemini.requests) == 3
