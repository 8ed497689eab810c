"""Backups of a running server, restored elsewhere: everything is there, or nothing is put anywhere."""

from __future__ import annotations

import gzip
import io
import json
import signal
import sqlite3
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from redis import Redis
from tests.end_to_end.server import Server, serving
from tests.log.stored_by_0_1.make import HERE as OLD
from tests.redis_server import RedisServer

from adk_prism.cli import main
from adk_prism.features.redis.dump import RESTORING

Json = dict[str, Any]


class Done(NamedTuple):
    """What a command did."""

    returncode: int
    stdout: str
    stderr: str


def run(folder: Path, *words: str) -> Done:
    """Run a command in a folder."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    return Done(code, out.getvalue(), err.getvalue())


def ask(server: Server, text: str, chat: str) -> None:
    body = {
        "id": chat,
        "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": text}]}],
    }
    assert server.http.post("/api/chat/tour", json=body).status_code == 200


def conversations(server: Server) -> Json:
    """What a person would look for: messages, runs and an artifact."""
    chats = ("tool", "artifact", "approval")
    texts = {chat: server.http.get(f"/api/chat/tour/{chat}/messages").text for chat in chats}
    return {
        "messages": {  # Links begin with the server's own address.
            chat: json.loads(text.replace(server.url, "")) for chat, text in texts.items()
        },
        "runs": sorted(
            (each["run"], each["outcome"]) for each in server.http.get("/api/runs").json()
        ),
        "feedback": [
            server.http.get(f"/api/runs/{each['run']}/feedback").json()
            for each in server.http.get("/api/runs").json()
        ],
        "note": server.http.get(
            "/apps/tour/users/user/sessions/artifact/artifacts/note.txt"
        ).json(),
    }


def used(server: Server) -> Json:
    """Use a server; return what is there then."""
    for text in ("tool", "artifact", "approval"):
        ask(server, text, text)
    [*_, last] = server.http.get("/api/runs").json()
    feedback = f"/api/runs/{last['run']}/feedback"
    assert server.http.post(feedback, json={"score": 1, "comment": "kept"}).is_success
    return conversations(server)


@pytest.mark.parametrize("name", ["backup.tar", "backup.tar.gz"])
def test_what_a_running_server_stores_is_restored_elsewhere(name: str, tmp_path: Path) -> None:
    """The server is not disturbed; the other one goes on with a call that waits for an approval."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    with serving(old) as server:
        before = used(server)
        done = run(old, "backup", name)
        assert (done.returncode, done.stderr) == (0, "")
        assert (old / name).stat().st_mode & 0o077 == 0
        assert conversations(server) == before
    done = run(new, "restore", str(old / name))
    assert (done.returncode, done.stderr) == (0, "")
    with serving(new) as server:
        assert conversations(server) == before
        [part] = [
            part
            for message in before["messages"]["approval"]
            for part in message["parts"]
            if part.get("state") == "approval-requested"
        ]
        answered = part | {
            "state": "approval-responded",
            "approval": {"id": part["approval"]["id"], "approved": True},
        }
        messages = [
            *before["messages"]["approval"][:-1],
            {
                **before["messages"]["approval"][-1],
                "parts": [
                    answered if each is part else each
                    for each in before["messages"]["approval"][-1]["parts"]
                ],
            },
        ]
        answer = server.http.post("/api/chat/tour", json={"id": "approval", "messages": messages})
        assert answer.status_code == 200
        said = server.http.get("/api/chat/tour/approval/messages").text
        assert "The invoice was sent" in said


def test_a_run_that_was_going_on_ends(tmp_path: Path) -> None:
    """It is not resumed: what it called has been called since."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    with serving(old) as server, httpx.Client(base_url=server.url) as client:
        body = {
            "id": "c",
            "messages": [
                {"id": "m", "role": "user", "parts": [{"type": "text", "text": "say [gate]"}]}
            ],
        }
        with client.stream("POST", "/api/chat/diary", json=body) as answer:
            next(answer.iter_lines())
            assert run(old, "backup", "b.tar").returncode == 0
    done = run(new, "restore", str(old / "b.tar"))
    assert done.returncode == 0
    with serving(new) as server:
        [found] = server.http.get("/api/runs").json()
    assert "1 run that had not ended in the backup ended as owner_lost" in done.stderr
    assert found["outcome"] == "failed"


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a backup of a used server."""
    folder = tmp_path_factory.mktemp("served")
    with serving(folder) as server:
        used(server)
        assert run(folder, "backup", "b.tar").returncode == 0
    return folder / "b.tar"


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.9, 1.0])
def test_a_backup_that_was_cut_off_is_refused(share: float, backup: Path, tmp_path: Path) -> None:
    data = backup.read_bytes().rstrip(b"\0")[:-1]
    (tmp_path / "cut.tar").write_bytes(data[: int(len(data) * share)])
    _refused(tmp_path, "cut.tar")


def _refused(folder: Path, name: str) -> str:
    done = run(folder, "restore", name, "--data-dir", "new")
    assert done.returncode in (1, 2)
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert not [path for path in (folder / "new").rglob("*") if path.is_file()]
    return done.stderr


@pytest.mark.parametrize("place", [600, 5000, 100_000])
def test_a_damaged_backup_is_refused(place: int, backup: Path, tmp_path: Path) -> None:
    data = bytearray(backup.read_bytes())
    data[place] ^= 0xFF
    (tmp_path / "bad.tar").write_bytes(data)
    assert "damaged" in _refused(tmp_path, "bad.tar")


def _tar(path: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(path, "w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    """Also those that would write outside the folder, or that a newer version wrote."""
    _tar(tmp_path / "up.tar", {"../../outside": b"x", "manifest.json": b"{}"})
    _tar(tmp_path / "other.tar", {"a.txt": b"x", "manifest.json": b"[1]"})
    newer = b'{"format": 99, "version": "9.0", "created": 0, "log": "sqlite"}'
    _tar(tmp_path / "newer.tar", {"manifest.json": newer})
    (tmp_path / "text.tar").write_text("hello")
    for name in ("up.tar", "other.tar", "text.tar"):
        assert "is not a backup of adk-prism" in _refused(tmp_path, name)
    assert "9.0" in _refused(tmp_path, "newer.tar")
    assert "There is no file" in _refused(tmp_path, "missing.tar")
    assert run(tmp_path, "restore", "missing.tar", "--data-dir", "new").returncode == 2
    assert not (tmp_path / "new").exists()
    assert not (tmp_path.parent / "outside").exists()


def test_nothing_is_replaced(backup: Path, tmp_path: Path) -> None:
    """A restore into a folder that is used, and a backup over a file."""
    assert run(tmp_path, "restore", str(backup)).returncode == 0
    done = run(tmp_path, "restore", str(backup))
    assert done.returncode == 2
    assert "exists already: restore into an empty folder" in done.stderr
    (tmp_path / "mine.tar").write_text("mine")
    done = run(tmp_path, "backup", "mine.tar")
    assert (done.returncode, (tmp_path / "mine.tar").read_text()) == (2, "mine")


def test_what_cannot_be_backed_up_is_said(tmp_path: Path) -> None:
    done = run(tmp_path, "backup", "b.tar", "--log", "memory:")
    assert (done.returncode, "cannot be backed up" in done.stderr) == (2, True)
    done = run(tmp_path, "backup", "b.tar")
    assert (done.returncode, "There is no run log" in done.stderr) == (2, True)
    done = run(tmp_path, "backup", "nowhere/b.tar")
    assert (done.returncode, "There is no folder" in done.stderr) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == []


def test_sessions_elsewhere_are_named(backup: Path, tmp_path: Path) -> None:
    """They are for the tools of that database; a backup that has them is not restored half."""
    (tmp_path / "pyproject.toml").write_text(
        '[tool.adk-prism]\nsessions = "postgresql+asyncpg://u:secret@db/p"\n'
    )
    done = run(tmp_path, "restore", str(backup))
    assert (done.returncode, "stores it elsewhere" in done.stderr) == (2, True)
    assert "secret" not in done.stderr
    data = backup.parent / ".adk-prism"
    done = run(tmp_path, "backup", "b.tar", "--data-dir", str(data))
    assert (done.returncode, "pg_dump" in done.stderr) == (0, True)


def test_missing_sessions_are_named(backup: Path, tmp_path: Path) -> None:
    """A program may name its database itself, so that the command cannot know of it."""
    assert run(tmp_path, "restore", str(backup)).returncode == 0
    assert run(tmp_path, "backup", "whole.tar").stderr == ""
    (tmp_path / ".adk-prism" / "sessions.db").unlink()
    done = run(tmp_path, "backup", "b.tar")
    assert (done.returncode, "The backup has no sessions" in done.stderr) == (0, True)


def test_a_backup_that_is_killed_leaves_none(tmp_path: Path, backup: Path) -> None:
    """Whenever it is: there is no file under its name, or a whole one."""
    assert run(tmp_path, "restore", str(backup)).returncode == 0
    for delay in (0.2, 0.4, 0.6, 0.8, 1.0):
        name = f"b{delay}.tar"
        command = [sys.executable, "-m", "adk_prism.cli", "backup", name]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (tmp_path / name).exists():
            done = run(tmp_path, "restore", name, "--data-dir", f"new{delay}")
            assert done.returncode == 0


# ---------------------------------------------------------------------- Redis


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    """Start a Redis."""
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder)
    yield server
    server.kill()


def test_a_log_in_redis_is_restored_under_another_prefix(
    redis: RedisServer, tmp_path: Path
) -> None:
    """With everything else of the server; one that was cut off is refused by servers, too."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    first, second = f"{redis.url}?prefix=one", f"{redis.url}?prefix=two"
    with serving(old, "--log", first) as server:
        before = used(server)
        done = run(old, "backup", "b.tar", "--log", first)
        assert (done.returncode, done.stderr) == (0, "")
    done = run(new, "restore", str(old / "b.tar"), "--log", second)
    assert (done.returncode, done.stderr) == (0, "")
    with serving(new, "--log", second) as server:
        assert conversations(server) == before
    other = tmp_path / "other"
    other.mkdir()
    done = run(other, "restore", str(old / "b.tar"), "--log", second)
    assert (done.returncode, "restore into another one" in done.stderr) == (2, True)
    done = run(other, "restore", str(old / "b.tar"))
    assert (done.returncode, "name one with --log redis://HOST" in done.stderr) == (2, True)
    with Redis.from_url(redis.url) as client:
        client.set("two:schema", RESTORING)
    done = run(other, "restore", str(old / "b.tar"), "--log", second)
    assert (done.returncode, "was cut off" in done.stderr) == (2, True)
    assert not [path for path in other.rglob("*") if path.is_file()]
    with pytest.raises(AssertionError, match="has schema"), serving(other, "--log", second):
        pass
    assert run(other, "backup", "c.tar", "--log", f"{redis.url}?prefix=none").returncode == 2


# ---------------------------------------------------------------------- migrations


def test_a_log_of_an_older_version_is_migrated(tmp_path: Path) -> None:
    """Asked first, then done; the old file is kept. A newer one is refused."""
    data = tmp_path / ".adk-prism"
    data.mkdir()
    (data / "runs.db").write_bytes(gzip.decompress((OLD / "runs.db.gz").read_bytes()))
    before = (data / "runs.db").read_bytes()
    done = run(tmp_path, "migrate", "--check")
    assert (done.returncode, "has schema 4; this version migrates it to 5" in done.stdout) == (
        1,
        True,
    )
    assert (data / "runs.db").read_bytes() == before
    done = run(tmp_path, "migrate")
    assert (done.returncode, "is kept as it was" in done.stdout) == (0, True)
    assert (data / "runs.db.before-5").exists()
    assert run(tmp_path, "migrate", "--check").returncode == 0
    with sqlite3.connect(data / "runs.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    for words in (("migrate", "--check"), ("migrate",)):
        done = run(tmp_path, *words)
        assert (done.returncode, "schema version 99" in done.stderr) == (1, True)
    assert run(tmp_path, "migrate", "--data-dir", "nowhere").returncode == 2
