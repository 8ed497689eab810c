"""Logs written by hand, and what the Studio says of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from adk_prism.log.entry import (
    Agent,
    AgentEvent,
    ChildEvent,
    Entry,
    NodeEnded,
    NodeStarted,
    Origin,
    Outcome,
    Record,
    RunEnded,
    RunStarted,
    to_raw,
)
from adk_prism.protocols.registry import protocol

Json = dict[str, Any]
Said = tuple[str, Any]
"""An event's name and what it says: text, or the JSON."""

ORIGIN = Origin(app="app", user="user", session="abc123")
EXTRAS = frozenset(
    {"id", "kind", "path", "parent", "call", "timestamp", "iteration", "derived", "node"}
)
"""Optional fields of ours that most tests are not about; `node` only outside of traces."""


def started(state: Json | None = None, agents: Sequence[Agent] = (), **about: Any) -> RunStarted:
    """How a run begins."""
    raw = {key: to_raw(value) for key, value in (state or {}).items()}
    return RunStarted(run="run-1", origin=ORIGIN, state=raw, agents=list(agents), **about)


def ended(outcome: Outcome = "finished", **about: Any) -> RunEnded:
    """How a run ends."""
    return RunEnded(outcome=outcome, **about)


def begins(
    node: str, name: str, kind: Any = "agent", state: Json | None = None, **about: Any
) -> NodeStarted:
    """A node's start."""
    raw = {key: to_raw(value) for key, value in (state or {}).items()}
    return NodeStarted(node=node, name=name, kind=kind, state=raw, **about)


def ends(node: str, status: Any = "finished", state: Json | None = None, **about: Any) -> NodeEnded:
    """A node's end."""
    raw = {key: to_raw(value) for key, value in (state or {}).items()}
    return NodeEnded(node=node, status=status, state=raw, **about)


def event(
    *parts: Json, author: str = "agent", delta: Json | None = None, **fields: Any
) -> AgentEvent:
    """One event of an agent."""
    data = json.dumps(_event(parts, author, delta, fields), separators=(",", ":"))
    return AgentEvent(data.encode())


def child(
    call: str, *parts: Json, author: str = "child", node: str = "", **fields: Any
) -> ChildEvent:
    """One event of an agent inside a tool."""
    return ChildEvent(call=call, node=node, event=to_raw(_event(parts, author, None, fields)))


def _event(parts: Sequence[Json], author: str, delta: Json | None, fields: Json) -> Json:
    found: Json = {"id": "e", "author": author, "timestamp": 0.0, **fields}
    if parts:
        found["content"] = {"role": "model", "parts": list(parts)}
    if delta is not None:
        found["actions"] = {**found.get("actions", {}), "stateDelta": delta}
    return found


def log(*records: Record | tuple[float, Record]) -> list[Entry]:
    """A log; a record's time is its number in seconds, or the one it comes with."""
    found = []
    for cursor, item in enumerate(records, 1):
        time, record = item if isinstance(item, tuple) else (float(cursor), item)
        found.append(Entry(cursor, time, record))
    return found


def frames(entries: Sequence[Entry]) -> Iterator[Said]:
    """Yield what is said, every field of it."""
    reader = protocol("studio").format().reader()
    for entry in entries:
        for payload in reader.feed(entry):
            text = payload.data.decode()
            is_text = payload.event in ("session", "chunk", "end")
            yield payload.event, text if is_text else json.loads(text)


def told(*records: Record | tuple[float, Record]) -> list[Said]:
    """Return what is said of a log, without the optional fields that most tests are not about."""
    return [(name, _plain(name, data)) for name, data in frames(log(*records))]


def _plain(name: str, data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    hidden = EXTRAS - {"node"} if name == "trace" else EXTRAS
    return {key: value for key, value in without_overlay(data).items() if key not in hidden}


def without_overlay(data: Json) -> Json:
    """Return a frame without what was laid over its snapshots: with the state alone."""
    if "overlay" not in data:
        return data
    laid, states = data["overlay"], data["state_snapshot"]
    bare = {
        side: {key: value for key, value in state.items() if key not in laid.get(side, ())}
        for side, state in states.items()
    }
    keys = list(bare["input" if data["type"] == "node_start" else "output"])
    shown = data | {"state_snapshot": bare, "state_keys": keys}
    del shown["overlay"]
    return shown
