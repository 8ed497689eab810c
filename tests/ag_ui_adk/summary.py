"""What an AG-UI stream tells, without ids, times and the sizes of deltas."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

Json = dict[str, Any]
Summary = dict[str, Any]

BOOKKEEPING = "_ag_ui_"
"""How the keys begin that ag-ui-adk keeps for itself in the session's state."""


def events_of(body: str) -> Iterator[Json]:
    """Yield the events of an SSE body."""
    for block in body.split("\n\n"):
        data = [line[5:].strip() for line in block.split("\n") if line.startswith("data:")]
        if data:
            yield json.loads("\n".join(data))


def summary(events: Iterable[Json]) -> Summary:
    """Return what a stream tells, aspect by aspect; an aspect that it does not mention is left out."""
    told = _Told()
    for event in events:
        told.take(event)
    return {aspect: value for aspect, value in told.aspects().items() if value}


class _Told:
    """The events so far."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._thoughts: dict[str, str] = {}
        self._calls: dict[str, list[str]] = {}
        self._results: list[tuple[str, str]] = []
        self._authors: set[str] = set()
        self._state: Json = {}
        self._end = ""
        self._outcome: list[str] = []
        self._has_usage = False
        self._kinds: set[str] = set()

    def take(self, event: Json) -> None:
        """Note an event."""
        kind = event["type"]
        if kind.startswith(("TEXT_MESSAGE_", "REASONING_", "THINKING_")):
            self._take_words(kind, event)
        elif kind.startswith("TOOL_CALL_"):
            self._take_call(kind, event)
        elif kind.startswith("STATE_"):
            self._take_state(event)
        elif kind in ("RUN_FINISHED", "RUN_ERROR"):
            self._end, self._outcome = kind, _outcome(event)
            self._has_usage = bool(event.get("usage"))
        elif kind == "ACTIVITY_SNAPSHOT":
            self._kinds.add(f"activity {event['activityType']}")
        elif kind == "CUSTOM":
            self._kinds.add(f"custom {event['name']}")
        elif kind in ("SUBAGENT_STARTED", "STEP_STARTED"):
            self._kinds.add(kind.lower())

    def _take_words(self, kind: str, event: Json) -> None:
        if kind == "TEXT_MESSAGE_START" and event.get("name"):
            self._authors.add(event["name"])
        elif kind == "REASONING_ENCRYPTED_VALUE":
            self._kinds.add(kind.lower())
        elif kind.endswith("_CONTENT"):
            texts = self._texts if kind.startswith("TEXT") else self._thoughts
            name = event.get("messageId", "")
            texts[name] = texts.get(name, "") + event["delta"]

    def _take_call(self, kind: str, event: Json) -> None:
        call = event["toolCallId"]
        if kind == "TOOL_CALL_START":
            self._calls[call] = [event["toolCallName"], ""]
        elif kind == "TOOL_CALL_ARGS":
            self._calls[call][1] += event["delta"]
        elif kind == "TOOL_CALL_RESULT":
            name = self._calls.get(call, ["?"])[0]
            self._results.append((name, _plain(event["content"])))

    def _take_state(self, event: Json) -> None:
        if "snapshot" in event:
            self._state = dict(event["snapshot"])
        for change in event.get("delta", ()):
            key = change["path"].lstrip("/").replace("~1", "/").replace("~0", "~")
            if change["op"] == "remove":
                self._state.pop(key, None)
            else:
                self._state[key] = change.get("value")

    def aspects(self) -> Summary:
        """Return everything by name."""
        return {
            "text": sorted(filter(None, self._texts.values())),
            "reasoning": "".join(self._thoughts.values()),
            "calls": sorted((name, _plain(given)) for name, given in self._calls.values()),
            "results": sorted(self._results),
            "authors": sorted(self._authors),
            "state": {k: v for k, v in self._state.items() if not k.startswith(BOOKKEEPING)},
            "end": self._end,
            "outcome": self._outcome,
            "usage": self._has_usage,
            "more": sorted(self._kinds),
        }


def _outcome(event: Json) -> list[str]:
    outcome = event.get("outcome") or {}
    reasons = (each["reason"] for each in outcome.get("interrupts", ()))
    return [*filter(None, [outcome.get("type", "")]), *sorted(reasons)]


def _plain(value: Any) -> str:
    """Return JSON in one spelling; any other text as it is."""
    try:
        return json.dumps(json.loads(value or "{}"), sort_keys=True)
    except (TypeError, ValueError):
        return str(value)
