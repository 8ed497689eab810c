"""A server that speaks the Studio protocol well, and what can be wrong with one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.features.conform.planted import Change, Planted, before, streams
from tests.features.conform.stub_server import STREAM, Asked, Handler, Reply, refused

Event = tuple[str, Any]


def good() -> Handler:
    """Return a server that runs one node with a tool, asks for an approval, and resumes by id."""
    numbers = count(1)
    runs: dict[str, list[Event]] = {}

    def answer(asked: Asked) -> Reply:
        last = asked.headers.get("last-event-id", "")
        if last:
            run, _, seen = last.partition(":")
            rest = runs[run][int(seen) :]
            return stream(run, rest, int(seen)) if rest else Reply(204)
        query = parse_qs(urlsplit(asked.path).query)
        body = {"input": query.get("input", [""])[0]} if asked.method == "GET" else asked.json
        wrong = refused(asked) if asked.method != "GET" else None
        if wrong is None and not (body.get("input") or body.get("answers")):
            wrong = Reply(422)
        if wrong is not None:
            return wrong
        run = f"r{next(numbers)}"
        runs[run] = events(body.get("session_id") or f"s-{run}", body.get("input", ""))
        return stream(run, runs[run])

    return answer


def stream(run: str, sent: list[Event], after: int = 0) -> Reply:
    lines = (
        f"event: {name}\nid: {run}:{number}\ndata: {data if isinstance(data, str) else json.dumps(data)}\n\n"
        for number, (name, data) in enumerate(sent, after + 1)
    )
    return Reply(200, "".join(lines).encode(), STREAM)


def events(session: str, text: str) -> list[Event]:
    """Return the run that answers a text."""
    if text == "error":
        return [("session", session), ("error", {"message": "It failed."})]
    done = ("trace", trace("done", total_steps=1))
    inside: list[Event] = [
        ("tool_call", {"name": "look", "args": {}}),
        ("tool_result", {"name": "look", "result": 1}),
        ("log", {"message": "Calling a model"}),
        ("chunk", "Hello"),
    ]
    if text == "approval":
        data = {"type": "approval", "node_id": "one", "message": "May I?", "data": {"id": "a1"}}
        inside = [("interrupt", data)]
    start = trace("node_start", node="one", step=1, snapshot={"input": {"a": 1}, "output": {}})
    end = trace("node_end", node="one", step=1, duration_ms=1)
    return [
        ("session", session),
        ("trace", start),
        *inside,
        ("trace", end),
        done,
        ("end", ""),
    ]


def trace(kind: str, snapshot: Any = None, **values: Any) -> dict[str, Any]:
    found = snapshot or {"input": {"a": 1}, "output": {"a": 1, "b": [1]}}
    side = "input" if kind == "node_start" else "output"
    return {"type": kind, **values, "state_snapshot": found, "state_keys": [*found[side]]}


# ------------------------------------------------------------------ what can be wrong


def replaced(old: str, new: str) -> Change:
    return streams(lambda reply: _with(reply, lambda text: text.replace(old, new)))


def in_events(change: Callable[[list[str]], Any]) -> Change:
    """Change the events of every stream, each with its lines."""

    def change_text(text: str) -> str:
        blocks = text.removesuffix("\n\n").split("\n\n")
        change(blocks)
        return "\n\n".join(blocks) + "\n\n"

    return streams(lambda reply: _with(reply, change_text))


def _with(reply: Reply, change: Callable[[str], str]) -> Reply:
    return replace(reply, body=change(reply.body.decode()).encode())


def without(word: str) -> Change:
    def change(blocks: list[str]) -> None:
        blocks[:] = [block for block in blocks if word not in block]

    return in_events(change)


def _twice(blocks: list[str]) -> None:
    if any("event: chunk" in block for block in blocks):
        blocks.insert(2, blocks[1])


def _more(blocks: list[str]) -> None:
    blocks.append('event: log\nid: r1:99\ndata: {"message": "x"}')


DEEP = '{"a": {"b": {"c": {"d": 1}}}}'

PLANTED = (
    Planted("event-name", replaced("event: log", "event: remark")),
    Planted("json", replaced('{"message": "Calling a model"}', "Calling a model")),
    Planted(
        "event-values",
        replaced('{"name": "look", "args": {}}', '{"tool": "look"}'),
        also=("results",),
    ),
    Planted("event-values", replaced('"duration_ms": 1,', '"duration_ms": "1",'), also=("nodes",)),
    Planted("event-values", replaced('"type": "done"', '"type": "over"'), also=("done",)),
    Planted("session-first", without("event: session")),
    Planted("session-first", replaced("event: log", "event: session")),
    Planted("snapshots", replaced('"output": {"a": 1, "b": [1]}', '"output": null')),
    Planted("state-keys", replaced('"state_keys": ["a", "b"]', '"state_keys": ["a"]')),
    Planted(
        "depth", replaced('"input": {"a": 1}, "output": {}', f'"input": {DEEP}, "output": {{}}')
    ),
    Planted("nodes", without("node_end")),
    Planted("nodes", in_events(_twice), also=("done", "reconnect")),
    Planted("results", without("event: tool_call")),
    Planted("done", replaced('"total_steps": 1', '"total_steps": 2')),
    Planted("done", without('"done"')),
    Planted("end", without("event: end")),
    Planted("end", in_events(_more)),
    Planted("get", before(lambda asked: Reply(405) if _is_first_get(asked) else None)),
    Planted("session-kept", before(lambda asked: _other_session(asked))),
    Planted("reconnect", before(lambda asked: _whole_again(asked))),
    Planted(
        "interrupt-answer", before(lambda asked: Reply(409) if b'"answers"' in asked.body else None)
    ),
)


def _is_first_get(asked: Asked) -> bool:
    return asked.method == "GET" and "last-event-id" not in asked.headers


def _other_session(asked: Asked) -> Reply | None:
    body = asked.json
    if not isinstance(body, dict) or "session_id" not in body or "answers" in body:
        return None
    return stream("r9", events("another", "hello"))


def _whole_again(asked: Asked) -> Reply | None:
    return stream("r9", events("s", "hello")) if "last-event-id" in asked.headers else None
