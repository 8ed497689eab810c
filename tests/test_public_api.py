"""The public API is what docs/api.md describes, and the documents import nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.runners import InMemoryRunner
from google.genai import types

import adk_prism
from adk_prism.version import OLD_NAMES

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "api.md"
CONTRIBUTE = ROOT / "docs" / "contribute"
"""Features are part of the package: these pages may import what the package itself imports."""
DOCUMENTS = [
    *ROOT.glob("*.md"),
    ROOT / "apps" / "README.md",
    *(page for page in (ROOT / "docs").rglob("*.md") if page.parent != CONTRIBUTE),
]
MODULES = {"errors", "extend", "grounding", "models", "proof", "run_logs", "testing"}

IMPORT = re.compile(r"^\s*(?:from|import) (adk_prism[\w.]*)(?: import (.+))?$", re.MULTILINE)


def _imports() -> Iterator[tuple[str, str, str]]:
    for path in DOCUMENTS:
        for module, names in IMPORT.findall(path.read_text()):
            yield path.relative_to(ROOT).as_posix(), module, names


def test_the_page_lists_every_public_name() -> None:
    """Each has a row of its own, and no row names anything else."""
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)
    assert sorted([*rows, "__version__"]) == sorted(adk_prism.__all__)


@pytest.mark.parametrize("name", adk_prism.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    """The lazy table knows where each of them is."""
    assert getattr(adk_prism, name) is not None


@pytest.mark.parametrize("old", OLD_NAMES)
def test_an_earlier_name_works_and_warns(old: str) -> None:
    """For one release; it is the thing of the new name, and no page has it."""
    with pytest.warns(
        DeprecationWarning, match=f"adk_prism.{old} is now called adk_prism."
    ) as told:
        assert getattr(adk_prism, old) is getattr(adk_prism, OLD_NAMES[old])
    assert told[0].filename == __file__
    assert old not in adk_prism.__all__


def test_an_earlier_argument_works_and_warns() -> None:
    """`project(as_=…)`."""
    events = ['{"author": "a", "content": {"parts": [{"text": "hello"}]}}']
    with pytest.warns(DeprecationWarning, match="as_") as told:
        frames = list(adk_prism.project(events, as_="studio"))
    assert frames == list(adk_prism.project(events, protocol="studio"))
    assert told[0].filename == __file__


def test_the_documents_import_public_names_only() -> None:
    """`adk_prism` itself, or one of the public modules."""
    public = {"adk_prism", *(f"adk_prism.{module}" for module in MODULES)}
    assert [each for each in _imports() if each[1] not in public] == []
    wanted = {
        name.strip().partition(" ")[0]
        for _, module, names in _imports()
        if module == "adk_prism"
        for name in names.split(",")
        if name.strip()
    }
    assert wanted - set(adk_prism.__all__) == set()
    assert len(wanted) > 5


def test_the_examples_of_the_page_run() -> None:
    """Each block by itself, with the agent's Runner and events that it names."""
    content = types.Content(role="model", parts=[types.Part(text="hello")])
    agent = LlmAgent(
        name="support",
        model=adk_prism.ScriptedModel(script=lambda _: adk_prism.models.say("hello")),
    )
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        names = {
            "runner": InMemoryRunner(agent=agent, app_name="support"),
            "events": [Event(author="a", invocation_id="i", content=content)],
        }
        exec(block, names)


def test_importing_the_package_imports_neither_adk_nor_a_web_framework() -> None:
    """`adk-prism --help` and `replay` start without them."""
    program = "import sys, adk_prism; print([m for m in sys.modules if m.split('.')[0] in"
    program += " ('google', 'fastapi', 'starlette', 'pydantic', 'msgspec')])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
