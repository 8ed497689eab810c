"""Every route there is, and what of a user's it can reach.

A route that is not here fails `test_isolation`: whoever adds one says whose things it gives out, and how
a request names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI
from tests.security.people import SECRET, UPLOAD, Belongings, said
from tests.server.local_server import APP

Json = dict[str, Any]


@dataclass(frozen=True)
class Open:
    """Anybody may ask: it tells nothing of anyone."""

    path: str


@dataclass(frozen=True)
class Common:
    """Whoever is known may ask: it is the same for everybody."""

    path: str
    body: Json | None = None
    status: int = 200


@dataclass(frozen=True)
class Operated:
    """It tells of everybody: for administrators, and not there for others."""

    path: str
    status: int = 200


@dataclass(frozen=True)
class Owned:
    """It names something of one user's."""

    path: str
    body: Callable[[Belongings], Json] | None = None
    headers: Callable[[Belongings], dict[str, str]] = field(default=lambda _: {})
    status: tuple[int, ...] = (200,)
    """What the owner gets."""


@dataclass(frozen=True)
class Listed:
    """A list, of the caller's own things only."""

    path: str
    tells: str = SECRET
    """What of Bob's is in it, where it does not name his run."""


@dataclass(frozen=True)
class Taken:
    """It takes something in, which is the caller's then."""

    path: str


@dataclass(frozen=True)
class Socket:
    """A WebSocket; how it names a user is tested by itself."""

    path: str


Row = Open | Common | Operated | Owned | Listed | Taken | Socket

_ADK = f"/apps/{APP}/users/{{user}}/sessions"
_ONE = f"{_ADK}/{{session}}"
_ART = f"{_ONE}/artifacts"
_RUN = "/api/runs/{run}"
_UPLOAD = f"/api/uploads/{APP}/{{upload}}"
_TRACE = f"/dev/apps/{APP}/debug/trace"
_KIT = "/api/copilotkit"
_KIT_AGENT = f"{_KIT}/agent/{APP}"
_KIT_THREAD = f"{_KIT}/threads/{{session}}"


def _chat(bobs: Belongings) -> Json:
    message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
    return {"id": bobs.session, "userId": bobs.user, "messages": [message]}


def _agent(bobs: Belongings) -> Json:
    message = {"id": "m2", "role": "user", "content": "hello"}
    return {"threadId": bobs.session, "runId": "r1", "messages": [message]}


def _agent_run(bobs: Belongings) -> Json:
    return {"method": "agent/run", "params": {"agentId": APP}, "body": _agent(bobs)}


def _tus(_: Belongings) -> dict[str, str]:
    """Of a request that adds nothing to a file of an app; Bob's file is of none."""
    offset, piece = str(len(SECRET)), "application/offset+octet-stream"
    return {"tus-resumable": "1.0.0", "upload-offset": offset, "content-type": piece}


def _artifact(_: Belongings) -> Json:
    return {"filename": "new.txt", "artifact": {"text": "new"}}


ROUTES: dict[str, Row] = {
    "GET /": Open("/"),
    "GET /docs": Common("/docs"),
    "GET /openapi.json": Common("/openapi.json"),
    "GET /assets/{name}": Open("/assets/none.js"),
    "GET /prism.svg": Open("/prism.svg"),
    "GET /health": Open("/health"),
    "GET /ready": Open("/ready"),
    "GET /version": Common("/version"),
    "GET /list-apps": Common("/list-apps"),
    "GET /apps/{app_name}/app-info": Common(f"/apps/{APP}/app-info"),
    "GET /dev/apps/{app_name}/build_graph": Common(f"/dev/apps/{APP}/build_graph"),
    "GET /api/apps": Common("/api/apps"),
    "GET /api/apps/{app_name}": Common(f"/api/apps/{APP}"),
    "GET /api/apps/{app_name}/agents": Operated(f"/api/apps/{APP}/agents"),
    "GET /v1/models": Common("/v1/models"),
    "GET /v1/models/{model}": Common(f"/v1/models/{APP}"),
    "POST /v1/conversations": Common("/v1/conversations", {}),
    "GET /api/studio/{app_name}/graph": Common(f"/api/studio/{APP}/graph"),
    "GET /api/studio/{app_name}/sources": Common(f"/api/studio/{APP}/sources"),
    "GET /api/protocols": Common("/api/protocols"),
    "GET /api/copilotkit/info": Common("/api/copilotkit/info"),
    "GET /api/ag-ui/{app_name}/capabilities": Common(f"/api/ag-ui/{APP}/capabilities"),
    "GET /api/me": Common("/api/me"),
    "GET /api/budgets": Common("/api/budgets"),
    "GET /api/connection-check": Common("/api/connection-check?events=1"),
    "POST /api/tickets": Common("/api/tickets", {"url": "/api/runs/run-1/stream"}),
    "GET /api/errors/{reference}": Common("/api/errors/0123456789ab", status=204),
    "GET /metrics": Operated("/metrics"),
    "GET /api/audit": Operated("/api/audit", status=404),  # 404: this server keeps none
    "GET /api/setup": Operated("/api/setup"),
    "GET /api/conversations": Listed("/api/conversations"),
    "GET /api/runs": Listed("/api/runs"),
    "GET /api/trends": Listed("/api/trends", tells='"tool":[["note",1]]'),
    "GET /dev/apps/{app_name}/debug/trace/session/{session_id}": Listed(
        f"{_TRACE}/session/{{session}}"
    ),
    "GET /api/copilotkit/threads": Listed("/api/copilotkit/threads"),
    "POST /api/recordings": Taken("/api/recordings"),
    "POST /api/record": Taken("/api/record"),
    "GET /dev/apps/{app_name}/debug/trace/{event_id}": Owned(f"{_TRACE}/{{event}}"),
    # 404: this server does not speak A2A. Isolation of one that does is in `tests/features/a2a`.
    "GET /a2a/{app_name}/.well-known/agent-card.json": Owned(
        f"/a2a/{APP}/.well-known/agent-card.json", status=(404,)
    ),
    "POST /a2a/{app_name}": Owned(f"/a2a/{APP}", lambda _: {}, status=(404,)),
    # sessions
    "GET /apps/{app_name}/users/{user_id}/sessions": Owned(_ADK),
    "POST /apps/{app_name}/users/{user_id}/sessions": Owned(_ADK, lambda _: {}),
    "GET /apps/{app_name}/users/{user_id}/sessions/{session_id}": Owned(_ONE),
    "POST /apps/{app_name}/users/{user_id}/sessions/{session_id}": Owned(
        f"{_ADK}/another", lambda _: {}
    ),
    "PATCH /apps/{app_name}/users/{user_id}/sessions/{session_id}": Owned(
        _ONE, lambda _: {"stateDelta": {"mine": "changed"}}
    ),
    "DELETE /apps/{app_name}/users/{user_id}/sessions/{session_id}": Owned(_ONE),
    "POST /apps/{app_name}/users/{user_id}/sessions/{session_id}/rewind": Owned(
        f"{_ONE}/rewind", lambda bobs: {"invocationId": bobs.invocation}
    ),
    # artifacts and memory
    "GET /apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts": Owned(_ART),
    "POST /apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts": Owned(_ART, _artifact),
    "GET /apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts/{artifact_name:path}": (
        Owned(f"{_ART}/notes.txt")
    ),
    "DELETE /apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts/{artifact_name:path}": (
        Owned(f"{_ART}/notes.txt")
    ),
    "GET /apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts/{artifact_name:path}"
    "/versions": Owned(f"{_ART}/notes.txt/versions"),
    "GET /apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts/{artifact_name:path}"
    "/versions/{version_id}": Owned(f"{_ART}/notes.txt/versions/0"),
    "GET /apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts/{artifact_name:path}"
    "/versions/metadata": Owned(f"{_ART}/notes.txt/versions/metadata"),
    "GET /apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts/{artifact_name:path}"
    "/versions/{version_id}/metadata": Owned(f"{_ART}/notes.txt/versions/0/metadata"),
    "GET /apps/{app_name}/users/{user_id}/memory": Owned(
        f"/apps/{APP}/users/{{user}}/memory?query=x",
        status=(200, 400),  # 400: this app has no memory service
    ),
    "PATCH /apps/{app_name}/users/{user_id}/memory": Owned(
        f"/apps/{APP}/users/{{user}}/memory",
        lambda bobs: {"sessionId": bobs.session},
        status=(200, 400),  # 400: this app has no memory service
    ),
    # runs in ADK's form, chats, Studio
    "POST /run": Owned("/run", lambda bobs: said(bobs.user, "hello")),
    "POST /run_sse": Owned("/run_sse", lambda bobs: said(bobs.user, "hello")),
    "POST /api/chat/{app_name}": Owned(f"/api/chat/{APP}", _chat),
    "GET /api/chat/{app_name}/{chat_id}/stream": Owned(
        f"/api/chat/{APP}/{{session}}/stream?userId={{user}}", status=(200, 204)
    ),
    "GET /api/chat/{app_name}/{chat_id}/messages": Owned(
        f"/api/chat/{APP}/{{session}}/messages?userId={{user}}"
    ),
    "GET /api/chat/{app_name}/{chat_id}/versions": Owned(
        f"/api/chat/{APP}/{{session}}/versions?userId={{user}}"
    ),
    "POST /api/chat/{app_name}/{chat_id}/stop": Owned(
        f"/api/chat/{APP}/{{session}}/stop?userId={{user}}"
    ),
    "PATCH /api/chat/{app_name}/{chat_id}": Owned(
        f"/api/chat/{APP}/{{session}}?userId={{user}}", lambda _: {"title": "Mine"}
    ),
    "DELETE /api/chat/{app_name}/{chat_id}": Owned(f"/api/chat/{APP}/{{session}}?userId={{user}}"),
    "POST /api/chat/{app_name}/{chat_id}/restore": Owned(
        f"/api/chat/{APP}/{{session}}/restore?userId={{user}}", lambda _: {}
    ),
    "GET /api/studio/{app_name}/stream": Owned(
        f"/api/studio/{APP}/stream",
        headers=lambda bobs: {"last-event-id": f"{bobs.run}:1.1"},
        status=(200, 204, 400),
    ),
    "POST /api/studio/{app_name}/stream": Owned(
        f"/api/studio/{APP}/stream",
        lambda bobs: {"input": "hello", "user_id": bobs.user, "session_id": bobs.session},
    ),
    "POST /api/ag-ui/{app_name}": Owned(f"/api/ag-ui/{APP}?userId={{user}}", _agent),
    "POST /api/ag-ui/{app_name}/connect": Owned(
        f"/api/ag-ui/{APP}/connect?userId={{user}}", _agent
    ),
    "POST /api/ag-ui/{app_name}/{thread_id}/stop": Owned(
        f"/api/ag-ui/{APP}/{{session}}/stop?userId={{user}}", lambda _: {}
    ),
    "OPTIONS /api/uploads/{app_name}": Common(f"/api/uploads/{APP}", status=204),
    "POST /api/uploads/{app_name}": Taken(f"/api/uploads/{APP}"),
    # 404 for the owner too: his file is of no app. `tests/features/uploads` has isolation of those of one.
    "GET /api/uploads/{app_name}/{upload}": Owned(_UPLOAD, status=(404,)),
    "PATCH /api/uploads/{app_name}/{upload}": Owned(_UPLOAD, headers=_tus, status=(404,)),
    "DELETE /api/uploads/{app_name}/{upload}": Owned(_UPLOAD, headers=_tus, status=(404,)),
    "POST /v1/files": Taken("/v1/files"),
    "GET /v1/files": Listed("/v1/files", tells=UPLOAD),
    "GET /v1/files/{file}": Owned("/v1/files/{upload}"),
    "GET /v1/files/{file}/content": Owned("/v1/files/{upload}/content"),
    "DELETE /v1/files/{file}": Owned("/v1/files/{upload}"),
    "POST /v1/chat/completions": Taken("/v1/chat/completions"),
    "POST /v1/responses": Owned(
        "/v1/responses",
        lambda bobs: {
            "model": APP,
            "user": bobs.user,
            "input": "x",
            "previous_response_id": f"resp_{bobs.run}",
        },
    ),
    # Who may see what is decided by the routes that its tools ask; here the package `mcp` is missing.
    "POST /mcp": Common("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, status=501),
    "GET /api/runs/{run}/transcript": Owned(f"{_RUN}/transcript"),
    "GET /v1/responses/{response}": Owned("/v1/responses/resp_{run}"),
    "POST /v1/responses/{response}/cancel": Owned("/v1/responses/resp_{run}/cancel"),
    "GET /v1/responses/{response}/input_items": Owned("/v1/responses/resp_{run}/input_items"),
    "GET /v1/conversations/{conversation}": Owned("/v1/conversations/{session}"),
    "GET /v1/conversations/{conversation}/items": Owned("/v1/conversations/{session}/items"),
    "POST /api/copilotkit": Owned(f"{_KIT}?userId={{user}}", _agent_run),
    "POST /api/copilotkit/agent/{agent_id}/run": Owned(f"{_KIT_AGENT}/run?userId={{user}}", _agent),
    "POST /api/copilotkit/agent/{agent_id}/suggest": Common(  # of whose answer: test_copilotkit_suggest
        f"{_KIT_AGENT}/suggest", {"threadId": "t", "runId": "r", "messages": []}
    ),
    "POST /api/copilotkit/agent/{agent_id}/connect": Owned(
        f"{_KIT_AGENT}/connect?userId={{user}}", _agent
    ),
    "POST /api/copilotkit/agent/{agent_id}/stop/{thread_id}": Owned(
        f"{_KIT_AGENT}/stop/{{session}}?userId={{user}}", lambda _: {}
    ),
    "GET /api/copilotkit/threads/{thread_id}/messages": Owned(f"{_KIT_THREAD}/messages"),
    "GET /api/copilotkit/threads/{thread_id}/events": Owned(f"{_KIT_THREAD}/events"),
    "GET /api/copilotkit/threads/{thread_id}/state": Owned(f"{_KIT_THREAD}/state"),
    "POST /api/protocols/{name}/{app_name}": Owned(f"/api/protocols/ai-sdk/{APP}", _chat),
    # runs
    "GET /api/runs/{run}": Owned(_RUN),
    "GET /api/runs/{run}/stream": Owned(f"{_RUN}/stream"),
    "POST /api/runs/{run}/cancel": Owned(f"{_RUN}/cancel", lambda _: {}),
    "GET /api/runs/{run}/recording": Owned(f"{_RUN}/recording"),
    "GET /api/runs/{run}/files/{cursor}/{part}": Owned(f"{_RUN}/files/{{file}}/0"),
    "GET /api/runs/{run}/view": Owned(f"{_RUN}/view"),
    "GET /api/compare": Owned("/api/compare?a={run}&b={run}"),
    "GET /api/runs/{run}/film": Owned(f"{_RUN}/film"),
    "GET /api/runs/{run}/entries/{cursor}": Owned(f"{_RUN}/entries/1"),
    "GET /api/evals/{app_name}": Operated(f"/api/evals/{APP}"),
    "POST /api/evals/{app_name}": Operated(f"/api/evals/{APP}", status=422),
    "GET /api/evals/{app_name}/check": Operated(f"/api/evals/{APP}/check?run=none", status=404),
    "GET /api/evals/{app_name}/grid": Operated(f"/api/evals/{APP}/grid?set=none", status=404),
    "GET /api/evals/{app_name}/evaluations/{evaluation}": Operated(
        f"/api/evals/{APP}/evaluations/none", status=404
    ),
    "GET /api/evals/{app_name}/results/{result}": Operated(
        f"/api/evals/{APP}/results/none", status=404
    ),
    "POST /api/evals/{app_name}/sets/{set_id}/cases": Operated(
        f"/api/evals/{APP}/sets/some/cases", status=422
    ),
    "GET /api/runs/{run}/evalcase": Owned(f"{_RUN}/evalcase", status=(200, 409)),
    "GET /api/runs/{run}/model-calls": Owned(f"{_RUN}/model-calls", status=(200, 403)),
    "POST /api/runs/{run}/feedback": Owned(f"{_RUN}/feedback", lambda _: {"score": 1}),
    "GET /api/runs/{run}/feedback": Owned(f"{_RUN}/feedback"),
    "GET /api/chat/{app_name}/{chat_id}/feedback": Owned(
        f"/api/chat/{APP}/{{session}}/feedback?userId={{user}}"
    ),
    "GET /api/chat/{app_name}/{chat_id}/suggestions": Owned(
        f"/api/chat/{APP}/{{session}}/suggestions?userId={{user}}", status=(204,)
    ),
    "GET /api/runs/{run}/share": Owned(f"{_RUN}/share", status=(200, 501)),
    "POST /api/runs/{run}/fork": Owned(f"{_RUN}/fork", lambda bobs: {"at": bobs.file}),
    "GET /api/runs/{run}/rerun": Owned(f"{_RUN}/rerun", status=(403, 404)),
    "POST /api/runs/{run}/rerun": Owned(f"{_RUN}/rerun", lambda _: {}, status=(200, 403)),
    "GET /api/watch/{app_name}/{chat_id}": Owned(
        f"/api/watch/{APP}/{{session}}?userId={{user}}", status=(200, 403)
    ),
    "POST /api/runs/{run}/links": Owned(f"{_RUN}/links", lambda _: {}, status=(201,)),
    "GET /api/runs/{run}/links": Owned(f"{_RUN}/links"),
    "DELETE /api/runs/{run}/links/{link}": Owned(f"{_RUN}/links/{{link}}", status=(204,)),
    # sockets
    "WS /api/chat/{app_name}/socket": Socket(f"/api/chat/{APP}/socket"),
    "WS /api/live/{app_name}": Socket(f"/api/live/{APP}"),
    "WS /run_live": Socket(f"/run_live?app_name={APP}&user_id=user&session_id=s"),
}

GUESTS = (
    "GET /api/runs/{run}",
    "GET /api/runs/{run}/stream",
    "GET /api/runs/{run}/recording",
    "GET /api/runs/{run}/files/{cursor}/{part}",
    "GET /api/runs/{run}/transcript",
    "GET /api/runs/{run}/view",
    "GET /api/runs/{run}/film",
    "GET /api/runs/{run}/entries/{cursor}",
    "GET /api/runs/{run}/share",
)
"""What a share link opens, and nothing else."""


def of_app(app: FastAPI) -> Iterator[str]:
    """Name every route of an application as the table does."""
    for route in app.routes:
        yield from _names(route)


def _names(route: Any) -> Iterator[str]:
    if not hasattr(route, "methods"):
        yield f"WS {route.path}"
    else:
        yield from (f"{method} {route.path}" for method in route.methods - {"HEAD"})


def path_of(row: Row, bobs: Belongings) -> str:
    """Return a row's path, naming Bob's things."""
    names = {"user": bobs.user, "session": bobs.session, "run": bobs.run, "upload": bobs.upload}
    return row.path.format(**names, file=bobs.file, link=bobs.link, event=bobs.event)


__all__ = ["GUESTS", "ROUTES", "SECRET", "of_app", "path_of"]
