"""`adk-prism setup`: our entry is written and removed, and nothing else changes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from adk_prism.cli import main
from adk_prism.features.mcp.setup import CLIENTS


def _setup(folder: Path, client: str, *words: str) -> int:
    return main(["setup", client, "--dir", str(folder), "--yes", *words])


def _files(folder: Path) -> dict[str, str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in found}


@pytest.mark.parametrize("client", CLIENTS)
def test_it_is_written_and_undone(client: str, tmp_path: Path) -> None:
    """A second time changes nothing; afterwards the folder is as it was."""
    assert _setup(tmp_path, client, "--allow-run", "--url", "http://127.0.0.1:9000") == 0
    written = _files(tmp_path)
    text = written[CLIENTS[client].path]
    data = tomllib.loads(text) if client == "codex" else json.loads(text)
    (servers,) = data.values()
    assert servers["adk-prism"]["command"] == "adk-prism"
    assert servers["adk-prism"]["args"] == ["mcp", "--url", "http://127.0.0.1:9000", "--allow-run"]
    assert _setup(tmp_path, client, "--allow-run", "--url", "http://127.0.0.1:9000") == 0
    assert _files(tmp_path) == written
    assert _setup(tmp_path, client, "--undo") == 0
    assert _files(tmp_path) == {}


@pytest.mark.parametrize("client", CLIENTS)
def test_what_else_is_in_the_file_stays(client: str, tmp_path: Path) -> None:
    """Other servers, other settings."""
    place = CLIENTS[client]
    path = tmp_path / place.path
    path.parent.mkdir(exist_ok=True)
    if client == "codex":
        path.write_text('model = "x"  # mine\n\n[mcp_servers.other]\ncommand = "y"\n')
    else:
        own = '{"other": {"command": "y", "args": ["-y", "z"]}}'
        path.write_text(f'{{\n    "mine": {{"{place.key}": {{}}}},\n    "{place.key}": {own}\n}}')
    before = path.read_text()
    assert _setup(tmp_path, client) == 0
    assert set(before.splitlines()) - set(path.read_text().splitlines()) <= {
        before.splitlines()[-2]
    }
    assert _setup(tmp_path, client, "--allow-run") == 0
    assert "--allow-run" in path.read_text()
    assert _setup(tmp_path, client, "--undo") == 0
    assert path.read_text() == before


def test_a_file_with_comments_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What to add is printed."""
    path = tmp_path / ".vscode" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{\n  // mine\n  "servers": {}\n}')
    assert _setup(tmp_path, "vscode") == 2
    assert path.read_text().startswith("{\n  // mine")
    assert '"adk-prism"' in capsys.readouterr().err


def test_nobody_agrees(tmp_path: Path) -> None:
    """Without a terminal and without --yes nothing is written."""
    assert main(["setup", "claude", "--dir", str(tmp_path)]) == 2
    assert _files(tmp_path) == {}
    assert main(["setup", "claude", "--dir", str(tmp_path / "none"), "--yes"]) == 2
