"""Full texts of errors: kept beside the log, shown to who is at this machine, and to nobody else."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from tests.adk.scripted import Scripted
from tests.patience import PATIENCE
from tests.security.people import ANN, ROOT, headers, token_file
from tests.voice.live_run import runner_of, scripted_agent
from tests.voice.served import Served, served
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from adk_prism.errors import Diagnostic
from adk_prism.log.entry import RunId
from adk_prism.server.identity.caller import SCOPE_KEY, Anyone, Caller, Guest, Principal
from adk_prism.server.observability import error_rule
from adk_prism.server.problems import LONGEST_TEXT, LONGEST_TRACE, MOST_TEXTS, ErrorTexts
from adk_prism.server.settings import Settings

pytestmark = pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]")

CAUSE = "No API key was provided: set GOOGLE_API_KEY"
SECRET = "a-very-secret-value-of-this-process"
FORWARDED = {"x-forwarded-for": "192.0.2.7"}
Json = dict[str, Any]

TRACE = f"""Traceback (most recent call last):
  File "{__file__}", line 7, in agent
    raise ValueError("no key")
  File "{asyncio.__file__}", line 3, in run
    inside()
ValueError: no key"""

# --------------------------------------------------------------------------- whom the rule is for


@dataclass(frozen=True)
class Rule:
    id: str
    settings: Json
    rule: str
    listens: bool = True


RULES = [
    Rule("as it comes", {}, "unforwarded"),
    Rule("pages of this machine", {"dev": True}, "unforwarded"),
    Rule("other machines", {"host": "0.0.0.0", "insecure": True}, "reference"),
    Rule("identity", {"tokens": "tokens.json"}, "reference"),
    Rule("identity by a proxy", {"proxy_user_header": "x-user"}, "reference"),
    Rule("a public address", {"public_url": "https://agents.example"}, "reference"),
    Rule("another origin", {"allow_origin": ("http://localhost:3000",)}, "reference"),
    Rule("another name", {"allow_host": ("agents.example",)}, "reference"),
    Rule("a proxy that takes a prefix off", {"root_path": "/agents"}, "reference"),
    Rule("a proxy that is trusted", {"trusted_proxy": ("127.0.0.1",)}, "reference"),
    Rule("part of a program, which may listen anywhere", {}, "reference", listens=False),
    Rule("said", {"errors": "full", "public_url": "https://agents.example"}, "full"),
    Rule("said in a program", {"errors": "full"}, "full", listens=False),
    Rule("refused", {"errors": "reference"}, "reference"),
]


@pytest.mark.parametrize("case", RULES, ids=lambda case: case.id)
def test_who_may_see_them(case: Rule) -> None:
    """Unless it is said, only where nothing says that others call."""
    assert error_rule(Settings(**case.settings), listens=case.listens) == case.rule


SOMEBODY = Anyone("127.0.0.1")


@dataclass(frozen=True)
class Asked:
    id: str
    shown: str
    """Under which rules: `both`, `full` or `never`."""
    headers: dict[str, str] = field(default_factory=dict)
    scope: Json = field(default_factory=dict)
    caller: Caller | None = SOMEBODY


ELSEWHERE = "192.0.2.7"
ASKED = [
    Asked("from this machine", "both"),
    Asked("by its name", "both", {"host": "localhost:8000"}),
    Asked(
        "over IPv6", "both", {"host": "[::1]:8000"}, {"client": ("::1", 1), "server": ("::1", 1)}
    ),
    Asked("its own page", "both", {"origin": "http://127.0.0.1:8000"}),
    Asked("a page of this machine", "both", {"origin": "http://localhost:3000"}),
    Asked("a proxy of this machine", "full", {"x-forwarded-host": "localhost:3000"}),
    Asked("with its address", "full", {"x-forwarded-for": "127.0.0.1, ::1"}),
    Asked("as Node writes it", "full", {"x-forwarded-for": "::ffff:127.0.0.1"}),
    Asked("and its scheme", "full", {"x-forwarded-proto": "http"}),
    Asked("another address", "never", scope={"client": (ELSEWHERE, 1)}),
    Asked("another address, rewritten", "never", scope={"adk_prism.peer": (ELSEWHERE, 1)}),
    Asked("no address", "never", scope={"client": None}),
    Asked("came in elsewhere", "never", scope={"server": (ELSEWHERE, 8000)}),
    Asked("came in by a Unix socket", "never", scope={"server": None}),
    Asked("another host", "never", {"host": "agents.example"}),
    Asked("a name that begins like us", "never", {"host": "127.0.0.1.evil.example"}),
    Asked("no host", "never", {"host": ""}),
    Asked("another page", "never", {"origin": "https://agents.example"}),
    Asked("a page that hides", "never", {"origin": "null"}),
    Asked("a link from elsewhere", "never", {"referer": "https://agents.example/chat"}),
    Asked("nginx as it comes", "never", scope={"http_version": "1.0"}),
    Asked("forwarded for another", "never", FORWARDED),
    Asked("forwarded for us and another", "never", {"x-forwarded-for": f"127.0.0.1, {ELSEWHERE}"}),
    Asked("forwarded for nobody", "never", {"x-forwarded-for": "unknown"}),
    Asked("another forwarded host", "never", {"x-forwarded-host": "agents.example"}),
    Asked("Forwarded", "never", {"forwarded": "for=127.0.0.1"}),
    Asked("Via", "never", {"via": "1.1 proxy"}),
    Asked("X-Real-Ip", "never", {"x-real-ip": ELSEWHERE}),
    Asked("an unknown X-Forwarded header", "never", {"x-forwarded-thing": "1"}),
    Asked("Cloudflare's", "never", {"cf-connecting-ip": "127.0.0.1"}),
    Asked("an administrator", "both", caller=Principal("root", admin=True)),
    Asked("a user", "never", caller=Principal("ann")),
    Asked("a guest of a shared link", "never", caller=Guest(RunId("run-1"), "link", 1.0)),
    Asked("nobody has looked who it is", "never", caller=None),
]


def scope_of(asked: Asked) -> Json:
    named = {"host": "127.0.0.1:8000", **asked.headers}
    scope = {
        "type": "http",
        "http_version": "1.1",
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 1),
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        **asked.scope,
    }
    return scope if asked.caller is None else {**scope, SCOPE_KEY: asked.caller}


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.id)
def test_which_requests_see_them(asked: Asked) -> None:
    """Every sign has to say that it is this machine; with `--errors full` a proxy on it may be between."""
    told = "The run failed (ValueError). Reference: 0123456789ab."
    for rule in ("reference", "unforwarded", "full"):
        texts = ErrorTexts(rule)
        texts.keep(Diagnostic(kind="k", correlation="0123456789ab", message=CAUSE, cause=TRACE))
        shown = asked.shown == "both" or asked.shown == rule
        expected = f"{CAUSE} Reference: 0123456789ab." if shown and rule != "reference" else told
        assert texts.text(scope_of(asked), told) == expected, rule
        trace = texts.trace(scope_of(asked), "0123456789ab")
        assert (trace is not None) is (expected != told), rule


def test_what_is_kept_is_bounded() -> None:
    """So many texts, each so long; the first text of a reference stays; without one nothing is kept."""
    texts, scope = ErrorTexts("full"), scope_of(ASKED[0])

    def shown(number: int) -> str:
        return texts.text(scope, f"x Reference: {number:012x}.")

    for number in range(MOST_TEXTS + 1):
        texts.keep(Diagnostic(kind="k", correlation=f"{number:012x}", message=f"text {number}"))
    texts.keep(Diagnostic(kind="k", correlation=f"{1:012x}", message="another"))
    texts.keep(Diagnostic(kind="k", message="of nothing"))
    assert shown(0).startswith("x "), "the oldest is gone"
    assert shown(1).startswith("text 1 ")
    texts.keep(Diagnostic(kind="k", correlation="f" * 12, message="y" * 10 * LONGEST_TEXT))
    assert len(texts.text(scope, f"Reference: {'f' * 12}.")) < LONGEST_TEXT + 50


# --------------------------------------------------------------------------- what is sent

MESSAGE = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
SAID = {"appName": "app", "userId": "user", "sessionId": "adk"}
SAID |= {"newMessage": {"role": "user", "parts": [{"text": "hello"}]}}
CHAT = {"id": "chat", "messages": [MESSAGE]}
AG_UI = {"threadId": "ag-ui", "runId": "r1"}
AG_UI |= {"messages": [{"id": "m", "role": "user", "content": "hello"}]}
REQUESTS: dict[str, tuple[str, Json]] = {
    "adk": ("/run", SAID),
    "adk sse": ("/run_sse", SAID),
    "ai-sdk": ("/api/chat/app", CHAT),
    "ai-sdk 7": ("/api/chat/app?dialect=7", CHAT),
    "studio": ("/api/studio/app/stream", {"input": "hello", "session_id": "studio"}),
    "ag-ui": ("/api/ag-ui/app", AG_UI),
}


@asynccontextmanager
async def failing(**settings: Any) -> AsyncIterator[tuple[Served, httpx.AsyncClient]]:
    """Serve an agent whose model raises."""
    runner = Runner(
        app_name="app",
        agent=LlmAgent(
            name="agent", model=Scripted.saying(*[ValueError(f"{CAUSE} or {SECRET}")] * 3)
        ),
        session_service=InMemorySessionService(),
    )
    async with (
        served(runner, **({"errors": "full"} | settings)) as server,
        httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) as client,
    ):
        yield server, client


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_failed_run_says_why_on_this_machine(name: str) -> None:
    """In every protocol, at once and when it is read again; with its reference, without secrets."""
    path, body = REQUESTS[name]
    async with failing() as (_, client):
        await client.post("/apps/app/users/user/sessions/adk")
        answer = await client.post(path, json=body)
        again = f"/api/runs/{answer.headers['x-prism-run']}/stream?as={name.partition(' ')[0]}"
        for told in (answer.text, (await client.get(again)).text):
            assert f"{CAUSE} or [redacted]" in told
            assert "ValueError: ValueError" not in told
            assert "The run failed (" not in told
            assert SECRET not in told
        for told in (
            (await client.post(path, json=body, headers=FORWARDED)).text,
            (await client.get(again, headers=FORWARDED)).text,
        ):
            assert CAUSE not in told
            assert "ValueError" in told


def test_a_traceback_names_the_line_of_the_app() -> None:
    """The innermost line that is not a library's; of a long one the end is kept."""
    texts, scope = ErrorTexts("full"), scope_of(ASKED[0])
    texts.keep(Diagnostic(kind="agent error", correlation="a" * 12, message="m", cause="no stack"))
    assert texts.trace(scope, "a" * 12) is None
    long = f"{'x' * LONGEST_TRACE}\n{TRACE}"
    for cause in (long, "Traceback (most recent call last): another"):
        texts.keep(Diagnostic(kind="run failed", correlation="a" * 12, message="n", cause=cause))
    trace = texts.trace(scope, "a" * 12)
    assert trace is not None
    assert trace["text"] == "m"
    assert trace["place"].endswith("test_error_texts.py, line 7")
    assert trace["source"] == 'raise ValueError("no key")'
    assert trace["traceback"] == long[-LONGEST_TRACE:]


async def test_the_traceback_of_a_failed_run_is_for_this_machine() -> None:
    """By the reference in the text; without secrets; not through a proxy, and not in what is passed on."""
    async with failing() as (_, client):
        answer = await client.post("/api/chat/app", json=CHAT)
        run = answer.headers["x-prism-run"]
        recording = (await client.get(f"/api/runs/{run}/recording")).text
        (reference,) = set(re.findall(r"Reference: ([0-9a-f]{12})", recording))
        found = (await client.get(f"/api/errors/{reference}")).json()
        assert re.search(r"scripted\.py, line \d+$", found["place"])
        assert found["source"] == "raise turn"
        assert found["traceback"].endswith(f"{CAUSE} or [redacted]")
        hidden = await client.get(f"/api/errors/{reference}", headers=FORWARDED)
        assert (hidden.status_code, hidden.content) == (204, b"")
        assert (await client.get("/api/errors/0123456789ab")).status_code == 204
        for kept in ("recording", "film", "view"):
            assert "scripted.py" not in (await client.get(f"/api/runs/{run}/{kept}")).text


async def test_two_who_watch_one_run_see_their_own_text() -> None:
    """While it goes on: bytes are shared among those who see the same, and positions are the same for all."""
    gate = asyncio.Event()

    async def fail(**_: Any) -> None:
        await gate.wait()
        raise ValueError(CAUSE)

    runner = Runner(
        app_name="app",
        agent=LlmAgent(name="agent", model=Scripted.saying("x"), before_model_callback=fail),
        session_service=InMemorySessionService(),
    )
    async with (
        served(runner, errors="full") as server,
        httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) as client,
        asyncio.TaskGroup() as tasks,
    ):
        started = tasks.create_task(client.post("/api/chat/app", json=CHAT))
        follower = server.context.streams.broadcaster
        await until(lambda: follower.viewers()["ai-sdk"] == 1)
        [run] = await server.context.log.list()
        path = f"/api/runs/{run.run}/stream?as=ai-sdk"
        watching = [
            tasks.create_task(client.get(path, headers=sent))
            for sent in ({}, FORWARDED, {}, FORWARDED)
        ]
        await until(lambda: follower.viewers()["ai-sdk"] == 5)
        gate.set()
        full, safe, *others = [(await one).text.splitlines() for one in watching]
        assert others == [full, safe]
        assert (await started).text.splitlines() == full
    places = [[line for line in lines if line[:3] == "id:"] for lines in (full, safe)]
    assert places[0] == places[1]
    differ = [pair for pair in zip(full, safe, strict=True) if pair[0] != pair[1]]
    assert differ
    assert all(CAUSE in one and CAUSE not in other for one, other in differ)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0)


KEPT = ("recording", "film", "view", "share")


async def test_nothing_that_is_kept_or_handed_on_has_it() -> None:
    """Log, recording, film, view, entries, shared file, fork, session: the reference alone."""
    async with failing() as (server, client):
        answer = await client.post("/api/chat/app", json=CHAT)
        assert CAUSE in answer.text
        run = answer.headers["x-prism-run"]
        cursor = (await client.get(f"/api/runs/{run}")).json()["cursor"]
        forked = await client.post(f"/api/runs/{run}/fork", json={"at": 1})
        paths = [
            *(f"/api/runs/{run}/{what}" for what in KEPT),
            *(f"/api/runs/{run}/entries/{entry + 1}" for entry in range(cursor)),
            f"/api/runs/{run}",
            "/api/runs",
            "/api/conversations",
            "/apps/app/users/user/sessions/chat",
            f"/api/runs/{forked.json()['run']}/recording",
        ]
        for path in paths:
            told = await client.get(path)
            assert told.status_code == 200, path
            assert CAUSE not in told.text, path
        for summary in await server.context.log.list():
            async for batch in server.context.log.read(summary.run):
                assert all(CAUSE not in str(entry) for entry in batch)


async def test_a_chat_that_is_loaded_again_says_why() -> None:
    """The message keeps the failure, as its reader may see it."""
    async with failing() as (_, client):
        await client.post("/api/chat/app", json=CHAT)
        path = "/api/chat/app/chat/messages"
        failures = [
            (await client.get(path, headers=sent)).json()[-1]["metadata"]["failure"]
            for sent in ({}, FORWARDED)
        ]
        assert CAUSE in failures[0]
        assert CAUSE not in failures[1]


@pytest.mark.parametrize("sent", [{}, FORWARDED], ids=["here", "forwarded"])
async def test_over_the_chat_socket(sent: dict[str, str]) -> None:
    """A socket is one client's own."""
    async with failing() as (server, _):
        url = server.url.replace("http", "ws") + "/api/chat/app/socket"
        async with connect(url, additional_headers=sent) as socket:
            frame = {"type": "send", "requestId": "r", "id": "chat", "messages": [MESSAGE]}
            await socket.send(json.dumps(frame))
            told = ""
            while '"end"' not in told:
                told += str(await socket.recv())
        assert (CAUSE in told) is not bool(sent)


@pytest.mark.parametrize("sent", [{}, FORWARDED], ids=["here", "forwarded"])
async def test_over_the_live_socket(sent: dict[str, str]) -> None:
    """A live run says why it failed before it closes."""

    def broken(_: Any) -> Any:
        raise RuntimeError(CAUSE)

    async with served(runner_of(scripted_agent(broken, [])), errors="full") as server:
        async with server.live(additional_headers=sent) as client:
            await client.say("hello")
            await client.closed()
        assert (CAUSE in json.dumps(client.frames)) is not bool(sent)


@pytest.mark.parametrize("sent", [{}, FORWARDED], ids=["here", "forwarded"])
async def test_over_adks_live_socket(sent: dict[str, str]) -> None:
    """The same for ADK's own clients."""

    def broken(_: Any) -> Any:
        raise RuntimeError(CAUSE)

    async with served(runner_of(scripted_agent(broken, [])), errors="full") as server:
        async with httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) as client:
            await client.post("/apps/app/users/user/sessions/s1")
        query = "app_name=app&user_id=user&session_id=s1&modalities=TEXT"
        url = f"{server.url.replace('http', 'ws')}/run_live?{query}"
        told = ""
        async with connect(url, additional_headers=sent) as socket:
            said = {"content": {"role": "user", "parts": [{"text": "hello"}]}}
            await socket.send(json.dumps(said))
            async for frame in socket_frames(socket):
                told += frame
        assert "RuntimeError" in told
        assert (CAUSE in told) is not bool(sent)


async def socket_frames(socket: ClientConnection) -> AsyncIterator[str]:
    with suppress(ConnectionClosed):
        while True:
            yield str(await socket.recv())


async def test_where_callers_are_known_only_administrators_see_it(tmp_path: Path) -> None:
    """Also with `--errors full`, and on this machine."""
    async with failing(tokens=token_file(tmp_path)) as (_, client):
        for user, shown in ((ANN, False), (ROOT, True)):
            answer = await client.post("/api/chat/app", json=CHAT, headers=headers(user))
            assert answer.status_code == 200, answer.text
            assert (CAUSE in answer.text) is shown, user


async def test_without_the_setting_a_program_shows_references() -> None:
    """A program that the server is part of may listen anywhere."""
    async with failing(errors="") as (_, client):
        assert CAUSE not in (await client.post("/api/chat/app", json=CHAT)).text
