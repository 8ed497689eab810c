"""The README's Python is run, and what it says of commands and versions is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.runners import InMemoryRunner
from google.genai import types
from starlette.testclient import TestClient

from adk_prism.models import ScriptedModel, say

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_program_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Line by line; the mounted server starts with its host, before any request, and stops with it."""
    (code,) = re.findall(r"## In your own program\n\n```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / "agents").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADK_PRISM_LOG", "memory:")
    agent = LlmAgent(name="support", model=ScriptedModel(script=lambda _: say("hello")))
    content = types.Content(role="model", parts=[types.Part(text="from the README")])
    names: dict[str, Any] = {
        "runner": InMemoryRunner(agent=agent, app_name="support"),
        "events": [Event(author="a", invocation_id="i", content=content)],
    }
    exec(code, names)
    assert "from the README" in capsys.readouterr().out
    lifecycle = names["prism"].context.lifecycle
    with TestClient(names["your_app"]) as client:
        assert client.get("/agents/ready").status_code == 200
        assert client.get("/agents/list-apps").json() == ["support"]
    assert lifecycle.draining
    with TestClient(names["app"]) as client:
        assert client.get("/list-apps").json() == []


def test_the_readme_names_the_commands_and_how_long_they_take() -> None:
    """One row each, with a time for the first run and one for those after it."""
    targets = (ROOT / "Makefile").read_text()
    for command in ("serve", "test", "test-all"):
        (row,) = re.findall(rf"^\| `make {command}` \|.*$", README, re.MULTILINE)
        assert len(re.findall(r"\d+ (?:minutes?|seconds?)", row)) == 2
        assert re.search(rf"^{command}:", targets, re.MULTILINE)


def test_the_readme_is_short_and_has_a_picture() -> None:
    """What it leaves out is in the guides that it links to."""
    assert len(README) < 9_000
    pictures = re.findall(r"!\[[^\]]+\]\((\S+?)\)", README)
    assert pictures
    # A moving one is an APNG.
    assert all((ROOT / picture).stat().st_size <= 3 * 1024**2 for picture in pictures)
