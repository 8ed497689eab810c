"""A problem of the chat routes is its text alone, unless the request says that it reads JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from tests.adk.scripted import Scripted
from tests.server.local_server import LocalServer, agent, local_server
from tests.voice.live_run import runner_of, scripted_agent

from adk_prism.errors import LogError
from adk_prism.models import say
from adk_prism.prism import Prism
from adk_prism.server.problems import wants_text
from adk_prism.server.settings import Settings

pytestmark = pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]")

CHAT = "/api/chat/app"
TEXT, JSON = "text/plain; charset=utf-8", "application/problem+json"
MESSAGE = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}


@dataclass(frozen=True)
class Accept:
    id: str
    text: bool
    accept: tuple[str, ...] = ()
    path: str = CHAT
    root: str = ""


ACCEPTS = [
    Accept("nothing said", True),
    Accept("a browser's fetch", True, ("*/*",)),
    Accept("an EventSource", True, ("text/event-stream",)),
    Accept("a browser's address bar", True, ("text/html,application/xhtml+xml,*/*;q=0.8",)),
    Accept("any of application", True, ("application/*",)),
    Accept("JSON", False, ("application/json",)),
    Accept("problems", False, ("application/problem+json",)),
    Accept("JSON among others", False, ("text/event-stream, Application/JSON;q=0.5, */*",)),
    Accept("JSON in a second header", False, ("text/plain", "application/json")),
    Accept("anything but JSON", True, ("application/json;q=0, */*",)),
    Accept("anything but JSON, in decimals", True, ("application/json; Q=0.000",)),
    Accept("a type that begins like it", True, ("application/jsonl",)),
    Accept("no type at all", True, (";;,,=",)),
    Accept("below the chat", True, path=f"{CHAT}/c/messages"),
    Accept("the bare prefix", True, path="/api/chat"),
    Accept("a name that begins like it", False, path="/api/chats"),
    Accept("another route", False, path="/api/runs"),
    Accept("a session of that name", False, path="/apps/api/chat/x"),
    Accept("below a prefix", True, path=f"/agents{CHAT}", root="/agents"),
    Accept("another prefix", False, path=f"/agents{CHAT}"),
]


@pytest.mark.parametrize("case", ACCEPTS, ids=lambda case: case.id)
def test_who_is_told_in_text(case: Accept) -> None:
    """Only under the chat's path, and only who does not name JSON."""
    headers = [(b"accept", value.encode()) for value in case.accept]
    assert wants_text({"path": case.path, "root_path": case.root, "headers": headers}) is case.text


@dataclass(frozen=True)
class Wrong:
    id: str
    status: int
    says: str
    path: str = CHAT
    method: str = "POST"
    request: dict[str, Any] = field(default_factory=dict)


BODY = {"json": {"id": "chat", "messages": [MESSAGE]}}
WRONG = [
    Wrong("another origin", 403, "--", request={"headers": {"origin": "http://evil.example"}}),
    Wrong("another host", 403, "Host", request={"headers": {"host": "evil.example"}}),
    Wrong("no app", 404, "no app", "/api/chat/other", request=BODY),
    Wrong("no route", 404, "must remove the prefix", "/api/chat/a/b/c/d", "GET"),
    Wrong("no method", 405, "Method Not Allowed", method="PUT"),
    Wrong(
        "no JSON",
        400,
        "not valid JSON",
        request={"content": "{", "headers": {"content-type": "application/json"}},
    ),
    Wrong("a form", 415, "Content-Type", request={"data": {"a": "b"}}),
    Wrong("a list", 422, "body: Input should be a valid dictionary", request={"json": []}),
    Wrong("no message", 422, "message", request={"json": {"id": "chat", "messages": []}}),
    Wrong("too large", 413, "--body-limit", request={"content": b"x" * 5000}),
    Wrong("an unknown dialect", 400, "dialect", f"{CHAT}?dialect=99", request=BODY),
    Wrong("a bad name", 400, "session id", request={"json": {"id": "a/b", "messages": [MESSAGE]}}),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.id)
async def test_every_refusal_of_the_chat_can_be_shown(case: Wrong) -> None:
    """The text is the problem's detail; the headers have its type; as JSON it has all fields."""
    async with local_server(agent(Scripted.saying("x")), body_limit=4096) as server:
        told = []
        for accept in ("*/*", "application/json"):
            request = {
                **case.request,
                "headers": {**case.request.get("headers", {}), "accept": accept},
            }
            told.append(await server.client.request(case.method, case.path, **request))
        text, problem = told
        assert [answer.status_code for answer in told] == [case.status] * 2
        assert [answer.headers["content-type"] for answer in told] == [TEXT, JSON]
        assert text.text == problem.json()["detail"]
        assert case.says.replace("--", "") in text.text
        kinds = {answer.headers["x-prism-problem"] for answer in told}
        assert kinds == {problem.json()["type"].rpartition(":")[2]}
        assert text.headers["x-content-type-options"] == "nosniff"
        assert text.headers["x-request-id"]
        assert ("allow" in text.headers) is (case.status == 405)


async def fails(server: LocalServer) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise LogError("The log is away.") from RuntimeError("the cause")

    server.context.chats.shown_turns = broken  # type: ignore[method-assign]


async def test_our_own_fault_has_its_reference() -> None:
    """In the text, since whoever shows it shows nothing else, and in a header."""
    async with local_server(agent(Scripted.saying("x"))) as server:
        await fails(server)
        answer = await server.client.get(f"{CHAT}/c/messages", headers={"accept": "*/*"})
        reference = answer.headers["x-prism-reference"]
        assert answer.status_code == 503
        assert answer.text == f"The log is away. Reference: {reference}."
        assert answer.headers["retry-after"]
        assert reference in {report.correlation for report in server.reports}


async def test_on_this_machine_it_has_its_cause() -> None:
    """With `errors` full: in the text and in the problem; a forwarded request gets the reference."""
    async with local_server(agent(Scripted.saying("x")), errors="full") as server:
        await fails(server)
        for accept in ("*/*", "application/json"):
            answer = await server.client.get(f"{CHAT}/c/messages", headers={"accept": accept})
            assert "RuntimeError: the cause" in answer.text
        other = {"accept": "*/*", "x-forwarded-for": "192.0.2.1"}
        answer = await server.client.get(f"{CHAT}/c/messages", headers=other)
        assert "the cause" not in answer.text


def test_below_a_mount() -> None:
    """The prefix of the program that it is part of makes no difference."""
    prism = Prism(
        {"app": runner_of(scripted_agent(lambda _: say("x"), []))}, Settings(log="memory:")
    )
    host = FastAPI(lifespan=prism.lifespan)
    host.mount("/agents", prism.asgi())
    with TestClient(host, base_url="http://127.0.0.1") as client:
        refused = client.get("/agents/api/chat/none/c/messages")
        assert (refused.status_code, refused.headers["content-type"]) == (404, TEXT)
        assert client.get("/agents/api/runs/none").headers["content-type"] == JSON


async def test_a_known_caller_is_asked_for() -> None:
    """401 as text keeps its challenge."""

    async def nobody(_: Any) -> None:
        return None

    async with local_server(agent(Scripted.saying("x")), authenticate=nobody) as server:
        answer = await server.client.post(CHAT, json={}, headers={"accept": "*/*"})
        assert (answer.status_code, answer.headers["content-type"]) == (401, TEXT)
        assert "www-authenticate" in answer.headers
