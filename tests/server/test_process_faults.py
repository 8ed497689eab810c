"""What agent code and disks do to a server process: it goes on, or it ends in order and says why."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.end_to_end.server import Server, serving
from tests.patience import PATIENCE

AGENTS = Path(__file__).parent.parent / "security" / "hostile"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for what agents leave; their children are ended."""
    monkeypatch.setenv("PRISM_TEST_FOLDER", str(tmp_path))
    yield tmp_path
    with suppress(FileNotFoundError, ProcessLookupError, ValueError):
        os.kill(int((tmp_path / "child.txt").read_text()), signal.SIGKILL)


def say(server: Server, text: str, chat: str) -> str:
    """Say something; return the answer's body."""
    message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": text}]}
    body = {"id": chat, "messages": [message]}
    try:
        answer = server.http.post("/api/chat/hostile", json=body)
    except httpx.TransportError as error:
        return f"{type(error).__name__}"
    assert answer.status_code == 200, answer.text
    return answer.text


def test_a_tool_may_change_the_working_directory(folder: Path) -> None:
    """Every path was resolved at the start, relative ones too."""
    words = ("--log", "sqlite:///data/runs.db", "--sessions", "sqlite:///data/sessions.db")
    words += ("--audit", "data/audit.jsonl")
    (folder / "data").mkdir()
    with serving(folder, *words, agents=AGENTS) as server:
        assert "Done." in say(server, "work move", "a")
        assert server.http.get("/ready").status_code == 200
        assert "Done." in say(server, "work leak task", "b")
        assert len(server.http.get("/api/chat/hostile/a/messages").json()) == 2
        assert server.http.delete("/api/chat/hostile/a").status_code < 500
        assert server.http.get("/api/conversations").status_code == 200
    assert {"runs.db", "sessions.db"} <= {path.name for path in (folder / "data").iterdir()}
    assert not Path("/data").exists()


@pytest.mark.parametrize("how", ["work fork", "block fork", "work process"])
def test_a_forked_child_keeps_neither_port_nor_log(how: str, folder: Path) -> None:
    """A killed server can be started again while a child of its tool lives on; its clients notice."""
    with serving(folder, agents=AGENTS) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as idle:
            assert "Done." in say(server, how, "a")
            until = time.monotonic() + PATIENCE
            while not (folder / "child.txt").exists() or not (folder / "child.txt").read_text():
                assert time.monotonic() < until
                time.sleep(0.01)
            server.kill()
            idle.settimeout(PATIENCE)
            assert idle.recv(1) == b""  # nobody holds the connection
        os.kill(int((folder / "child.txt").read_text()), 0)  # the child is there
        port = server.port
    with serving(folder, "--port", str(port), agents=AGENTS) as again:
        assert again.port == port
        assert "Done." in say(again, "work leak task", "b")


def test_a_tool_that_takes_the_signals_does_not_keep_the_server(folder: Path) -> None:
    """The operator ends the process: the handlers are put back, and the log says so."""
    with serving(folder, agents=AGENTS) as server:
        assert "Done." in say(server, "work take signals", "a")
        until = time.monotonic() + PATIENCE
        while not any("signal handler replaced" in line for line in server.lines):
            assert time.monotonic() < until, server.lines
            time.sleep(0.05)
        server.terminate()
        assert server.wait() == 0


@pytest.mark.parametrize("how", ["work cancel all", "work cancel again"])
def test_a_tool_that_cancels_everything_ends_the_process_in_order(how: str, folder: Path) -> None:
    """It says why, returns a code of failure, and the next process finds everything."""
    with serving(folder, agents=AGENTS) as server:
        assert "Done." in say(server, "work leak task", "a")
        say(server, how, "b")
        assert server.wait() == 1
    said = "".join(server.lines)
    assert "Agent code cancelled the tasks of the server" in said
    # The tool would do it again.
    with serving(folder, "--on-crash-tool", "work=fail", agents=AGENTS) as again:
        for chat, count in (("a", 2), ("b", 1)):
            answer = again.http.get(f"/api/chat/hostile/{chat}/messages")
            assert answer.status_code == 200, (answer.text, again.lines)
            assert len(answer.json()) >= count
        assert "Done." in say(again, "work leak task", "c")


HUGE = [2**63, -(2**63) - 1, 2**64, 10**30]


def test_no_number_is_too_large(folder: Path) -> None:
    """Every integer that a request can name has bounds: beyond them it is refused, and no store is asked."""
    with serving(folder, agents=None) as server:
        schema: dict[str, Any] = server.http.get("/openapi.json").json()
        tried = 0
        for path, methods in schema["paths"].items():
            for method, operation in methods.items():
                for parameter in operation.get("parameters", ()):
                    if '"integer"' not in json.dumps(parameter["schema"]):
                        continue
                    for number in HUGE:
                        status = ask(server, method, path, operation, parameter["name"], number)
                        assert 400 <= status < 500, (method, path, parameter["name"], number)
                        tried += 1
        assert tried >= 4 * 8
        assert server.http.get("/api/runs", params={"before": 2**63}).status_code == 422


def ask(
    server: Server, method: str, path: str, operation: dict[str, Any], name: str, number: int
) -> int:
    """Send a request in which one parameter is a number; return the status."""
    query: dict[str, str] = {}
    for each in operation["parameters"]:
        value = str(number) if each["name"] == name else "tour"
        if each["in"] == "path":
            path = path.replace("{" + each["name"] + "}", value)
        elif each["name"] == name:
            query[name] = value
    return server.http.request(method.upper(), path, params=query).status_code


# ------------------------------------------------------------------ apps that do not load


def test_a_hanging_import_holds_up_its_own_app_alone(folder: Path) -> None:
    """Others are loaded and served; who asks for the app is told to come back, and the operator is told."""
    apps = folder / "apps"
    source = (AGENTS / "hostile" / "agent.py").read_text()
    for name, text in (("hangs", "import time\ntime.sleep(3600)\n"), ("hostile", source)):
        (apps / name).mkdir(parents=True)
        (apps / name / "agent.py").write_text(text)
    short = folder / "short"
    short.mkdir()
    (short / "sitecustomize.py").write_text(
        "import adk_prism.adk.app_imports as a\na.LONGEST_TURN, a.LONGEST_WAIT = 0.5, 2.0\n"
    )
    with serving(folder, agents=apps, packages=short) as server:
        session = "/apps/hangs/users/u/sessions/s"
        server.http.post(session)
        where = {"appName": "hangs", "userId": "u", "sessionId": "s"}
        body = where | {"newMessage": {"role": "user", "parts": [{"text": "hello"}]}}
        answer = server.http.post("/run", json=body)
        assert answer.status_code == 503, answer.text
        assert int(answer.headers["retry-after"]) > 0
        assert "still being loaded" in answer.text
        assert set(server.http.get("/list-apps").json()) == {"hangs", "hostile"}
        assert "Done." in say(server, "work leak task", "a")
        assert any("app loading" in line and "app=hangs" in line for line in server.lines), (
            server.lines
        )


# ------------------------------------------------------------------ damaged files


def damage(file: Path, at: float) -> None:
    """Write over a page of a file."""
    data = bytearray(file.read_bytes())
    place = int(len(data) * at) // 4096 * 4096
    data[place : place + 4096] = b"\xa5" * 4096
    file.write_bytes(bytes(data))


def test_a_damaged_page_of_the_log_is_told_at_the_start(folder: Path) -> None:
    """With the file and what to do; the server goes on with what can be read."""
    with serving(folder, agents=AGENTS) as server:
        for number in range(8):
            say(server, "work leak task", f"chat-{number}")
        server.terminate()
        server.wait()
    damage(folder / ".adk-prism" / "runs.db", 0.6)
    with serving(folder, agents=AGENTS) as again:
        assert any("is damaged" in line and "runs.db" in line for line in again.lines), again.lines
        assert again.http.get("/health").status_code == 200


def test_what_a_damaged_journal_lost_is_counted(folder: Path) -> None:
    """A server that was killed leaves a journal; SQLite drops what comes after the damage without a word."""
    with serving(folder, agents=AGENTS) as server:
        for number in range(4):
            say(server, "work leak task", f"chat-{number}")
        server.kill()
    damage(folder / ".adk-prism" / "runs.db-wal", 0.5)
    with serving(folder, agents=AGENTS) as again:
        told = [line for line in again.lines if "The journal of the run log" in line]
        assert told, again.lines
        assert "pages that were written last are lost" in told[0]


def test_a_sound_file_is_not_suspected(folder: Path) -> None:
    """After a kill, whose journal is whole, nothing is told."""
    for number in range(2):
        with serving(folder, agents=AGENTS) as server:
            assert not any("damaged" in line for line in server.lines), server.lines
            say(server, "work leak task", f"chat-{number}")
            server.kill()


def test_damaged_sessions_are_one_line(folder: Path) -> None:
    """What, where and what to do, and no traceback."""
    with serving(folder, agents=AGENTS) as server:
        for number in range(8):
            say(server, "work leak task", f"chat-{number}")
        server.terminate()
        server.wait()
    for page in (0.3, 0.6):
        damage(folder / ".adk-prism" / "sessions.db", page)
    done = subprocess.run(
        [sys.executable, "-m", "adk_prism.cli", "serve", str(AGENTS), "--port", "0"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    (line,) = done.stderr.splitlines()
    assert "sessions.db" in line
    assert "is damaged" in line
    assert "move it away" in line
    assert done.returncode != 0
