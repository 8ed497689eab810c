"""AG-UI events as plain objects, for tables."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.laws.events import Json, entries

from adk_prism.log.entry import Continues, Entry, Outcome, Record
from adk_prism.protocols.contract import WHOLE, FileLinks, Scope
from adk_prism.protocols.registry import protocol

_CHATTER = ("RUN_STARTED", "STATE_SNAPSHOT", "RUN_FINISHED", "RUN_ERROR")


def ag_ui_events(
    *events: Json | bytes | Record,
    dialect: str = "1.0",
    outcome: Outcome | None = None,
    continues: Continues | None = None,
    scope: Scope = WHOLE,
    files: FileLinks | None = None,
    code: str = "",
) -> list[Json]:
    """Return the AG-UI events of a run, without their times."""
    return events_of(entries(events, outcome, continues, code), dialect, scope, files)


def events_of(
    run: Iterable[Entry],
    dialect: str = "1.0",
    scope: Scope = WHOLE,
    files: FileLinks | None = None,
) -> list[Json]:
    reader = protocol("ag-ui").format(dialect, files, scope).reader()
    found = [json.loads(payload.data) for entry in run for payload in reader.feed(entry)]
    return [{key: value for key, value in each.items() if key != "timestamp"} for each in found]


def told(*events: Json | bytes | Record, **how: Any) -> list[Json]:
    """Return what lies between a run's beginning and its end."""
    return [each for each in ag_ui_events(*events, **how) if each["type"] not in _CHATTER]


def of_type(kind: str, *events: Json | bytes | Record, **how: Any) -> list[Json]:
    """Return the events of one type."""
    return [each for each in ag_ui_events(*events, **how) if each["type"] == kind]


def named(name: str, *events: Json | bytes | Record, **how: Any) -> list[Any]:
    """Return the values of custom events, or the contents of activities, of one name."""
    found = ag_ui_events(*events, **how)
    values = [each["value"] for each in found if each.get("name") == name and "value" in each]
    return values + [each["content"] for each in found if each.get("activityType") == name]


def ended(*events: Json | bytes | Record, **how: Any) -> Json:
    """Return the last event."""
    return ag_ui_events(*events, **how)[-1]
