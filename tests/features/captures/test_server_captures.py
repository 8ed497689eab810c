"""Captures of ADK's servers in every language: right times, right outcomes, and the five laws."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from tests.protocols.chunks import chunks_of
from tests.recordings.library import HERE

from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.features.captures.recording_file import read_run
from adk_prism.features.page.film import fold
from adk_prism.log.entry import AgentEvent, Entry, Outcome, RunEnded
from adk_prism.protocols.registry import formats
from adk_prism.testing.laws import check_laws

SERVERS = HERE / "servers"


def load(name: str) -> list[Entry]:
    return list(read_run(SERVERS / name, end=CaptureEnding()))


@dataclass(frozen=True)
class Case:
    """What a file says."""

    name: str
    outcome: Outcome = "finished"
    code: str = ""
    seconds: tuple[float, float] = (0.2, 5.0)
    """Between which the run took."""
    text: str = "Rain in Rome."


TURNS = {"python2": 2}
"""Both Python servers used one database, so that session has a turn of each."""
AT_ONCE = (0.0, 0.05)
CASES = [
    *(
        case
        for server in ("typescript", "python1", "python2")
        for case in (
            Case(f"{server}.text.sse"),
            Case(f"{server}.tool.sse"),
            Case(f"{server}.long.sse"),
            Case(f"{server}.session.json", text="Rain in Rome." * TURNS.get(server, 1)),
        )
    ),
    Case("typescript.approval.sse", "waiting", seconds=(0.01, 1.0), text=""),
    Case("python1.approval.sse", "waiting", seconds=(0.01, 1.0), text=""),
    Case("python2.approval.sse", "waiting", seconds=(0.01, 1.0), text=""),
    Case("typescript.fail.sse", "failed", "UNKNOWN_ERROR", AT_ONCE, ""),
    Case("python1.fail.sse", "failed", "ERROR", AT_ONCE, ""),
    Case("python2.fail.sse", "failed", "RuntimeError", AT_ONCE, ""),
    Case("typescript.text_then_fail.sse", "failed", "UNKNOWN_ERROR"),
    Case("python1.text_then_fail.sse", "failed", "ERROR"),
    Case("python2.text_then_fail.sse", "failed", "RuntimeError"),
    Case("agent_engine.text.jsonl"),
    Case("agent_engine.tool.jsonl"),
    Case("agent_engine.approval.jsonl", "waiting", seconds=(0.0, 1.0), text=""),
    Case("agent_engine.fail.jsonl", "failed", "498", (0.05, 1.0), "Rain in "),
    Case("agent_engine_go.text.jsonl", seconds=AT_ONCE),
    Case("agent_engine_go.fail.jsonl", "failed", "ERROR", AT_ONCE, "Rain "),
    Case("java.text.sse"),
    Case("java.tool.sse"),
    Case("java.approval.sse", "waiting", seconds=AT_ONCE, text=""),
    Case("java.lost.sse", "incomplete"),
    Case("java.lost_after_tool.sse", "incomplete", text=""),
    Case("java.cut.sse", "incomplete"),
    Case("go.text.sse", seconds=AT_ONCE),
    Case("go.tool.sse", seconds=AT_ONCE),
    Case("go.approval.sse", "waiting", seconds=AT_ONCE, text=""),
    Case("go.fail.sse", "failed", "ERROR", AT_ONCE, "Rain in "),
    Case("go.error_then_on.sse", seconds=AT_ONCE),
    Case("kotlin.text.sse"),
    Case("kotlin.tool.sse"),
    Case("kotlin.approval.sse", "waiting", seconds=AT_ONCE, text=""),
    Case("kotlin.lost.sse", "incomplete", seconds=AT_ONCE, text="Rain "),
]
each = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def test_every_file_is_tried() -> None:
    """No capture lies about untested."""
    kept = {path.name for path in SERVERS.iterdir() if path.suffix in (".sse", ".json", ".jsonl")}
    assert kept == {case.name for case in CASES}


@each
def test_it_ends_as_it_did(case: Case) -> None:
    """Whatever way a server has to say that a run failed, or of not saying it."""
    ended = load(case.name)[-1].record
    assert ended == RunEnded(outcome=case.outcome, code=case.code)


@each
def test_the_timeline_counts_seconds_since_the_start(case: Case) -> None:
    """Of times in seconds, in milliseconds, or absent here and there; without any, nothing is made up."""
    timeline = fold(load(case.name)).at(panel="timeline")["timeline"]
    shortest, longest = case.seconds
    assert shortest <= timeline["now"] <= longest
    assert timeline["start"] < 1e11


@each
def test_the_laws_hold_in_every_protocol(case: Case) -> None:
    """Deterministic, resumable, prefix-stable, balanced, terminated."""
    assert check_laws(load(case.name), formats()) == []


@each
def test_a_client_reads_the_text_once(case: Case) -> None:
    """Ids of partial and final events differ in TypeScript; the text is not doubled."""
    chunks = [chunk for chunk in chunks_of(load(case.name)) if isinstance(chunk, dict)]
    shown = [chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta"]
    assert "".join(shown) == case.text


@each
def test_events_leave_in_adks_own_form(case: Case) -> None:
    """Times in seconds, in camel case: clients of the `adk` protocol know no other."""
    for entry in load(case.name):
        if isinstance(entry.record, AgentEvent):
            event = json.loads(entry.record.event)
            assert event.get("timestamp", 0) < 1e11
            assert not {"invocation_id", "error", "message"} & event.keys()


SAID = '{"author":"a","content":{"parts":[{"text":"x"}]},"timestamp":%s}'
ODD: dict[str, tuple[str, RunEnded, float]] = {
    "times of every kind": (
        "\n".join(
            SAID % time
            for time in ("NaN", -5, "1e999", '"x"', 1794888000000, 1794888000.5, "null", 10**26)
        ),
        RunEnded(outcome="finished"),
        0.5,
    ),
    "spellings in one file": (
        SAID % 1794888000
        + '\n{"author":"a","error_code":"X","error_message":"y","timestamp":1794888000900}',
        RunEnded(outcome="failed", code="X"),
        0.9,
    ),
    "an error as text": (
        "event: error\ndata: upstream died\n\n",
        RunEnded(outcome="failed", code="ERROR"),
        0.0,
    ),
    "an error that is almost JSON": (
        f"data: {SAID % 1}\n\nevent: error\ndata: {{oops\n\n",
        RunEnded(outcome="failed", code="ERROR"),
        0.0,
    ),
    "an error with a status": (
        'data: {"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}\n\n',
        RunEnded(outcome="failed", code="RESOURCE_EXHAUSTED"),
        0.0,
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_captures_are_read_all_the_same(name: str) -> None:
    """Bad times count as absent, errors in any form are errors, and the laws hold."""
    data, ended, seconds = ODD[name]
    entries = list(read_run(data.encode(), end=CaptureEnding()))
    assert entries[-1].record == ended
    assert fold(entries).at(panel="timeline")["timeline"]["now"] == seconds
    assert check_laws(entries, formats()) == []
