"""Runs that a dead process left in the log: what becomes of each when the next process starts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from msgspec import structs
from tests.adk.scripted import Scripted
from tests.patience import PATIENCE
from tests.recordings.library import load
from tests.runs.sources import event
from tests.server.local_server import APP, USER, agent, local_server

from adk_prism.log.entry import (
    FOREIGN,
    UPLOADED,
    AgentEvent,
    Origin,
    Record,
    RunEnded,
    RunId,
    RunStarted,
    RunTakenOver,
    labels,
    to_raw,
)
from adk_prism.log.memory import MemoryLog
from adk_prism.runs.recorder import HANDED_OVER, OWNER_LOST
from adk_prism.runs.takeover import MOST

RUN = RunId("run-left")
HERE = Origin(app=APP, user=USER, session="left")
MESSAGE = to_raw({"role": "user", "parts": [{"text": "go"}]})


def began(**fields: Any) -> RunStarted:
    return RunStarted(run=RUN, origin=HERE, invocation="i1", message=MESSAGE, **fields)


def cut(name: str) -> list[Record]:
    """Return a recording without its end, as a run of this app."""
    head, *rest = (entry.record for entry in load(name))
    assert isinstance(head, RunStarted)
    kept = [record for record in rest if not isinstance(record, RunEnded)]
    return [structs.replace(head, run=RUN, origin=HERE), *kept]


def up_to_call(name: str) -> list[Record]:
    """Return a recording up to the whole event that makes its first call."""
    records: list[Record] = []
    for record in cut(name):
        records.append(record)
        if (
            isinstance(record, AgentEvent)
            and b'"functionCall"' in record.event
            and b'"partial":true' not in record.event
        ):
            return records
    raise AssertionError(f"{name} has no call")


def call_of(records: Sequence[Record]) -> str:
    last = records[-1]
    assert isinstance(last, AgentEvent)
    return last.event.split(b'"functionCall":')[1].split(b'"id":"')[1].split(b'"')[0].decode()


@dataclass(frozen=True)
class Case:
    id: str
    records: list[Record]
    outcome: str
    code: str = ""
    resumable: bool = True
    epoch: int = 0
    has_session: bool = True
    is_continued: bool = False
    handed_over: Sequence[int] = ()
    """Epochs of processes that left it and lived on."""
    said_later: bool = False
    """The conversation went on without it."""


CALLED = up_to_call("tool")

CASES = [
    Case("a new message", [began()], "finished", is_continued=True),
    Case("an app that cannot resume", [began()], "failed", OWNER_LOST, resumable=False),
    Case("an unknown app", [began()], "failed", OWNER_LOST, has_session=False),
    Case("a live connection", [began(live=True)], "failed", OWNER_LOST),
    Case("a history from elsewhere", [began(labels=labels(FOREIGN(True)))], "failed", OWNER_LOST),
    Case("an upload", [began(labels=labels(UPLOADED(True)))], "failed", OWNER_LOST),
    Case("a change of state", [began(kind="state")], "failed", OWNER_LOST),
    Case("taken over too often", [began()], "failed", OWNER_LOST, epoch=MOST),
    Case("taken over almost too often", [began()], "finished", epoch=MOST - 1, is_continued=True),
    Case("waits for an approval", cut("approval"), "waiting"),
    Case("waits for a client's tool", cut("client_tool"), "waiting"),
    Case(
        "a call that was under way at the takeover before, too",
        [*CALLED, RunTakenOver(epoch=1, in_doubt=[call_of(CALLED)])],
        "failed",
        OWNER_LOST,
        epoch=1,
    ),
    Case(
        "a call that was under way at two planned restarts",
        [*CALLED, RunTakenOver(epoch=1, in_doubt=[call_of(CALLED)], planned=True)],
        "finished",
        epoch=1,
        is_continued=True,
        handed_over=[0, 1],
    ),
    Case(
        "a call inside which a process died, and was restarted later",
        [*CALLED, RunTakenOver(epoch=1, in_doubt=[call_of(CALLED)])],
        "finished",
        epoch=1,
        is_continued=True,
        handed_over=[1],
    ),
    Case(
        "a call inside which two processes died, with a restart between",
        [
            *CALLED,
            RunTakenOver(epoch=1, in_doubt=[call_of(CALLED)]),
            RunTakenOver(epoch=2, in_doubt=[call_of(CALLED)], planned=True),
        ],
        "failed",
        OWNER_LOST,
        epoch=2,
        handed_over=[1],
    ),
    Case(
        "restarted often",
        [began()],
        "finished",
        epoch=2 * MOST,
        is_continued=True,
        handed_over=range(1, 2 * MOST),
    ),
    Case("passed over", [began()], "failed", OWNER_LOST, said_later=True),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_a_run_that_was_left_ends(case: Case) -> None:
    """It is continued where the app can, else it ends with the truth; nobody waits for it for ever."""
    log, service = MemoryLog(), InMemorySessionService()
    await log.open()
    await log.append(RUN, case.records, epoch=case.epoch)
    if case.has_session:
        await service.create_session(app_name=APP, user_id=USER, session_id=HERE.session)
    for epoch in case.handed_over:
        await log.side.put(RUN, HANDED_OVER, str(epoch), b"{}")
    if case.said_later:
        later = RunId("run-later")
        head = RunStarted(run=later, origin=HERE, invocation="i2", message=MESSAGE)
        await log.append(later, [head, RunEnded(outcome="finished")])
    model = Scripted.saying("Continued.")
    async with local_server(
        agent(model), resumable=case.resumable, service=service, log=log
    ) as server:
        entries = await asyncio.wait_for(server.entries(RUN), PATIENCE)
        end = entries[-1].record
        assert isinstance(end, RunEnded)
        assert (end.outcome, end.code) == (case.outcome, case.code)
        before = len(case.records)
        assert [entry.record for entry in entries[:before]] == case.records
        added = [entry.record for entry in entries[before:]]
        assert any(isinstance(record, RunTakenOver) for record in added) == case.is_continued
        assert bool(model.requests) == case.is_continued


async def test_runs_that_ended_are_left_alone() -> None:
    """And of those that did not, each is taken once."""
    log = MemoryLog()
    await log.open()
    ended = [began(), event("Hello."), RunEnded(outcome="finished")]
    await log.append(RUN, ended)
    left = [RunId(f"run-{number}") for number in range(12)]
    for run in left:
        head = RunStarted(run=run, origin=structs.replace(HERE, session=run))
        await log.append(run, [head])
    async with local_server(agent(Scripted.saying()), log=log) as server:
        for run in left:
            written = await asyncio.wait_for(server.entries(run), PATIENCE)
            assert [type(entry.record) for entry in written] == [RunStarted, RunEnded]
        assert [entry.record for entry in await server.entries(RUN)] == ended
        taken = [report.run for report in server.reports if report.kind == "run taken over"]
        assert sorted(taken) == sorted(left)


@pytest.mark.parametrize("unreadable", [b"{", b"[]", b'{"content": 1}'])
async def test_an_event_that_cannot_be_read_keeps_no_server_from_starting(
    unreadable: bytes,
) -> None:
    """The run ends like any other, and the next one is served."""
    log = MemoryLog()
    await log.open()
    await log.append(RUN, [began(), AgentEvent(event=unreadable)])
    async with local_server(agent(Scripted.saying("Hello.")), log=log) as server:
        end = (await asyncio.wait_for(server.entries(RUN), PATIENCE))[-1].record
        assert isinstance(end, RunEnded)
        assert (end.outcome, end.code) == ("failed", OWNER_LOST)
        assert await server.say("next")
