"""Runs made by hand: short ways to write the entries that a view is folded from."""

from __future__ import annotations

import json
from typing import Any

from adk_prism.log.entry import (
    AgentEvent,
    CallPieces,
    Entry,
    ModelCalled,
    NodeEnded,
    NodeKind,
    NodeStarted,
    NodeStatus,
    Origin,
    Outcome,
    Record,
    RunEnded,
    RunStarted,
    RunTakenOver,
    to_raw,
)

ORIGIN = Origin(app="app", user="user", session="session")
STEP = 0.5
"""Seconds between two entries."""


class Log:
    """A run that grows; every entry comes half a second after the one before."""

    def __init__(self, message: str = "", **state: Any) -> None:
        said = to_raw({"role": "user", "parts": [{"text": message}]}) if message else to_raw({})
        raw = {key.replace("__", ":"): to_raw(value) for key, value in state.items()}
        self.entries: list[Entry] = []
        self._add(RunStarted(run="run-1", origin=ORIGIN, message=said, state=raw))

    @property
    def cursor(self) -> int:
        """Of the last entry."""
        return len(self.entries)

    def _add(self, record: Record) -> int:
        self.entries.append(Entry(self.cursor + 1, self.cursor * STEP, record))
        return self.cursor

    def start(self, node: str, parent: str = "", kind: NodeKind = "agent", **more: Any) -> int:
        """Let a node begin. Its name is its id up to a digit, so `a1` and `a2` are runs of `a`."""
        name = node.rstrip("0123456789")
        state = {key: to_raw(value) for key, value in more.pop("state", {}).items()}
        return self._add(
            NodeStarted(node=node, name=name, kind=kind, parent=parent, state=state, **more)
        )

    def end(self, node: str, status: NodeStatus = "finished", **more: Any) -> int:
        """Let a node end."""
        state = {key: to_raw(value) for key, value in more.pop("state", {}).items()}
        return self._add(NodeEnded(node=node, status=status, state=state, **more))

    def event(self, author: str = "agent", **fields: Any) -> int:
        """Let ADK say something; `text`, `parts` and `delta` are short for what they stand for."""
        event = {"id": "e", "author": author, "invocationId": "e-1", "timestamp": 1.0}
        parts = fields.pop("parts", None)
        if "text" in fields:
            parts = [{"text": fields.pop("text")}]
        if parts:
            event["content"] = {"role": "model", "parts": parts}
        if "delta" in fields:
            event["actions"] = {"stateDelta": fields.pop("delta")}
        return self._add(AgentEvent(json.dumps(event | fields).encode()))

    def called(
        self, agent: str, node: str = "", *, usage: Any = None, kept: bool = False, **more: Any
    ) -> int:
        """Let a call of a model end."""
        pieces = CallPieces(contents=1) if kept else None
        return self._add(
            ModelCalled(
                agent=agent, node=node, model="model", usage=to_raw(usage), pieces=pieces, **more
            )
        )

    def seam(self, *in_doubt: str) -> int:
        """Let somebody else go on with the run."""
        return self._add(RunTakenOver(epoch=0, in_doubt=list(in_doubt)))

    def over(self, outcome: Outcome = "finished", **more: Any) -> int:
        """Let the run end."""
        return self._add(RunEnded(outcome=outcome, **more))
