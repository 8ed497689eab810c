"""The real process: `adk-prism serve` on a port, called over a socket, told to stop."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from tests.adk.app_folders import write_app
from tests.patience import PATIENCE
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

AGENTS = Path(__file__).parent / "agents"


@dataclass
class Served:
    process: subprocess.Popen[str]
    url: str
    line: str
    folder: Path

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def stop(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGTERM)
        _, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, err


@contextmanager
def serving(folder: Path, *words: str, agents: Path = AGENTS) -> Iterator[Served]:
    command = [sys.executable, "-m", "adk_prism.cli", "serve", str(agents), "--port", "0", *words]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ADK_PRISM_")}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"adk-prism on (http://\S+) ", line)
        assert found, line + process.stderr.read()
        yield Served(process, found[1], line, folder)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served"), "--body-limit", "1MiB") as found:
        yield found


def test_the_ready_line_says_where_and_what(served: Served) -> None:
    """One line when requests are taken: the address with its real port, and the apps."""
    assert served.line == f"adk-prism on {served.url} serving broken, flow, helper, slow, written\n"
    assert httpx.get(served.url + "/health", timeout=PATIENCE).json() == {"status": "ok"}


def test_the_data_is_below_the_working_folder(served: Served) -> None:
    """The defaults: one file for the log, one for the sessions."""
    httpx.post(
        served.url + "/apps/helper/users/u/sessions/s", json={"a": 1}, timeout=PATIENCE
    ).raise_for_status()
    kept = {path.name for path in (served.folder / ".adk-prism").iterdir()}
    assert {"runs.db", "sessions.db"} <= kept


def test_headers_say_nothing_of_the_server(served: Served) -> None:
    """No version of any part."""
    assert "server" not in httpx.get(served.url + "/health", timeout=PATIENCE).headers


def test_a_rebound_host_is_refused(served: Served) -> None:
    """A page that points its own name at this machine."""
    answer = httpx.get(
        served.url + "/list-apps", headers={"host": "evil.example"}, timeout=PATIENCE
    )
    assert answer.status_code == 403


def test_a_foreign_origin_is_refused(served: Served) -> None:
    """A form or script of another page, also without a preflight, also for a WebSocket."""
    headers = {"origin": "https://evil.example", "content-type": "text/plain"}
    posted = httpx.post(
        served.url + "/apps/helper/users/u/sessions", headers=headers, timeout=PATIENCE
    )
    assert posted.status_code == 403
    for origin in ("https://evil.example", "null"):
        with pytest.raises(InvalidStatus) as caught:
            connect(served.url.replace("http", "ws") + "/run_live", origin=origin).close()
        assert caught.value.response.status_code == 403


def talk(served: Served, request: bytes) -> bytes:
    """Send bytes as they are; return all that comes back."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as connection:
        connection.sendall(request)
        received = b""
        while b"}" not in received and (part := connection.recv(65536)):
            received += part
        return received


HEAD = "POST /apps/helper/users/u/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


def test_a_declared_body_over_the_limit_is_refused_unread(served: Served) -> None:
    """The answer comes before a byte of the body was sent."""
    answer = talk(served, (HEAD + "Content-Length: 104857600\r\n\r\n").encode())
    assert answer.startswith(b"HTTP/1.1 413")


def test_a_chunked_body_over_the_limit_is_refused(served: Served) -> None:
    """The answer comes at the byte too many, with the rest unsent."""
    chunk = b"80000\r\n" + b" " * 0x80000 + b"\r\n"
    head = (HEAD + "Transfer-Encoding: chunked\r\n\r\n").encode()
    assert talk(served, head + chunk * 3).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("name", ["%2e%2e", "%00", "a%0d%0ab", "%ff", "%e2%80%ae"])
def test_names_are_checked_as_they_come_off_the_wire(served: Served, name: str) -> None:
    """However they were written."""
    request = f"GET /apps/helper/users/{name}/sessions HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert talk(served, request.encode()).startswith(b"HTTP/1.1 400")


def test_sigterm_ends_it_quietly(tmp_path: Path) -> None:
    """Exit 0, nothing else on stderr, and the next one finds what this one kept."""
    path = "/apps/flow/users/u/sessions/s"
    with serving(tmp_path) as first:
        httpx.post(first.url + path, json={"a": 1}, timeout=PATIENCE).raise_for_status()
        assert first.stop() == (0, "")
    with serving(tmp_path, "--log-format", "json") as second:
        assert httpx.get(second.url + path, timeout=PATIENCE).json()["state"] == {"a": 1}
        assert httpx.get(second.url + "/apps/broken/app-info", timeout=PATIENCE).status_code == 500
        code, err = second.stop()
    assert code == 0
    told = [json.loads(line) for line in (second.line + err).splitlines()]
    assert [each["kind"] for each in told] == ["serving", "app failed"]
    assert "secret-in-the-cause" in told[1]["cause"]


SIGNALS = [signal.SIGTERM, signal.SIGHUP]


@pytest.fixture
def hangup() -> Iterator[None]:
    """Let children hear SIGHUP, also where these tests run under `nohup`, which they would inherit."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hangup")
@pytest.mark.parametrize("name", SIGNALS)
def test_a_run_may_end_while_the_server_drains(tmp_path: Path, name: signal.Signals) -> None:
    """Health says so at once and new runs are refused; the stream continues to the end of its run. What a
    closing terminal sends twice does not stop the server at once."""
    with (
        serving(tmp_path, "--grace", "170s") as served,
        httpx.Client(base_url=served.url, timeout=PATIENCE) as client,
    ):
        make_sessions(client, "one", "two")
        with client.stream("POST", "/run_sse", json=asked("one")) as stream:
            lines = stream.iter_lines()
            assert "one" in next(line for line in lines if line.startswith("data:"))
            served.process.send_signal(name)
            waits_until_draining(served)
            if name == signal.SIGHUP:
                served.process.send_signal(name)
            with httpx.Client(base_url=served.url, timeout=PATIENCE) as other:
                refused = other.post("/run_sse", json=asked("two"))
                assert refused.status_code == 503
                assert refused.headers["retry-after"]
            (tmp_path / "go").touch()
            assert "two" in "".join(lines)
        assert served.process.wait(PATIENCE) == 0
        assert served.process.stderr is not None
        assert served.process.stderr.read() == ""
    with serving(tmp_path) as again:
        [run] = httpx.get(again.url + "/api/runs?app=slow", timeout=PATIENCE).json()
        assert run["outcome"] == "finished"


def test_a_run_that_does_not_end_in_time_is_stopped(tmp_path: Path) -> None:
    """Its stream has the protocol's own error and an end; the run is ended in the log."""
    with (
        serving(tmp_path, "--grace", "10s") as served,
        httpx.Client(base_url=served.url, timeout=PATIENCE) as client,
    ):
        make_sessions(client, "one")
        with client.stream("POST", "/run_sse", json=asked("one")) as stream:
            lines = stream.iter_lines()
            assert "one" in next(line for line in lines if line.startswith("data:"))
            served.process.send_signal(signal.SIGTERM)
            assert "server_stopped" in "".join(lines)
        assert served.process.wait(PATIENCE) == 0
        assert served.process.stderr is not None
        (told,) = served.process.stderr.read().splitlines()
        assert re.search(r"run stopped .* app=slow .*: server_stopped$", told)
    with serving(tmp_path) as again:
        [run] = httpx.get(again.url + "/api/runs?app=slow", timeout=PATIENCE).json()
        assert run["outcome"] == "failed"


THREADED = """
import asyncio, threading
from google.adk.agents import BaseAgent, LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types

class Model(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        call = types.FunctionCall(name="block", id="c1", args={})
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(function_call=call)]))

async def block() -> dict:
    "Wait for ever in a thread."
    print("blocked", flush=True)
    await asyncio.to_thread(threading.Event().wait)
    return {}

root_agent = LlmAgent(name="threaded", model=Model(model="own"), tools=[block])
"""


def test_a_tool_that_blocks_a_thread_does_not_keep_the_process(tmp_path: Path) -> None:
    """No thread can be stopped; the process ends all the same, and tells the operator."""
    agents = tmp_path / "agents"
    agents.mkdir()
    write_app(agents, "threaded", THREADED)
    with (
        serving(tmp_path, "--grace", "5s", agents=agents) as served,
        httpx.Client(base_url=served.url, timeout=PATIENCE) as client,
    ):
        client.post("/apps/threaded/users/u/sessions/one").raise_for_status()
        with client.stream("POST", "/run_sse", json=asked("one", app="threaded")) as stream:
            lines = stream.iter_lines()
            assert "block" in next(line for line in lines if line.startswith("data:"))
            waits_for_a_tool(served, stream.headers["x-prism-run"])
            served.process.send_signal(signal.SIGTERM)
            assert "server_stopped" in "".join(lines)
        assert served.process.wait(PATIENCE) == 0
        assert served.process.stderr is not None
        assert served.process.stderr.read(), "the operator is told"


def waits_for_a_tool(served: Served, run: str) -> None:
    """Wait until the log has the start of a tool."""
    until = time.monotonic() + PATIENCE
    url = f"{served.url}/api/runs/{run}/recording"
    while '"tool"' not in httpx.get(url, timeout=PATIENCE).text:
        assert time.monotonic() < until, "no tool is called"


def make_sessions(client: httpx.Client, *names: str) -> None:
    for name in names:
        client.post(f"/apps/slow/users/u/sessions/{name}").raise_for_status()


def waits_until_draining(served: Served) -> None:
    until = time.monotonic() + PATIENCE
    while httpx.get(served.url + "/health", timeout=PATIENCE).json() != {"status": "draining"}:
        assert time.monotonic() < until, "the signal has no effect"


def asked(session: str, app: str = "slow") -> dict[str, object]:
    message = {"role": "user", "parts": [{"text": "Go"}]}
    return {"appName": app, "userId": "u", "sessionId": session, "newMessage": message}


def test_a_log_in_use_is_one_line(tmp_path: Path) -> None:
    """Two servers cannot write one file; the second says so and ends."""
    with serving(tmp_path):
        command = [sys.executable, "-m", "adk_prism.cli", "serve", str(AGENTS), "--port", "0"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("adk-prism: ")
    assert done.stderr.count("\n") == 1
