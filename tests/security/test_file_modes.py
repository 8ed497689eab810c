"""What the server keeps is for its own user alone, whatever the umask, and whatever was there before."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.adk.scripted import Scripted
from tests.end_to_end.server import Server, serving
from tests.server.local_server import agent

from adk_prism.errors import Diagnostic, UsageError
from adk_prism.prism import Prism
from adk_prism.server.lifecycle import open_data_folder
from adk_prism.server.settings import Settings

FOLDER, FILE = 0o700, 0o600
TOKEN = "a-token-for-the-test-of-file-modes"
KEPT = {"runs.db", "runs.db.lock", "runs-links.db", "sessions.db", "artifacts"}


def modes(folder: Path) -> dict[str, str]:
    """Return what is open to others, or less than open to its owner: path and mode."""
    found = {}
    for path in [folder, *folder.rglob("*")]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode != (FOLDER if path.is_dir() else FILE):
            found[str(path.relative_to(folder))] = oct(mode)
    return found


@contextmanager
def keeping(folder: Path, *words: str, umask: int = -1) -> Iterator[Server]:
    """Serve the bundled apps in a folder, to a caller who is known."""
    tokens = folder.parent / f"{folder.name}-tokens.json"
    tokens.write_text(json.dumps({TOKEN: "ann"}))
    with serving(folder, "--tokens", str(tokens), *words, agents=None, umask=umask) as server:
        server.http.headers["authorization"] = f"Bearer {TOKEN}"
        yield server


def use(server: Server) -> None:
    """Have everything written that a server writes: sessions, a run, an artifact, a share link."""
    parts = [{"type": "text", "text": "artifact"}]
    body = {"id": "chat", "messages": [{"id": "m", "role": "user", "parts": parts}]}
    answer = server.http.post("/api/chat/tour", json=body)
    assert answer.status_code == 200
    run = answer.headers["x-prism-run"]
    assert "data-artifact" in answer.text
    made = server.http.post(f"/api/runs/{run}/links", json={})
    assert made.status_code == 201, made.text


@pytest.mark.parametrize("umask", [0o022, 0o000, 0o077], ids=oct)
@pytest.mark.parametrize("named", ["", "deep/er/data"], ids=["default", "--data-dir"])
def test_nothing_that_is_kept_can_be_read_by_others(tmp_path: Path, umask: int, named: str) -> None:
    """While the server runs, its journals included, and afterwards. `--data-dir` moves all of it."""
    words = ["--data-dir", named] if named else []
    folder = tmp_path / (named or ".adk-prism")
    with keeping(tmp_path, *words, umask=umask) as server:
        use(server)
        kept = {path.name for path in folder.iterdir()}
        assert kept >= KEPT
        assert any(name.endswith("-wal") for name in kept)
        assert modes(folder) == {}
        server.terminate()
        assert server.wait() == 0
    assert modes(folder) == {}
    assert [path.name for path in tmp_path.iterdir()] == [Path(named or ".adk-prism").parts[0]]


def test_what_was_open_before_is_closed_and_told(tmp_path: Path) -> None:
    """A folder of an earlier version, with other modes: closed at the next start, in one line."""
    with keeping(tmp_path) as server:
        use(server)
    folder = tmp_path / ".adk-prism"
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    with keeping(tmp_path) as server:
        assert modes(folder) == {}
        use(server)
        assert modes(folder) == {}
        [told] = [line for line in server.lines if "file modes tightened" in line]
        assert "readable by others" in told


def told(folder: Path, **settings: Any) -> list[Diagnostic]:
    reports: list[Diagnostic] = []
    open_data_folder(Settings(data_dir=str(folder), **settings), reports.append)
    return reports


def test_a_folder_that_holds_other_things_is_left_as_it_is(tmp_path: Path) -> None:
    """Somebody may share those. Our own files in it are closed, and the operator is told."""
    folder = tmp_path / "project"
    folder.mkdir(mode=0o755)
    script = folder / "script.sh"
    script.touch()
    script.chmod(0o755)
    ours = folder / "sessions.db-wal"
    ours.touch()
    ours.chmod(0o644)
    link = folder / "artifacts"
    link.symlink_to(script)
    kinds = [report.kind for report in told(folder)]
    assert kinds == ["file modes tightened", "file modes too wide"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    assert stat.S_IMODE(ours.stat().st_mode) == FILE


def test_an_empty_folder_and_the_root_of_a_volume_are_ours(tmp_path: Path) -> None:
    """A folder made for it is closed, and where nothing is kept none is made."""
    folder = tmp_path / "volume"
    (folder / "lost+found").mkdir(parents=True)
    folder.chmod(0o755)
    assert [report.kind for report in told(folder)] == ["file modes tightened"]
    assert stat.S_IMODE(folder.stat().st_mode) == FOLDER
    assert told(folder) == []
    away = {"log": "memory:", "sessions": "memory://", "artifacts": "memory://"}
    assert told(tmp_path / "none", **away) == []
    assert not (tmp_path / "none").exists()


async def test_a_host_programs_log_is_closed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Embedded, the run log is in the same folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / ".adk-prism"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    from tests.voice.live_run import runner_of

    prism = Prism({"app": runner_of(agent(Scripted()))}, Settings())
    async with prism.lifespan(None):
        assert {path.name for path in folder.iterdir()} >= {"runs.db"}
        assert modes(folder) == {}


@pytest.mark.parametrize("name", ["", "a?b", "a#b", "a%20b", "a\0b"])
def test_a_folder_that_no_url_can_name(name: str) -> None:
    """The databases in it are named by URLs."""
    with pytest.raises(UsageError, match="must"):
        Settings(data_dir=name)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """Said in one line, with what to do."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="--data-dir"):
        told(tmp_path / "file" / "data")
