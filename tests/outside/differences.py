"""What may differ between ADK's server and ours: the table, and the forms without it.

Each row rewrites both servers' answers so that what the row names is the same on both sides. All that
no row names has to be equal. The rows of `DIFFERENCES` are those of docs/protocols/adk.md; the rows of
`CHANCE` differ between two runs of one server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Events = list[Json]

_ID = re.compile(
    r"(?:\b(?:adk|e|fc|run|session)-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
_OWN_ERROR = re.compile(r"error-\d+")
"""The id of an event with which our server tells of a failure that ADK has no event for."""
_RANDOM = re.compile(r'\b(?:state|code_challenge)=[\w-]+|(?<="state": ")\w{30}(?=")')
"""What each request for a sign-in has of its own."""
_TIMES = ("timestamp", "startTimestamp", "endTimestamp")


@dataclass(frozen=True)
class Difference:
    """One thing that may differ, why, and the events without it."""

    name: str
    reason: str
    without: Callable[[Events], Events]


def _one_error(events: Events) -> Events:
    failure = {"author": "server", "failure": True}
    found: Events = []
    for event in events:
        if "author" not in event and "error" in event:
            # Where no event tells of the failure, ours has one of its own in this place.
            found += [] if found and found[-1].get("errorCode") else [failure]
        else:
            found.append(failure if _OWN_ERROR.fullmatch(event.get("id", "")) else event)
    return found


def _one_frame_per_artifact(events: Events) -> Events:
    found: Events = []
    for event in events:
        before = found[-1] if found else {}
        saved = event.get("actions", {}).get("artifactDelta")
        if saved and before.get("id") == event.get("id") and not event.get("content"):
            before["actions"]["artifactDelta"] = saved
        else:
            found.append(event)
    return found


def _no_exception_texts(events: Events) -> Events:
    return [
        {**event, "errorMessage": "text"}
        if event.get("errorCode") and event.get("errorMessage")
        else event
        for event in events
    ]


def _without(value: Any, keys: Callable[[str], bool]) -> Any:
    if isinstance(value, dict):
        return {k: _without(v, keys) for k, v in value.items() if not keys(k)}
    return [_without(each, keys) for each in value] if isinstance(value, list) else value


def _no_withheld_keys(events: Events) -> Events:
    return list(_without(events, lambda key: key.startswith(("temp:", "__adk_internal_"))))


def _state_with_the_message(events: Events) -> Events:
    found: Events = []
    for event in events:
        before = found[-1] if found else {}
        given = before.get("actions", {}).get("stateDelta")
        if given and before.get("invocationId", "").startswith("p-") and not before.get("content"):
            actions = {
                **event["actions"],
                "stateDelta": {**given, **event["actions"]["stateDelta"]},
            }
            found[-1] = {**event, "actions": actions}
        else:
            found.append(event)
    return found


def _no_random_sign_in(events: Events) -> Events:
    return list(json.loads(_RANDOM.sub("random", json.dumps(events))))


def _no_times(events: Events) -> Events:
    return list(_without(events, _TIMES.__contains__))


def _only_paths_of_partials(events: Events) -> Events:
    return [
        {**event, "nodeInfo": {"path": event.get("nodeInfo", {}).get("path")}}
        if event.get("partial")
        else event
        for event in events
    ]


def _results_in_one_order(events: Events) -> Events:
    def key(part: Json) -> str:
        return masked(part) if "functionResponse" in part else ""

    def ordered(event: Json) -> Json:
        content = event.get("content") or {}
        parts = content.get("parts") or []
        if not parts or any("functionResponse" not in part for part in parts):
            return event
        return {**event, "content": {**content, "parts": sorted(parts, key=key)}}

    return [ordered(event) for event in events]


DIFFERENCES = (
    Difference("error object", "ADK sends an object that is no event", _one_error),
    Difference("artifact frames", "ADK sends such an event in two halves", _one_frame_per_artifact),
    Difference("exception texts", "ours gives a reference or safe words", _no_exception_texts),
    Difference("state first", "ours stores it before the message", _state_with_the_message),
    Difference("withheld keys", "ours sends no `temp:` and internal keys", _no_withheld_keys),
)
CHANCE = (
    Difference("times", "two runs are never at one time", _no_times),
    Difference("sign-in", "a part of it is random", _no_random_sign_in),
    Difference("partial node info", "ADK shares it with the final event", _only_paths_of_partials),
    Difference("parallel results", "the tools end in any order", _results_in_one_order),
)


def comparable(events: Sequence[Json]) -> Events:
    """Return the events without what may differ, in their order; ids are left."""
    found = json.loads(json.dumps(list(events)))
    for row in (*DIFFERENCES, *CHANCE):
        found = row.without(found)
    return list(found)


def lane(event: Json) -> str:
    """Return what tells apart events whose order among each other is chance."""
    path = (event.get("nodeInfo") or {}).get("path")
    return masked([event.get("author"), event.get("branch"), path])


def masked(value: Any) -> str:
    """Return JSON in which all ids are alike."""
    return _ID.sub("ID", json.dumps(value, sort_keys=True))


def renamed(events: Sequence[Json]) -> Events:
    """Return the events with ids numbered in the order in which they appear."""
    seen: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return seen.setdefault(found[0], f"id-{len(seen) + 1}")

    return [json.loads(_ID.sub(number, json.dumps(each, sort_keys=True))) for each in events]
