"""The Python of the pages and of the examples is typed: mypy --strict and pyright find nothing.

One run of each for all of it. What a block takes for granted (the reader's own runner, events, stores) is
declared in `GIVEN`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Node
from tests.documentation.blocks import Block, blocks
from website.places import ROOT

PYRIGHT = ROOT / "tests" / "node" / "node_modules" / "pyright" / "index.js"
EXAMPLE = ROOT / "examples" / "fastapi-mount"

GIVEN = """\
from typing import Any
from google.adk.agents import LlmAgent as LlmAgent
from google.adk.apps.app import App as App
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.tools.tool_context import ToolContext as ToolContext
agent: LlmAgent
class Bank:
    def transfer(self, amount: int, key: str) -> dict[str, Any]: ...
bank: Bank
events: list[Event]
my_sessions: Any
class Post:
    def send(self, text: str) -> dict[str, Any]: ...
post: Post
runner: Runner
def find_rule(product: str, opened: bool) -> Any: ...
"""

FILE = re.compile(r"# (\w+/\w+\.py)\n")
"""The first line of a block that is a file of a program."""

BLOCKS = [block for block in blocks("python") if block.note != "not run"]

SETTINGS = {
    "typeCheckingMode": "standard",
    "pythonVersion": "3.11",
    # ADK imports names where its documents say that they are, and does not list them as exported.
    "reportPrivateImportUsage": False,
    "reportMissingModuleSource": False,
}


def _place(block: Block, index: int) -> str:
    named = FILE.match(block.text)
    return named[1] if named else f"block_{index}.py"


def _text(block: Block) -> str:
    if FILE.match(block.text):
        return block.text
    # On the first line, so that the lines that are named are those of the block.
    return "from given import *; " + block.text.lstrip("\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write every block and the example to a file of its own."""
    folder = tmp_path_factory.mktemp("typed")
    (folder / "given.pyi").write_text(GIVEN)
    for index, block in enumerate(BLOCKS):
        file = folder / _place(block, index)
        file.parent.mkdir(exist_ok=True)
        file.write_text(_text(block))
    for source in EXAMPLE.glob("*.py"):
        shutil.copy(source, folder / source.name)
    return folder


MYPY = """\
[mypy]
strict = True
explicit_package_bases = True
python_version = 3.11
[mypy-google.adk.*]
implicit_reexport = True
"""


def _mypy(folder: Path) -> str:
    """Return what mypy says; it keeps what it knows of the packages beside what `make check` keeps."""
    (folder / "mypy.ini").write_text(MYPY)
    cache = ROOT / ".mypy_cache" / "documents"
    words = ("--no-error-summary", "--cache-dir", cache, ".")
    return _checked(folder, sys.executable, "-m", "mypy", *words)


def _checked(folder: Path, *words: str | Path) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.stdout


def _named(said: str) -> str:
    """Return what a checker says, with the blocks by their names."""
    for index, block in enumerate(BLOCKS):
        said = re.sub(rf"\b{re.escape(_place(block, index))}\b", str(block), said)
    return said


def test_mypy_finds_nothing(folder: Path) -> None:
    """With `--strict`."""
    said = _mypy(folder)
    assert said == "", _named(said)


def test_pyright_finds_nothing(folder: Path, node: Node) -> None:
    """From the npm package, which holds all of it: nothing is fetched when it runs."""
    paths = {"extraPaths": [str(ROOT / "src")], "venvPath": str(ROOT), "venv": ".venv"}
    (folder / "pyrightconfig.json").write_text(json.dumps(SETTINGS | paths))
    python = ("--pythonpath", sys.executable)
    said = json.loads(_checked(folder, node.binary, PYRIGHT, "--outputjson", *python))
    found = [
        f"{Path(each['file']).relative_to(folder)}:{each['range']['start']['line'] + 1}: {each['message']}"
        for each in said["generalDiagnostics"]
        if each["severity"] != "information"
    ]
    assert said["summary"]["filesAnalyzed"] > len(BLOCKS)
    assert found == [], _named("\n".join(found))


def test_a_wrong_type_is_found(folder: Path, node: Node, tmp_path: Path) -> None:
    """Both checkers know the public names: they are not `Any`."""
    wrong = (
        "from adk_prism import Prism, Run, project\n"
        "async def main(prism: Prism) -> None:\n"
        "    run: int = await prism.start('app', 'hello')\n"
        "    async for frame in prism.stream(3): ...\n"
        "    await prism.answer(run)\n"
        "    project([], protocol=7)\n"
    )
    (tmp_path / "wrong.py").write_text(wrong)
    said = _mypy(tmp_path)
    assert sorted(set(re.findall(r"wrong.py:(\d)", said))) == ["3", "4", "5", "6"]
    python = ("--pythonpath", sys.executable, "wrong.py")
    told = json.loads(_checked(tmp_path, node.binary, PYRIGHT, "--outputjson", *python))
    lines = {each["range"]["start"]["line"] + 1 for each in told["generalDiagnostics"]}
    assert lines == {3, 4, 5, 6}
