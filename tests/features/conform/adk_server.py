"""A server that speaks ADK's own protocol well, and what can be wrong with one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

from tests.features.conform.planted import Change, Planted, before, changed, streams
from tests.features.conform.stub_server import (
    Asked,
    Handler,
    Json,
    Reply,
    as_json,
    as_stream,
    refused,
)

CONFIRMATION = "adk_request_confirmation"


def good() -> Handler:
    """Return a server with one app that calls a tool, asks for a confirmation, and keeps sessions."""
    return _Server().answer


class _Server:
    def __init__(self) -> None:
        self._sessions: dict[str, Json] = {}
        self._numbers = count(1)

    def answer(self, asked: Asked) -> Reply:
        path = asked.path.removeprefix("/api")
        if path == "/list-apps":
            return as_json(["demo"])
        if path.startswith("/apps/"):
            return self._session(asked, path.partition("/sessions")[2].lstrip("/"))
        wrong = refused(asked, "appName", "userId", "sessionId", "newMessage")
        if wrong is not None:
            return wrong
        return self._run(asked.json, streamed=path == "/run_sse")

    def _session(self, asked: Asked, name: str) -> Reply:
        if asked.method == "POST":
            name = f"s{next(self._numbers)}"
            user = asked.path.split("/users/")[1].split("/")[0]
            names = {"id": name, "appName": "demo", "userId": user}
            self._sessions[name] = {**names, "state": {}, "events": []}
        if name not in self._sessions:
            return as_json({"detail": "Session not found"}, 404)
        if asked.method == "DELETE":
            del self._sessions[name]
            return as_json(None)
        return as_json(self._sessions[name])

    def _run(self, body: Json, *, streamed: bool) -> Reply:
        session = self._sessions.get(body["sessionId"])
        if session is None:
            return as_json({"detail": "Session not found"}, 404)
        session["state"] |= body.get("stateDelta") or {}
        sent = events(body["newMessage"]["parts"][0], f"i{next(self._numbers)}")
        session["events"] += [each for each in sent if not each.get("partial")]
        kept = sent if streamed else [each for each in sent if not each.get("partial")]
        return as_stream(*kept, cache_control="no-cache") if streamed else as_json(kept)


def events(part: Json, run: str) -> list[Json]:
    """Return the run that answers a part."""
    if part.get("text") == "error":
        return [event(run, "e", [], errorCode="X", errorMessage="It failed.")]
    call = {"functionCall": {"id": f"c-{run}", "name": "look", "args": {}}}
    if part.get("text") == "approval":
        args = {"originalFunctionCall": {"id": "c1", "name": "look", "args": {}}}
        asks = {"functionCall": {"id": f"q-{run}", "name": CONFIRMATION, "args": args}}
        gated = {"functionCall": {"id": "c1", "name": "look", "args": {}}}
        return [event(run, "a", [gated]), event(run, "b", [asks])]
    answered = f"c-{run}"
    if "functionResponse" in part:
        return [event(run, "a", [_response("c1")]), event(run, "b", [{"text": "Done"}])]
    return [
        event(run, "a", [call]),
        event(run, "b", [_response(answered)]),
        event(run, "c", [{"text": "Hel"}], partial=True),
        event(run, "c", [{"text": "lo"}], partial=True),
        event(run, "c", [{"text": "Hello"}]),
    ]


def _response(call: str) -> Json:
    return {"functionResponse": {"id": call, "name": "look", "response": {"result": 1}}}


def event(run: str, id: str, parts: list[Json], **more: Any) -> Json:
    names = {"id": f"{id}-{run}", "invocationId": run, "author": "demo"}
    content = {"content": {"role": "model", "parts": parts}} if parts else {}
    return {**names, "timestamp": 1.0, **content, "actions": {}, **more}


# ------------------------------------------------------------------ what can be wrong


def in_events(change: Callable[[list[Json]], Any]) -> Change:
    """Change the events of every stream."""

    def change_reply(reply: Reply) -> Reply:
        texts = [line[6:] for line in reply.body.decode().split("\n\n") if line]
        sent = [json.loads(text) for text in texts]
        change(sent)
        return replace(as_stream(*sent), headers=reply.headers)

    return streams(change_reply)


def each(**values: Any) -> Change:
    return in_events(lambda sent: [event.update(values) for event in sent])


def ordinary(change: Callable[[list[Json]], Any]) -> Change:
    return in_events(lambda sent: change(sent) if len(sent) == 5 else None)


def at(path: str, method: str, reply: Callable[[], Reply]) -> Change:
    return before(lambda asked: reply() if path in asked.path and asked.method == method else None)


def _not_json(reply: Reply) -> Reply:
    return replace(reply, body=b"data: hello\n\n" + reply.body)


def _spelled(sent: list[Json]) -> None:
    for found in sent:
        found["invocation_id"] = found["invocationId"]


def _forgets(asked: Asked, reply: Reply) -> Reply:
    if asked.method != "GET" or "/sessions/" not in asked.path or reply.status != 200:
        return reply
    return as_json({**json.loads(reply.body), "events": []})


def _drops_state(asked: Asked, reply: Reply) -> Reply:
    if asked.method != "GET" or "/sessions/" not in asked.path or reply.status != 200:
        return reply
    return as_json({**json.loads(reply.body), "state": {}})


def _no_answer(asked: Asked) -> Reply | None:
    is_answer = b'"functionResponse"' in asked.body
    return as_stream(event("i", "b", [{"text": "Done"}])) if is_answer else None


def _unknown_is_new(asked: Asked, reply: Reply) -> Reply:
    if reply.status == 404 and asked.method == "GET" and "conform-" in asked.path:
        return as_json({"id": "x"})
    return reply


def _still_there(asked: Asked, reply: Reply) -> Reply:
    is_read = asked.method == "GET" and "/sessions/s" in asked.path
    return as_json({}) if is_read and reply.status == 404 else reply


def _run_is_new(asked: Asked, reply: Reply) -> Reply:
    if reply.status == 404 and asked.method == "POST":
        return as_stream({"error": "Session not found"})
    return reply


PLANTED = (
    Planted("list-apps", at("/list-apps", "GET", lambda: as_json({"apps": ["demo"]}))),
    Planted("json", streams(_not_json)),
    Planted("event-values", each(partial="maybe")),
    Planted("event-values", each(content={"parts": "Hello"})),
    Planted("event-spelling", in_events(_spelled)),
    Planted("event-ids", each(author="")),
    Planted("invocation", ordinary(lambda sent: sent[1].update(invocationId="other"))),
    Planted("responses", ordinary(lambda sent: sent.pop(0))),
    Planted("aggregate", ordinary(lambda sent: sent.pop())),
    Planted("aggregate", ordinary(lambda sent: sent.pop(2))),
    Planted("error-event", each(errorCode="X", errorMessage='File "/x.py", line 1')),
    Planted("stored", changed(_forgets)),
    Planted("state-delta", changed(_drops_state)),
    Planted("run", before(lambda asked: as_json({}) if asked.path.endswith("/run") else None)),
    Planted("confirmation", before(_no_answer)),
    Planted("unknown-session", changed(_unknown_is_new)),
    Planted("run-unknown-session", changed(_run_is_new)),
    Planted("session-deleted", changed(_still_there)),
)
