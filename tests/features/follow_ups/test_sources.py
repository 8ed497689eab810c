"""Who is asked for follow-ups: what an app's module declares, and Gemini as its API is."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.models.google_llm import Gemini
from tests.loopback_gemini import LoopbackGemini, Refusal, Reply, chunk, serve_gemini
from tests.server.local_server import APP, SESSION, LocalServer, local_server

from adk_prism import Prism, Settings
from adk_prism.errors import Diagnostic

CHAT = f"/api/chat/{APP}/{SESSION}/suggestions"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the loopback server sees it."""
    monkeypatch.setenv("GOOGLE_API_KEY", "synthetic")


def gemini(loopback: LoopbackGemini) -> LlmAgent:
    """Return an agent on ADK's own class, which asks the loopback server."""
    return LlmAgent(name="agent", model=Gemini(model="gemini-2.5-flash", base_url=loopback.url))


async def asked(server: LocalServer) -> httpx.Response:
    await server.say("Count")
    return await server.client.get(CHAT)


async def test_gemini_is_asked_with_a_schema() -> None:
    """And with nothing of the app's own request: no tools, no instruction."""
    reply = json.dumps({"suggestions": ["And then?"], "title": "Counting"})
    replies: list[Reply] = [
        [chunk({"text": "One."}, finish="STOP")],
        [chunk({"text": "thinking", "thought": True}, {"text": reply}, finish="STOP")],
    ]
    with serve_gemini(*replies) as loopback:
        async with local_server(gemini(loopback), follow_ups="model") as server:
            assert (await asked(server)).json()["suggestions"] == ["And then?"]
        config = loopback.requests[1]["generationConfig"]
        assert config["responseMimeType"] == "application/json"
        assert sorted(config["responseSchema"]["properties"]) == ["suggestions", "title"]
        assert "tools" not in loopback.requests[1]


async def test_a_rate_limit_leaves_the_answer_as_it_is() -> None:
    """It is not asked again; the operator is told."""
    replies: list[Reply] = [
        [chunk({"text": "One."}, finish="STOP")],
        Refusal(429, "RESOURCE_EXHAUSTED"),
    ]
    with serve_gemini(*replies) as loopback:
        async with local_server(gemini(loopback), follow_ups="model") as server:
            assert (await asked(server)).status_code == 204
            [told] = [each for each in server.reports if each.kind == "no follow-ups"]
            assert "429" in told.message
        assert len(loopback.requests) == 2


AGENT = """
from adk_prism import ScriptedModel
from adk_prism.models import say
from google.adk.agents import LlmAgent

root_agent = LlmAgent(name="agent", model=ScriptedModel(script=lambda _: say("One.")))
"""
DECLARED = {
    "function": "def follow_ups(request):\n    return [request.app]\n",
    "nothing": "",
    "wrong": "follow_ups = ['And then?']\n",
    "off": "follow_ups = 'off'\n",
}


async def test_a_module_declares_its_own(tmp_path: Path) -> None:
    """A variable that is no source is told of once, with the app's name, and nothing is suggested."""
    for name, code in DECLARED.items():
        (tmp_path / f"follows_{name}").mkdir()
        (tmp_path / f"follows_{name}" / "agent.py").write_text(AGENT + code)
        (tmp_path / f"follows_{name}" / "__init__.py").write_text("from . import agent\n")
    reports: list[Diagnostic] = []
    settings = Settings(log="memory:", sessions="memory://", data_dir=str(tmp_path / "data"))
    prism = Prism(agents_dir=tmp_path, settings=settings, report=reports.append)
    async with prism:
        transport = httpx.ASGITransport(prism.asgi())
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            found = {}
            for name in DECLARED:
                app = f"follows_{name}"
                for _ in range(2):
                    run = await prism.start(app, "Count", session="s")
                    await prism.runs.wait(run)
                answer = await client.get(f"/api/chat/{app}/s/suggestions")
                found[name] = answer.json()["suggestions"] if answer.status_code == 200 else None
    assert found == {"function": ["follows_function"], "nothing": None, "wrong": None, "off": None}
    [told] = [each for each in reports if each.kind == "no follow-ups"]
    assert (told.app, "got a list" in told.detail) == ("follows_wrong", True)
