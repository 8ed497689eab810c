"""The fast path for tools says what the whole reading says, and never anything else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from tests.laws.logs import wild_runs
from tests.recordings.library import CAPTURES, RECORDINGS, load
from tests.slow import examples

from adk_prism.facts import event_reader
from adk_prism.facts.deltas import tool_event
from adk_prism.facts.model import Fact
from adk_prism.facts.run_reader import Reader
from adk_prism.features.proof.annotator import ProofAnnotator
from adk_prism.log.entry import AgentEvent, Entry


def _facts(run: Iterable[Entry]) -> list[object]:
    reader = Reader([ProofAnnotator()])
    facts: list[list[Fact]] = [reader.feed(entry) for entry in run]
    return [facts, reader.outcome(), [call.call for call in reader.owed]]


def _both(run: list[Entry], monkeypatch: pytest.MonkeyPatch) -> None:
    fast = _facts(run)
    with monkeypatch.context() as patched:
        patched.setattr(event_reader, "tool_event", lambda _: None)
        assert _facts(run) == fast


@pytest.mark.parametrize("name", [*RECORDINGS, *CAPTURES])
def test_it_agrees_on_what_really_happened(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entry by entry."""
    _both(list(load(name)), monkeypatch)


def test_it_reads_most_events_of_tools() -> None:
    """Of the whole ones, recorded with ADK: otherwise the comparison would compare nothing."""
    records = [entry.record for name in RECORDINGS for entry in load(name)]
    events = [record.event for record in records if isinstance(record, AgentEvent)]
    tools = [raw for raw in events if b'[{"function' in raw and b'"partial":true' not in raw]
    assert sum(tool_event(raw) is not None for raw in tools) > len(tools) / 2


@settings(
    max_examples=examples(100),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(run=wild_runs())
def test_it_agrees_on_any_file(run: list[Entry], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where events are odd, doubled or in disorder."""
    _both(run, monkeypatch)


PLAIN: dict[str, Any] = {
    "content": {"parts": [{"functionResponse": {"id": "1", "name": "look", "response": {}}}]},
    "author": "agent",
    "actions": {"stateDelta": {}, "requestedToolConfirmations": {}},
    "nodeInfo": {"path": "agent@1"},
}


def test_it_reads_a_plain_response() -> None:
    """The cases below differ from this one in one place."""
    assert tool_event(msgspec.json.encode(PLAIN)) is not None


@pytest.mark.parametrize(
    "more",
    [
        {"errorCode": "SAFETY"},
        {"partial": True},
        {"author": "user"},
        {"author": None},
        {"turnComplete": True},
        {"output": 1},
        {"inventedLater": 1},
        {"actions": {"requestedToolConfirmations": {"1": {}}}},
        {"actions": {"transferToAgent": "other"}},
        {"nodeInfo": {"inventedLater": 1}},
        {"content": {"parts": [*PLAIN["content"]["parts"], {"text": "Done."}]}},
        {"content": {"parts": [{**PLAIN["content"]["parts"][0], "inventedLater": 1}]}},
    ],
    ids=str,
)
def test_it_leaves_everything_else_to_the_whole_reading(more: dict[str, Any]) -> None:
    """Whatever means more than a call or a response."""
    assert tool_event(msgspec.json.encode(PLAIN | more)) is None
