"""Values that no agent should make, in tools, state, requests and uploads: every reader answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import ToolContext
from google.genai import types
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.adk.scripted import Scripted, call
from tests.server.local_server import APP, SESSION, USER, LocalServer, agent, local_server

from adk_prism.features.captures import routes as uploaded_runs
from adk_prism.log import hooks
from adk_prism.log.sqlite.store import SqliteLog

Json = dict[str, Any]


def nested(depth: int) -> Any:
    """Return lists and objects in each other."""
    value: Any = "core"
    for level in range(depth):
        value = [value] if level % 2 else {"in": value}
    return value


def circular() -> Json:
    """Return an object that holds itself."""
    value: Json = {"name": "me"}
    value["self"] = value
    return value


class Opaque:
    """A class without a JSON form."""

    def __repr__(self) -> str:
        raise RuntimeError("not even this")


VALUES: dict[str, Callable[[], Any]] = {
    "plain": lambda: {"a": 1},
    "nested 110": lambda: nested(110),
    "nested 200": lambda: nested(200),
    "nested 250": lambda: nested(250),
    "nested 400": lambda: nested(400),
    "nested 5000": lambda: nested(5000),
    "number of 400 digits": lambda: 10**399,
    "number of 6001 digits": lambda: 10**6000,
    "negative number": lambda: -(10**6000),
    "64 bits and one": lambda: 2**64,
    "infinity": lambda: [float("inf"), float("-inf"), float("nan"), 1e308, 5e-324],
    "lone surrogate": lambda: {"\ud800": "\udfff", "pair": "\ud83d\ude00"},
    "NUL": lambda: {"a\0b": "\0"},
    "empty key": lambda: {"": {"": 1}},
    "prototype": lambda: {"__proto__": 1, "constructor": {"prototype": 2}, "hasOwnProperty": None},
    "keys that are no text": lambda: {1: "a", None: "b", (1, 2): "c", 1.5: "d"},
    "cycle": circular,
    "bytes": lambda: {"b": b"\xff\x00", "a": bytearray(b"x")},
    "set": lambda: {"s": {1, 2}, "f": frozenset("a")},
    "opaque": lambda: {"o": Opaque(), "t": Opaque, "e": Ellipsis},
    "wide": lambda: {f"key-{n}": n for n in range(20_000)},
    "many small": lambda: [[] for _ in range(10_000)],
    "long text": lambda: "x" * 1_200_000,
    "controls": lambda: "".join(map(chr, [*range(32), 0x7F, 0x85, 0x2028, 0x2029, 0xFEFF])),
}

SERVICES: dict[str, Callable[[Path], BaseSessionService]] = {
    "memory": lambda _: InMemorySessionService(),
    "sqlite": lambda folder: SqliteSessionService(str(folder / "sessions.db")),
    "database": lambda folder: DatabaseSessionService(f"sqlite+aiosqlite:///{folder}/sessions.db"),
}


def answering(make: Callable[[], Any]) -> Any:
    def answer() -> Any:
        """Return the value."""
        return {"value": make()}

    return answer


def setting(make: Callable[[], Any]) -> Any:
    def keep(tool_context: ToolContext) -> Json:
        """Put the value into the state."""
        tool_context.state["odd"] = make()
        tool_context.state["user:odd"] = make()
        tool_context.state["fine"] = "kept"
        return {"done": True}

    return keep


async def read_everything(server: LocalServer, run: str, session: str = SESSION) -> None:
    """Ask every reader for a run and its conversation. Each answers, and none with a failure."""
    chat, adk = f"/api/chat/{APP}/{session}", f"/apps/{APP}/users/{USER}/sessions"
    runs = f"/api/runs/{run}"
    paths = [
        f"{chat}/messages",
        f"{chat}/versions",
        f"{chat}/stream",
        f"{adk}/{session}",
        adk,
        runs,
        *(f"{runs}/stream?as={name}" for name in ("adk", "ai-sdk", "ag-ui", "studio")),
        f"{runs}/view",
        f"{runs}/film",
        f"{runs}/recording",
        f"{runs}/share",
        f"{runs}/evalcase",
        f"{runs}/model-calls",
        f"{runs}/feedback",
        "/api/runs?q=kept",
        "/api/runs?q=core",
        f"/api/compare?a={run}&b={run}",
        "/api/conversations",
        f"/api/copilotkit/threads/{session}/messages?agentId={APP}",
        f"/api/copilotkit/threads/{session}/events?agentId={APP}",
        f"/api/copilotkit/threads/{session}/state?agentId={APP}",
        f"/debug/trace/session/{session}",
    ]
    for path in paths:
        answer = await server.client.get(path)
        assert answer.status_code < 500, (path, answer.text[:300])
        if path.startswith(runs) and "model-calls" not in path:
            assert answer.status_code in (200, 409, 422), (
                path,
                answer.status_code,
                answer.text[:300],
            )
    last = (await server.client.get(runs)).json()["cursor"]
    for cursor in range(1, last + 1):
        for path in (f"{runs}/entries/{cursor}", f"{runs}/view?at={cursor}"):
            answer = await server.client.get(path)
            assert answer.status_code == 200, (path, answer.text[:300])
    connect = {
        "threadId": session, "runId": "r", "messages": [], "tools": [], "context": [],
        "state": {}, "forwardedProps": {},
    }  # fmt: skip
    answer = await server.client.post(f"/api/ag-ui/{APP}/connect", json=connect)
    assert answer.status_code < 500, answer.text[:300]


async def go_on(server: LocalServer, run: str, session: str = SESSION) -> None:
    """Send the next message, fork, rerun, upload the recording: what a person does next."""
    body = {"id": session, "messages": [message("and then?")]}
    answer = await server.client.post(f"/api/chat/{APP}", json=body)
    assert answer.status_code == 200, answer.text[:300]
    assert '"type":"error"' not in answer.text, answer.text[-500:]
    last = (await server.client.get(f"/api/runs/{run}")).json()["cursor"]
    for at in (2, last):
        answer = await server.client.post(
            f"/api/runs/{run}/fork", json={"at": at, "message": {"parts": [{"text": "again"}]}}
        )
        assert answer.status_code < 500, answer.text[:300]
    recording = await server.client.get(f"/api/runs/{run}/recording")
    assert recording.status_code == 200, recording.text[:300]
    for line in recording.content.splitlines():
        json.loads(line)
    sent = await server.client.post(
        "/api/recordings",
        content=recording.content,
        headers={"content-type": "application/jsonl"},
    )
    assert sent.status_code == 201, sent.text[:300]
    await read_everything(server, sent.headers["x-prism-run"])


def message(text: str) -> Json:
    return {"id": f"m-{text}", "role": "user", "parts": [{"type": "text", "text": text}]}


@pytest.mark.parametrize("place", ["answer", "keep"])
@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("name", VALUES)
async def test_an_odd_value_leaves_the_conversation_readable(
    name: str, service: str, place: str, tmp_path: Path
) -> None:
    """Whatever a tool answers, or puts into the state: everything can be read, and the chat goes on."""
    tool = (answering if place == "answer" else setting)(VALUES[name])
    model = Scripted.saying(call(place, "c1"), "One.", "Two.", "Three.", "Four.")
    sessions = SERVICES[service](tmp_path)
    log = SqliteLog(tmp_path / "runs.db")
    root = agent(model, tools=[tool])
    async with local_server(root, service=sessions, log=log) as server:
        run = await server.say("do it")
        await read_everything(server, run)
        await go_on(server, run)
        await read_everything(server, run)
    if isinstance(sessions, DatabaseSessionService):
        await sessions.close()


# ------------------------------------------------------------------ whatever comes to a fuzzer's mind

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.builds(lambda: 10**5000)
    | st.sampled_from([-(2**64), 2**63, 1e308, float("inf"), float("nan"), -0.0])
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["\ud800", "\0", "\u2028", "x" * 70_000, "[cut: nested too deep]"])
    | st.binary(max_size=8)
)
_KEYS = st.text(max_size=5) | st.sampled_from(
    (
        *("", "__proto__", "constructor", "prototype", "error", "result", "user:a", "temp:b"),
        *("parts", "functionCall", "partial", "\ud800", "$defs", "proof_layer", "type"),
    )
)
_ODD = st.recursive(
    _SCALARS | st.sampled_from([60, 99, 130, 230, 700, 3000]).map(nested) | st.builds(circular),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(_KEYS, inner, max_size=4)
        | st.sets(st.integers() | st.text(max_size=3), max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=12,
)


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(answer=_ODD, state=_ODD)
async def test_whatever_agents_make_is_readable(answer: Any, state: Any) -> None:
    """A tool's answer and state that were made at random, against every reader."""
    model = Scripted.saying(call("answer", "c1"), call("keep", "c2"), "One.", "Two.", "Three.")
    tools = [answering(lambda: answer), setting(lambda: state)]
    async with local_server(agent(model, tools=tools)) as server:
        run = await server.say("do it")
        await read_everything(server, run)
        await go_on(server, run)


def odd_json(value: Any) -> str:
    """Write a value as Python does, which knows NaN; a deep one as far as it can."""
    try:
        return json.dumps(value, default=repr, skipkeys=True)
    except (RecursionError, ValueError):
        return "[" * 300 + "1" * 6001 + "]" * 300


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(_ODD, _ODD), min_size=1, max_size=3), st.data())
async def test_whatever_is_uploaded_is_readable(values: list[tuple[Any, Any]], data: Any) -> None:
    """Captures with values made at random, in any field: refused with a reason, or readable everywhere."""
    async with local_server(agent(Scripted.saying("One."))) as server:
        lines = [
            _event(n, data.draw(_PLACES), odd_json(a), odd_json(b))
            for n, (a, b) in enumerate(values)
        ]
        body = "\n".join(lines).encode(errors="surrogatepass")
        sent = await server.client.post(
            "/api/recordings", content=body, headers={"content-type": "application/jsonl"}
        )
        assert sent.status_code in (201, 422), sent.text[:300]
        if sent.status_code == 201:
            await read_everything(server, sent.headers["x-prism-run"])


_PLACES = st.sampled_from(
    [
        '"content":{"parts":[{"functionCall":{"id":"c","name":"f","args":{"a":%s}}},'
        '{"functionResponse":{"id":"c","name":"f","response":{"b":%s}}}]}',
        '"actions":{"stateDelta":{"a":%s,"b":%s}}',
        '"output":%s,"customMetadata":{"b":%s}',
        '"content":{"role":"model","parts":[{"text":%s},{"inlineData":%s}]}',
        '"content":%s,"actions":%s',
        '"usageMetadata":%s,"groundingMetadata":%s',
        '"errorCode":%s,"errorMessage":%s',
        '"partial":true,"content":{"parts":[{"text":"a","x":%s}]},"nodeInfo":%s',
        '"longRunningToolIds":%s,"branch":%s',
    ]
)


def _event(number: int, place: str, first: str, second: str) -> str:
    fields = place % (first, second)
    return f'{{"id":"e{number}","invocationId":"i","author":"agent","timestamp":1.5,{fields}}}'


# ------------------------------------------------------------------ what is stored already


@pytest.mark.parametrize("depth", [150, 199, 230, 250])
@pytest.mark.parametrize("digits", [10, 6001])
async def test_a_log_of_before_is_readable(
    depth: int, digits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries that were stored without bounds: each is shown as far as it can be, and all others whole."""
    for name in ("bound_json", "bound_structure"):
        monkeypatch.setattr(hooks, name, lambda value: value)
        monkeypatch.setattr(uploaded_runs, "bound_json", lambda value: value)
    odd = "[" * depth + "9" * digits + "]" * depth
    places = (
        '"actions":{"stateDelta":{"a":%s,"b":%s}}',
        '"content":{"parts":[{"functionResponse":{"id":"c","name":"f","response":{"a":%s,"b":%s}}}]}',
        '"output":%s,"customMetadata":{"b":%s}',
        '"content":{"parts":[{"functionCall":{"id":"d","name":"f","args":{"a":%s,"b":%s}}}]}',
    )
    lines = [_event(n, place, odd, odd) for n, place in enumerate(places)]
    lines.append(_event(9, '"content":{"parts":[{"text":%s},{"text":%s}]}', '"kept"', '"too"'))
    async with local_server(agent(Scripted.saying("One."))) as server:
        sent = await server.client.post(
            "/api/recordings",
            content="\n".join(lines),
            headers={"content-type": "application/jsonl"},
        )
        assert sent.status_code == 201, sent.text[:300]
        run = sent.headers["x-prism-run"]
        await read_everything(server, run)
        shown = (await server.client.get(f"/api/runs/{run}/stream?as=ai-sdk")).text
        assert "kept" in shown
        assert "[cut: " in shown


@pytest.mark.parametrize("value", [nested(230), 10**6000], ids=["deep", "digits"])
async def test_a_session_that_adk_cannot_read_is_mended(value: Any, tmp_path: Path) -> None:
    """ADK's SQLite service writes what it cannot read. The chat goes on, and says what was cut."""
    sessions = SqliteSessionService(str(tmp_path / "sessions.db"))
    session = await sessions.create_session(app_name=APP, user_id=USER, session_id=SESSION)
    said = types.Content(role="user", parts=[types.Part(text="hello")])
    await sessions.append_event(session, Event(author="user", invocation_id="i", content=said))
    response = types.FunctionResponse(id="c", name="f", response={"a": value, "fine": "kept"})
    content = types.Content(role="user", parts=[types.Part(function_response=response)])
    await sessions.append_event(session, Event(author="agent", invocation_id="i", content=content))
    with pytest.raises(ValueError, match="JSON"):
        await sessions.get_session(app_name=APP, user_id=USER, session_id=SESSION)
    async with local_server(agent(Scripted.saying("One.")), service=sessions) as server:
        answer = await server.client.get(f"/apps/{APP}/users/{USER}/sessions/{SESSION}")
        assert answer.status_code == 200, answer.text[:300]
        assert "[cut: " in answer.text
        assert '"fine":"kept"' in answer.text
        await read_everything(server, await server.say("and then?"))
