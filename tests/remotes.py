"""`make test-remotes`: our server in front of real ADK servers, each in an environment of its own.

Environments are made under `.venv/remotes/`, from PyPI and npm, when they are missing. A server that cannot
be installed or started is a failed test, not a skipped one. The file is named like no test: `make test-all`
has to work without a network, and does not take it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from tests.end_to_end.server import Server, free_port, serving
from tests.patience import PATIENCE
from tests.voice.served import Client
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from adk_prism.features.captures.recording_file import read_run
from adk_prism.testing.laws import check_laws

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".venv" / "remotes"
AGENT = ROOT / "tests" / "recordings" / "servers"
ORM = ("core", "knex", "mariadb", "mssql", "mysql", "postgresql", "sqlite", "reflection")
PACKAGE = {
    "type": "module",
    "dependencies": {"@google/adk": "2.0.0", "@google/adk-devtools": "2.0.0"},
    # What adk-devtools asks for is not in the registry.
    "overrides": {f"@mikro-orm/{name}": "6.6.6" for name in ORM},
}
JSON = {"accept": "application/json, text/event-stream"}


@dataclass(frozen=True)
class Kind:
    """One kind of server."""

    name: str
    packages: tuple[str, ...] = ()
    """From PyPI; none: the TypeScript ADK."""
    words: tuple[str, ...] = ()
    dialect: str = "auto"

    def command(self, agents: Path, port: int) -> list[str]:
        """Return what starts it; install it first, if it is not there."""
        folder, place = FOLDER / self.name, ["--port", str(port), str(agents)]
        if not (folder / ".installed").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            self._install(folder)
            (folder / ".installed").touch()
        if self.packages:
            return [str(folder / "bin" / "adk"), "api_server", *self.words, *place]
        return [str(folder / "node_modules" / ".bin" / "adk"), "api_server", *place]

    def _install(self, folder: Path) -> None:
        if self.packages:
            _run([sys.executable, "-m", "venv", str(folder)], folder)
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            _run([*pip, *self.packages], folder)
        else:
            (folder / "package.json").write_text(json.dumps(PACKAGE))
            _run(["npm", "install", "--no-audit", "--no-fund"], folder)

    def agents(self, folder: Path) -> Path:
        """Return a folder with the app `far`; of TypeScript, beside the packages that it imports."""
        name = "agent.py" if self.packages else "agent.ts"
        base = folder if self.packages else FOLDER / self.name
        app = base / "agents" / "far"
        app.mkdir(parents=True, exist_ok=True)
        shutil.copy(AGENT / name, app / name)
        if self.packages:
            (app / "__init__.py").write_text("from . import agent\n")
        return app.parent


MEMORY = ("--session_service_uri", "memory://", "--artifact_service_uri", "memory://")
KINDS = [
    Kind("python-1", ("google-adk==1.39.1",), MEMORY),
    Kind("python-2", ("google-adk==2.13.0",), MEMORY),
    Kind(
        "agent-engine",
        ("google-adk==2.13.0", "google-cloud-aiplatform[agent_engines]==2.6.0"),
        (*MEMORY, "--gemini_enterprise_app_name=far", "--express_mode"),
        "agent-engine",
    ),
    Kind("typescript"),
]


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}"


class Far:
    """A real server that can be killed and started again on its port."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self.kind = kind
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        self._command = kind.command(kind.agents(folder), self.port)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self._folder / "far.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                env=os.environ | {"GOOGLE_API_KEY": "none-is-needed"},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        while not self._answers():
            time.sleep(0.05)  # between two looks; nothing depends on how long

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "far.log").read_text()[-3000:]
        try:
            return httpx.get(f"{self.url}/list-apps", timeout=PATIENCE).is_success
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """Kill it, with the processes that it started."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.name)
def far(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Far]:
    """A real server."""
    found = Far(request.param, tmp_path_factory.mktemp("far"))
    found.start()
    try:
        yield found
    finally:
        found.kill()


@pytest.fixture(scope="module")
def ours(far: Far, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Our server in front of it."""
    with _fronting(far, tmp_path_factory.mktemp("ours")) as found:
        yield found


@contextmanager
def _fronting(far: Far, folder: Path) -> Iterator[Server]:
    words = ["--remote", f"far={far.url}", "--remote-dialect", f"far={far.kind.dialect}"]
    words += ["--errors", "reference"]
    with serving(folder, *words, agents=None) as found:
        yield found


def _say(http: httpx.Client, text: str, chat: str) -> httpx.Response:
    said = {"id": f"m-{text}", "role": "user", "parts": [{"type": "text", "text": text}]}
    body = {"id": chat, "messages": [said], "trigger": "submit-message"}
    return http.post("/api/chat/far", json=body, headers=JSON)


def _end(http: httpx.Client, chat: str) -> tuple[str, str]:
    """Return how the last run of a chat ended; hold it against the laws, and look at it."""
    runs = http.get("/api/runs", params={"app": "far", "user": "user", "session": chat}).json()
    run = runs[-1]["run"]
    recording = http.get(f"/api/runs/{run}/recording").content
    assert check_laws(list(read_run(recording))) == []
    assert http.get(f"/api/runs/{run}/view").status_code == 200
    for protocol in ("ai-sdk", "ag-ui", "studio", "adk"):
        shown = http.get(f"/api/runs/{run}/stream", params={"as": protocol})
        assert shown.status_code == 200, (protocol, shown.text[:300])
    last = json.loads(recording.strip().split(b"\n")[-1])
    return last["outcome"], last.get("code", "")


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("text", "finished"),
        ("tool", "finished"),
        ("long", "finished"),
        ("approval", "waiting"),
        ("fail", "failed"),
        ("text then fail", "failed"),
    ],
)
def test_a_run(ours: Server, said: str, outcome: str) -> None:
    """Each kind of run arrives, obeys the laws, and is shown in every protocol; failures say nothing."""
    chat = f"chat {said}"
    answer = _say(ours.http, said, chat)
    assert answer.status_code == 200, answer.text
    assert "The model is gone" not in answer.text
    assert _end(ours.http, chat)[0] == outcome
    history = ours.http.get(f"/api/chat/far/{chat}/messages").json()
    assert history[0]["role"] == "user"


@pytest.mark.parametrize("approved", [True, False])
def test_an_approval_is_answered(ours: Server, approved: bool) -> None:
    """The answer reaches the agent, and the conversation goes on."""
    chat = f"approval {approved}"
    assert _say(ours.http, "approval", chat).status_code == 200
    history = ours.http.get(f"/api/chat/far/{chat}/messages").json()
    [part] = [each for each in history[-1]["parts"] if each.get("state") == "approval-requested"]
    part["state"], part["approval"]["approved"] = "approval-responded", approved
    body = {"id": chat, "messages": history, "trigger": "submit-message"}
    answer = ours.http.post("/api/chat/far", json=body, headers=JSON)
    assert answer.status_code == 200, answer.text
    assert _end(ours.http, chat)[0] == "finished"
    assert _say(ours.http, "text", chat).status_code == 200
    assert _end(ours.http, chat)[0] == "finished"


def test_a_client_tool(ours: Server) -> None:
    """The run waits for the client; its result reaches the agent, which goes on."""
    chat = "client tool"
    assert _say(ours.http, "client", chat).status_code == 200
    assert _end(ours.http, chat)[0] == "waiting"
    history = ours.http.get(f"/api/chat/far/{chat}/messages").json()
    [part] = [each for each in history[-1]["parts"] if each["type"] == "tool-locate"]
    part["state"], part["output"] = "output-available", {"city": "Rome"}
    body = {"id": chat, "messages": history, "trigger": "submit-message"}
    answer = ours.http.post("/api/chat/far", json=body, headers=JSON)
    assert answer.status_code == 200, answer.text
    assert "Rome." in answer.text
    assert _end(ours.http, chat)[0] == "finished"


def test_a_fork(far: Far, ours: Server) -> None:
    """A new session with what was said, where the server takes it; elsewhere a refusal with the reason."""
    for said in ("tool", "approval"):
        assert _say(ours.http, said, "forked").status_code == 200
    runs = ours.http.get("/api/runs", params={"app": "far", "session": "forked"}).json()
    message = {"role": "user", "parts": [{"text": "text"}]}
    body = {"at": runs[-1]["cursor"], "newMessage": message}
    answer = ours.http.post(f"/api/runs/{runs[-1]['run']}/fork", json=body)
    if not far.kind.name.startswith("python"):
        assert answer.status_code == 501
        assert ours.http.get("/api/apps/far").json()["lacks"]["fork"] in answer.json()["detail"]
        return
    assert answer.status_code == 200, answer.text
    fork = answer.json()["session"]
    ours.http.get(f"/api/runs/{answer.json()['run']}/stream")
    assert _end(ours.http, fork)[0] == "finished"
    there = ours.http.get(f"/apps/far/users/user/sessions/{fork}").json()
    assert there["state"]["last_city"] == "Rome"
    said = [event["author"] for event in there["events"]]
    assert said.count("user") == 3


async def test_live(far: Far, ours: Server) -> None:
    """A live run through the server's own route, where there is one that we speak."""
    where = f"ws{ours.url.removeprefix('http')}/api/live/far?session=live&modality=text"
    if not far.kind.name.startswith("python"):
        with pytest.raises(InvalidStatus, match="501"):
            await connect(where)
        return
    async with connect(where) as socket:
        client = Client(socket)
        await client.say("hello", "live")
        await client.until_text("Rain in Rome.")
        await client.send("close")
        assert (await client.closed())[0] == 1000
    assert _end(ours.http, "live")[0] == "finished"


def test_the_graph(far: Far, ours: Server) -> None:
    """Drawn where the server describes its agents; elsewhere refused with the reason."""
    answer = ours.http.get("/api/studio/far/graph")
    if far.kind.name == "agent-engine":
        assert answer.status_code == 501
        return
    names = {node["name"] for node in answer.json()["nodes"]}
    assert {"scripted", "get_weather", "send_invoice", "order_print", "locate"} <= names


def test_other_protocols(ours: Server) -> None:
    """AG-UI and Studio run the agent as chat does."""
    asked = {
        "threadId": "thread",
        "runId": "r1",
        "messages": [{"id": "m1", "role": "user", "content": "tool"}],
        **{"state": {}, "tools": [], "context": [], "forwardedProps": {}},
    }
    assert "RUN_FINISHED" in ours.http.post("/api/ag-ui/far", json=asked).text
    said = {"input": "tool", "session_id": "studio"}
    assert "event: end" in ours.http.post("/api/studio/far/stream", json=said).text


def test_a_server_that_dies(far: Far, tmp_path: Path) -> None:
    """Killed in the middle of an answer and started again: the run has an end, the chat goes on."""
    with _fronting(far, tmp_path) as ours:
        said = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "text"}]}
        body = {"id": "cut", "messages": [said], "trigger": "submit-message"}
        with ours.http.stream("POST", "/api/chat/far", json=body, headers=JSON) as answer:
            lines = answer.iter_lines()
            assert any('"text-delta"' in line for line in lines)
            far.kill()
            far.start()
            assert any('"error"' in line for line in lines)
        assert _end(ours.http, "cut") == ("failed", "owner_lost")
        assert _say(ours.http, "tool", "cut").status_code == 200
        assert _end(ours.http, "cut")[0] == "finished"
