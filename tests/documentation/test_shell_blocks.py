"""The commands of the pages are run, as a reader would type them, in a folder with what they name.

Each `adk-prism` command has its words read by its own parser. Those that need nothing but files, the log or a
server are run; `curl` is asked of a real server. The others are listed, with the tests that run them.
"""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import shutil
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.documentation.blocks import Block, blocks
from tests.end_to_end.server import Server, serving
from tests.patience import PATIENCE
from tests.recordings.library import HERE

from adk_prism.cli import main
from adk_prism.cli.serve import settings_of
from adk_prism.extension import KERNEL_COMMANDS, installed

SHELL = [block for block in blocks("bash") if block.is_run]

OTHERS = {
    "adk": "ADK's own command: tests/end_to_end/test_recorder.py runs it with the plugin",
    "cd": "builds an npm package: make test-examples",
    "docker": "containers: not on every machine",
    "git": "a clone of somebody's own",
    "kubectl": "a cluster: not on every machine",
    "make": "targets of the Makefile: .ci/run calls them",
    "node": "examples: make test-examples",
    "npm": "installs packages: make test-examples",
    "npx": "installs packages: make test-examples",
    "pip": "installs packages: tests/test_packaging.py builds them",
    "printf": "a pipe into the console: tests/features/console/test_command.py",
}
"""Programs that are not ours, and where they are run."""

READ_ONLY = {
    "conform": "tests/features/conform",
    "console": "tests/features/console",
    "doctor": "tests/features/conform",
    "eval": "tests/features/evaluation",
    "export": "tests/cli",
    "mcp": "tests/features/mcp",
    "rerun": "tests/cli",
    "serve": "tests/server",
}
"""Commands that want a terminal, a model, a collector or a port: only their words are read here."""

STAND_INS = {
    "https://agents.example.com": "URL",
    "https://agents.example": "URL",
    "http://127.0.0.1:8000": "URL",
    "localhost:8000": "URL",
    "sqlite:///runs.db": "sqlite:///.adk-prism/runs.db",
    "run-1a2b": "RUN",
    "run-3c4d": "RUN",
    "$RUN": "RUN",
    "my_app": "tour",
}


REQUEST = {
    "appName": "tour",
    "userId": "u",
    "sessionId": "s",
    "newMessage": {"role": "user", "parts": [{"text": "help"}]},
}
"""What the page on captures posts from a file."""


@dataclass(frozen=True)
class Place:
    """A folder with what the pages name, and a server that was started in it."""

    server: Server
    run: str

    def filled(self, word: str) -> str:
        """Put what there is here in the place of what a page names."""
        for name, what in STAND_INS.items():
            word = word.replace(name, what)
        return word.replace("URL", self.server.url).replace("RUN", self.run)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("reader")
    for name in ("recording", "before", "after", "golden", "today", "run"):
        shutil.copyfile(HERE / "tool.jsonl", folder / f"{name}.jsonl")
    (folder / "my_agent").mkdir()
    (folder / "request.json").write_text(json.dumps(REQUEST))
    for block in blocks():
        if block.note == "file":
            path = folder / block.value
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
    with contextlib.chdir(folder):
        (folder / "capture.sse").write_text(_said(["run", "tour", "tool", "--as", "adk"]))
    shutil.copyfile(folder / "capture.sse", folder / "run.sse")
    with serving(folder, agents=None) as server:
        message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "weather tool"}]}
        chat = server.http.post("/api/chat/tour", json={"id": "c", "messages": [message]})
        run = chat.headers["x-prism-run"]
        rating = {"score": -1, "comment": "refund order"}
        assert server.http.post(f"/api/runs/{run}/feedback", json=rating).status_code == 200
        assert server.http.post("/apps/tour/users/u/sessions/s", json={}).status_code == 200
        yield Place(server, run)


def _said(words: list[str]) -> str:
    """Run a command in this process; return what it wrote."""
    told = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(told):
        code = main(words)
    assert code == 0, words
    return bytes(told.buffer.getvalue()).decode()  # type: ignore[attr-defined]


def _lines(text: str) -> Iterator[list[str]]:
    """Yield the words of each command; one may go on in the next lines."""
    held = ""
    for line in text.splitlines():
        held += line
        if held.endswith("\\"):
            held = held[:-1]
            continue
        try:
            reader = shlex.shlex(held, posix=True, punctuation_chars="|>&()")
            reader.whitespace_split = True
            words = list(reader)
        except ValueError:  # inside quotes
            held += "\n"
            continue
        held = ""
        if words:
            yield words


def _curl(words: list[str], place: Place) -> None:
    """Send what curl would send; only the options that the pages use are known."""
    parser = ArgumentParser()
    for flag in ("-X", "-d", "-H"):
        parser.add_argument(flag, action="append" if flag == "-H" else "store")
    for flag in "Nsi":
        parser.add_argument(f"-{flag}", action="store_true")
    parser.add_argument("url")
    given = parser.parse_args(words)
    headers = dict(text.split(": ", 1) for text in given.H or [])
    url = given.url if "://" in given.url else f"http://{given.url}"
    method = given.X or ("POST" if given.d else "GET")
    content = Path(given.d[1:]).read_text() if (given.d or "").startswith("@") else given.d
    told = httpx.request(method, url, headers=headers, content=content, timeout=PATIENCE)
    assert told.status_code < 400, (given.url, told.text)


def _prism(words: list[str], into: str) -> None:
    parser = ArgumentParser(prog=words[0])
    commands = KERNEL_COMMANDS | installed().commands()
    module: Any = import_module(commands[words[0]].module)
    module.register(parser)
    given = parser.parse_args(words[1:])
    if words[0] == "serve":
        settings_of(given)
    if words[0] in READ_ONLY or (words[0] == "run" and given.app not in ("tour", "orders")):
        return
    if "captions" in words:
        return  # a protocol that the page itself adds
    told = _said(words)
    if into:
        Path(into).write_text(told)


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_commands(block: Block, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the page; a command that fails, or takes no such word, fails the page."""
    monkeypatch.chdir(place.server.folder)
    for written in _lines(block.text):
        words = [place.filled(word) for word in written if word != "("]
        program = words[0].removeprefix(".venv/bin/")
        into = words[words.index(">") + 1] if ">" in words else ""
        ends = [words.index(sign) for sign in (">", "|", "&") if sign in words]
        plain = words[1 : min(ends, default=len(words))]
        if program == "adk-prism":
            _prism(plain, into)
        elif program == "curl":
            _curl(plain, place)
        else:
            assert program in OTHERS, f"{program} is not known here"


def test_the_list_of_conversations_has_what_was_said(place: Place) -> None:
    """The server of these tests is a real one: its runs are what the commands found."""
    listed = json.loads(_said(["runs", "--url", place.server.url, "--json"]))
    assert place.run in str(listed)
