"""Whatever is not a success is a problem: typed, safe to show, and found again by the operator."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient, WebSocketDenialResponse

from adk_prism import errors
from adk_prism.errors import Diagnostic
from adk_prism.server.problems import ProblemEdge, add_problems

SECRET = "password=hunter2"


def all_errors() -> list[type[errors.PrismError]]:
    found = [errors.PrismError]
    for kind in found:
        found.extend(kind.__subclasses__())
    return [kind for kind in found[1:] if kind.__module__ == errors.__name__]


async def answer_of(raised: Callable[[], Exception], reports: list[Diagnostic]) -> httpx.Response:
    app = FastAPI()
    add_problems(app, reports.append)
    app.add_middleware(ProblemEdge, report=reports.append)

    @app.get("/")
    async def fail() -> None:
        raise raised()

    transport = httpx.ASGITransport(app, raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        return await client.get("/")


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.__name__)
async def test_each_error_has_its_problem(kind: type[errors.PrismError]) -> None:
    """Type, title, status and the error's own words; a correlation where it is our fault."""
    reports: list[Diagnostic] = []
    answer = await answer_of(lambda: kind("What came, what was expected."), reports)
    problem = answer.json()
    assert answer.status_code == problem["status"] == kind.status
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["type"] == f"urn:adk-prism:problem:{kind('').kind}"
    assert problem["title"] == kind.title
    assert problem["detail"] == "What came, what was expected."
    ours = kind.status >= 500 and kind not in (errors.NotBuilt, errors.Draining)
    assert [report.correlation for report in reports] == ([problem["correlation"]] if ours else [])
    assert ("retry-after" in answer.headers) is (kind.status in (429, 503))


async def test_an_unexpected_error_tells_the_client_nothing() -> None:
    """The client gets an id; the operator finds the cause, with its stack, under it."""
    reports: list[Diagnostic] = []
    answer = await answer_of(lambda: KeyError(SECRET), reports)
    assert answer.status_code == 500
    assert SECRET not in answer.text
    assert "KeyError" not in answer.text
    [report] = reports
    assert answer.json()["correlation"] == report.correlation
    assert SECRET in report.cause
    assert "Traceback" in report.cause


async def test_a_framework_error_keeps_its_status_and_headers() -> None:
    """ADK's clients find `detail`, HTTP's clients the header."""
    answer = await answer_of(
        lambda: HTTPException(401, "Say who you are", {"www-authenticate": "Bearer"}), []
    )
    assert (answer.status_code, answer.json()["detail"]) == (401, "Say who you are")
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_an_error_after_the_first_byte_is_reported() -> None:
    """Nothing can be said to the client any more, but it is not lost."""
    reports: list[Diagnostic] = []
    app = FastAPI()
    app.add_middleware(ProblemEdge, report=reports.append)

    async def broken() -> AsyncIterator[bytes]:
        yield b"first"
        raise KeyError(SECRET)

    @app.get("/")
    async def stream() -> StreamingResponse:
        return StreamingResponse(broken())

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b""}
    await app(scope, receive, send)
    assert SECRET in reports[0].cause
    assert [m["type"] for m in sent].count("http.response.start") == 1


@pytest.mark.parametrize(
    ("accepts", "raised", "code"),
    [
        (False, errors.NotFound("No."), 404),
        (False, KeyError(SECRET), 500),
        (True, errors.NotFound("No."), 1008),
        (True, KeyError(SECRET), 1011),
    ],
)
def test_a_websocket_is_told_too(accepts: bool, raised: Exception, code: int) -> None:
    """Before it is accepted: a problem as the handshake's answer; after: a close with a reason."""
    reports: list[Diagnostic] = []
    app = FastAPI()
    add_problems(app, reports.append)
    app.add_middleware(ProblemEdge, report=reports.append)

    @app.websocket("/")
    async def talk(socket: WebSocket) -> None:
        if accepts:
            await socket.accept()
        raise raised

    client = TestClient(app)
    if accepts:
        with client.websocket_connect("/") as socket, pytest.raises(WebSocketDisconnect) as cut:
            socket.receive_text()
        assert cut.value.code == code
        assert SECRET not in cut.value.reason
    else:
        with pytest.raises(WebSocketDenialResponse) as denied, client.websocket_connect("/"):
            pass
        assert denied.value.status_code == denied.value.json()["status"] == code
    assert len(reports) == isinstance(raised, KeyError)


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [
        ("/apps/helper/users/u/sessions", {"state": 1}, "body.state"),
        (
            "/apps/helper/users/u/sessions",
            {"events": [{"timestamp": "x"}]},
            "body.events.0.timestamp",
        ),
        ("/apps/helper/users/u/sessions/s/artifacts", {"filename": 1}, "body.filename"),
    ],
)
async def test_a_wrong_shape_says_where(
    client: httpx.AsyncClient, path: str, body: Any, where: str
) -> None:
    """422 with the places, a bounded number of them, and never the input."""
    answer = await client.post(path, json=body)
    assert answer.status_code == 422
    problem = answer.json()
    assert where in {mistake["loc"] for mistake in problem["errors"]}
    # As FastAPI lists them, for clients of ADK's own server.
    listed = {".".join(map(str, mistake["loc"])): mistake for mistake in problem["detail"]}
    assert listed[where].keys() == {"loc", "msg", "type"}
    assert {"type", "title", "status"} < problem.keys()
    assert len(problem["errors"]) <= 10


async def test_unknown_routes_and_methods_are_problems(client: httpx.AsyncClient) -> None:
    """Also what no route answers."""
    missing = await client.get("/nothing/here")
    wrong = await client.put("/health")
    assert (missing.status_code, wrong.status_code) == (404, 405)
    for answer in (missing, wrong):
        assert answer.headers["content-type"] == "application/problem+json"
    assert wrong.headers["allow"] == "GET"
