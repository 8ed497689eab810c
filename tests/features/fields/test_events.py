"""The table of AG-UI's events is what the projection writes: nothing more, nothing less."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from google.adk.events.event import NodeInfo
from google.genai import types
from tests.features.fields.carriers import PNG, said
from tests.features.fields.runs import all_runs
from tests.features.fields.stream import STARTED, Json, ag_ui, records
from tests.recordings.library import RECORDINGS, load
from website.notice_kinds import ACTIVITIES, CUSTOM

from adk_prism.features.fields.dispositions import EVENTS, ChunkDisposition, Emitted
from adk_prism.features.fields.report import AgUiRelease, read_ag_ui_releases
from adk_prism.log.entry import (
    ModelCalled,
    NodeEnded,
    NodeKind,
    NodeStarted,
    Record,
    RunEnded,
    to_raw,
)

_LEFT = {"author": "left", "branch": "left", "node_info": NodeInfo(path="root@1/left@1")}
_THOUGHT = types.Part(text="so", thought=True, thought_signature=b"signed")
_BLANK = types.Part(text="so ", thought=True)
_TOLD = records(
    [
        said(_BLANK, **_LEFT, partial=True),
        said(_THOUGHT, types.Part(inline_data=PNG), **_LEFT),
    ]
)[1:-1]


def _began(node: str, name: str, kind: NodeKind, path: str, parent: str = "") -> NodeStarted:
    return NodeStarted(node=node, name=name, kind=kind, path=path, parent=parent)


NESTED: list[Record] = [
    STARTED,
    _began("n1", "root", "agent", "root@1"),
    _began("n2", "left", "agent", "root@1/left@1", "n1"),
    _began("n3", "flow", "workflow", "root@1/left@1/flow@1", "n2"),
    _began("n4", "inner", "agent", "root@1/left@1/flow@1/inner@1", "n3"),
    *_TOLD,
    *(NodeEnded(node=node, status="finished") for node in ("n4", "n3", "n2", "n1")),
    RunEnded(outcome="finished"),
]
"""A sub-agent with a workflow of its own, which thinks and shows a picture."""

PRICED: list[Record] = [
    STARTED,
    ModelCalled(agent="root", model="gemini-2.5-flash", usage=to_raw({"promptTokenCount": 9})),
    RunEnded(outcome="failed", code="quota"),
]
"""A run that has cost something, and failed."""

RELEASES = {release.version: release for release in read_ag_ui_releases()}


@cache
def events(dialect: str) -> list[Json]:
    """Return the events of every run that there is, once as they are asked for with ADK's own."""
    return list(_events(dialect))


def _events(dialect: str) -> Iterator[Json]:
    for run in all_runs():
        yield from ag_ui(run.records, dialect=dialect, scope=run.scope)
    for name in RECORDINGS:  # these have nodes
        yield from ag_ui([entry.record for entry in load(name)], dialect=dialect)
    yield from ag_ui([entry.record for entry in load("tool")], dialect=dialect, raw=True)
    yield from ag_ui(NESTED, dialect=dialect)
    yield from ag_ui(PRICED, dialect=dialect)


def written(dialect: str) -> set[str]:
    """Return what is written, as `type` and `type.key`."""
    found = set()
    for event in events(dialect):
        found |= {event["type"]} | {f"{event['type']}.{key}" for key in event if key != "type"}
    return found


def promised(dialect: str) -> set[str]:
    """Return what the table says is written."""

    def is_emitted(row: ChunkDisposition) -> bool:
        return isinstance(row, Emitted) and row.dialect in ("", dialect)

    types = {kind for kind, event in EVENTS.items() if is_emitted(event.itself)}
    keys = {
        f"{kind}.{key}"
        for kind, event in EVENTS.items()
        for key, row in event.keys.items()
        if is_emitted(row)
    }
    return types | keys


@pytest.mark.parametrize("dialect", ["0.0.59", "1.0"])
def test_the_table_is_what_is_written(dialect: str) -> None:
    """Over every recording, case and scene: a key that is never written is not emitted."""
    assert written(dialect) == promised(dialect)


@pytest.mark.parametrize(
    ("dialect", "release"), [("0.0.59", "0.0.59"), ("0.0.59", "1.0.0"), ("1.0", "1.0.0")]
)
def test_what_is_written_is_accepted(dialect: str, release: str) -> None:
    """The older dialect keeps to what every client knows."""
    assert written(dialect) <= accepted(RELEASES[release])


def accepted(release: AgUiRelease) -> set[str]:
    keys = {f"{kind}.{key}" for kind, keys in release.events.items() for key in keys.names}
    return keys | release.events.keys()


@pytest.mark.parametrize("release", RELEASES)
def test_no_event_lacks_a_required_key(release: str) -> None:
    """A client gives up at an event without one."""
    known = RELEASES[release].events
    for event in events("0.0.59"):
        assert set(known[event["type"]].required) <= event.keys(), event


def test_the_notices_are_what_is_sent() -> None:
    """Each activity and custom event of the tables is somewhere, and no other."""
    activities = {each["activityType"] for each in events("1.0") if "activityType" in each}
    custom = {each["name"] for each in events("1.0") if each["type"] == "CUSTOM"}
    assert activities == ACTIVITIES.keys()
    assert custom == CUSTOM.keys()
