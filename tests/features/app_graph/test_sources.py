"""Agents and tools are found where the app's own code defines them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.tools import FunctionTool, google_search
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool

from adk_prism import client_tool
from adk_prism.features.app_graph.sources import sources_of

HERE = Path(__file__)


def look_up(word: str) -> str:
    return word


@functools.wraps(look_up)
def wrapped(*given: Any, **named: Any) -> str:
    return look_up(*given, **named)


class Scale(BaseTool):
    def __init__(self) -> None:
        super().__init__(name="scale", description="")


where = client_tool("where", "Where the user is")
helper = LlmAgent(name="helper", model="model", tools=[FunctionTool(look_up), Scale()])
root = LlmAgent(
    name="root",
    model="model",
    tools=[wrapped, where, google_search, AgentTool(helper)],
    sub_agents=[LlmAgent(name="brief", model="model"), LlmAgent(name="s" + "um", model="model")],
)


def line(text: str) -> str:
    """Return where a line of this file begins so."""
    lines = HERE.read_text().splitlines()
    return f"{HERE}:{next(n for n, each in enumerate(lines, 1) if each.startswith(text))}"


def test_each_is_where_it_is_defined() -> None:
    """Functions, objects with a name, classes, calls; nothing for what a library made or is not found."""
    found = sources_of(root, HERE.parent)
    assert found["root"]["source"] == line("root = ")
    assert found["helper"] == {
        "source": line("helper = "),
        "tools": {"look_up": line("def look_up"), "scale": line("class Scale")},
    }
    look_up_line, where_line = line("def look_up"), line("where = ")
    assert found["root"]["tools"] == {
        "look_up": look_up_line,
        "where": where_line,
        "google_search": "",
    }
    assert found["brief"]["source"] == line("    sub_agents=")
    assert found["sum"]["source"] == ""


def test_files_that_cannot_be_read_have_no_places(tmp_path: Path) -> None:
    """A broken file, one that is no text, and no folder at all."""
    (tmp_path / "broken.py").write_text("LlmAgent(name='loose'")
    (tmp_path / "bytes.py").write_bytes(b"\xff\x00")
    loose = LlmAgent(name="loose", model="model")
    assert sources_of(loose, tmp_path)["loose"] == {"source": "", "tools": {}}
    assert sources_of(loose, None)["loose"]["source"] == ""
    (tmp_path / "mended.py").write_text("\nLlmAgent(name='loose')\n")
    assert sources_of(loose, tmp_path)["loose"]["source"] == f"{tmp_path}/mended.py:2"
