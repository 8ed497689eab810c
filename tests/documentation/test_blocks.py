"""Every code block of the pages is run, read or compiled; what cannot be says why."""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from fastapi.testclient import TestClient
from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.events.event import Event
from google.adk.runners import InMemoryRunner
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from tests.documentation.blocks import ELSEWHERE, Block, blocks
from website.places import ROOT

from adk_prism.models import ScriptedModel, say

LANGUAGES = {
    "": "no code: a tree of files, a drawing",
    "bash": "tests/documentation/test_shell_blocks.py",
    "dockerfile": "not run: each block says so",
    "html": "tests/documentation/test_script_blocks.py",
    "js": "tests/documentation/test_script_blocks.py",
    "json": "tests/documentation/test_blocks.py",
    "nginx": "not run: each block says so",
    "python": "tests/documentation/test_blocks.py",
    "text": "no code: what a program writes",
    "toml": "tests/documentation/test_blocks.py",
    "ts": "tests/documentation/test_script_blocks.py",
    "tsx": "tests/documentation/test_script_blocks.py",
    "yaml": "tests/documentation/test_blocks.py",
}
"""What is done about blocks in each language."""


def test_something_is_done_about_every_language() -> None:
    """And the tests that are named are there."""
    assert {block.language for block in blocks()} <= set(LANGUAGES)
    for file in (*LANGUAGES.values(), *ELSEWHERE.values()):
        assert not file.startswith("tests/") or (ROOT / file).is_file()
    for language in ("dockerfile", "nginx"):
        assert all(not block.is_run for block in blocks(language))


def test_who_is_not_run_says_why() -> None:
    assert all(block.value for block in blocks() if block.note == "not run")


def _json(text: str) -> None:
    try:
        json.loads(text)
    except ValueError:
        for line in text.splitlines():  # a capture
            json.loads(line)


READERS: dict[str, Callable[[str], Any]] = {
    "json": _json,
    "toml": tomllib.loads,
    "yaml": lambda text: list(yaml.safe_load_all(text)),
}


@pytest.mark.parametrize("block", blocks(*READERS), ids=str)
def test_data_can_be_read(block: Block) -> None:
    READERS[block.language](block.text)


def _runner() -> InMemoryRunner:
    agent = LlmAgent(name="support", model=ScriptedModel(script=lambda _: say("hello")))
    return InMemoryRunner(agent=agent, app_name="support")


def _names() -> dict[str, Any]:
    """Return what the blocks take for granted: the reader's own agent, runner, stores."""
    content = types.Content(role="model", parts=[types.Part(text="hello")])
    runner = _runner()
    return {
        "App": App,
        "ToolContext": ToolContext,
        "agent": LlmAgent(name="support", model=runner.agent.model),
        "bank": SimpleNamespace(transfer=lambda amount, key: {}),
        "events": [Event(author="a", invocation_id="i", content=content)],
        "find_rule": lambda product, opened: None,
        "my_sessions": SimpleNamespace(),
        "post": SimpleNamespace(send=lambda text: {}),
        "runner": runner,
    }


@pytest.mark.parametrize("block", [b for b in blocks("python") if b.is_run], ids=str)
def test_python_runs(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by itself."""
    (tmp_path / "agents").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADK_PRISM_LOG", "memory:")
    exec(compile(block.text, str(block), "exec"), _names())


def test_the_route_around_project_streams() -> None:
    """The one that a converter is replaced with: text once, and the end of the stream."""
    [block] = [block for block in blocks("python") if block.value == "chat.py"]
    names = _names()
    exec(block.text, names)
    runner = names["runner"]
    opened = runner.session_service.create_session(app_name="support", user_id="u", session_id="s")
    asyncio.run(opened)
    with TestClient(names["app"]) as client:
        told = client.post("/chat/s", params={"text": "hi"})
    frames = [line[6:] for line in told.text.splitlines() if line.startswith("data: ")]
    texts = [json.loads(frame).get("delta", "") for frame in frames[:-1]]
    assert ("".join(texts), frames[-1]) == ("hello", "[DONE]")
