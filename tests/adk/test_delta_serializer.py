"""A delta written by the pattern of the last one has the bytes that ADK's serializer would give it."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.events.event import Event, NodeInfo
from google.adk.events.event_actions import EventActions
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from adk_prism.adk.redaction import Serialiser
from adk_prism.errors import ignore
from adk_prism.facts.model import BlockGrew
from adk_prism.facts.run_reader import Reader
from adk_prism.log.entry import AgentEvent, Entry, Origin, RunStarted, pack, unpack

_TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ['"text":', '"id":"x"', "temp:", '"temp:a":1', "\x00\x1f\x7f\u2028", "\ud800", "é😀", ""]
    ),
)


def _event(text: str | None = "a", number: int = 1, **fields: Any) -> Event:
    part = fields.pop("part", None) or types.Part(text=text)
    given = {
        "author": "speaker",
        "invocation_id": "inv",
        "id": f"event-{number}",
        "timestamp": 1750000000.25 + number,
        "partial": True,
        "node_info": NodeInfo(path="speaker@1"),
        "content": types.Content(role="model", parts=[part]),
    }
    return Event.model_validate(given | fields)


def _alone(event: Event) -> bytes:
    """Return what a serialiser writes that has seen nothing before."""
    return Serialiser(ignore).event(event)


_EVENTS = st.builds(
    _event,
    text=_TEXTS,
    number=st.integers(0, 10**6),
    author=st.sampled_from(["speaker", "other", 'quo"te']),
    partial=st.sampled_from([True, True, True, False, None]),
    branch=st.sampled_from([None, None, "a.b"]),
    model_version=st.sampled_from([None, None, "m-1", '"text":"b"']),
    timestamp=st.one_of(st.floats(1e9, 2e9), st.floats(0, 1e18), st.sampled_from([0.0, 5.0, 1e22])),
    custom_metadata=st.sampled_from([None, None, None, {"text": "x"}, {"__adk_internal_a": 1}]),
    actions=st.sampled_from(
        [EventActions(), EventActions(), EventActions(state_delta={"temp:a": 1, "b": 2})]
    ),
    part=st.sampled_from(
        [
            None,
            None,
            types.Part(text="thought", thought=True),
            types.Part(text="signed", thought_signature=b"sig"),
            types.Part(function_call=types.FunctionCall(name="f", args={"text": "x"})),
        ]
    ),
)


@given(st.lists(_EVENTS, min_size=2, max_size=6))
def test_a_run_is_written_as_its_events_are_alone(events: list[Event]) -> None:
    """Whatever came before, an event has the same bytes."""
    serialiser = Serialiser(ignore)
    assert [serialiser.event(event) for event in events] == [_alone(event) for event in events]


_RUNS = st.lists(_EVENTS, min_size=2, max_size=12)


def _recorded(events: list[Event]) -> list[Entry]:
    """Return events as a run records them, with what is known of the text."""
    serialiser, origin = Serialiser(ignore), Origin(app="app", user="u", session="s")
    started = RunStarted(run="run", origin=origin)
    records = [started, *(serialiser.record(event) for event in events)]
    return [Entry(cursor, 1.0, record) for cursor, record in enumerate(records, 1)]


def _stored(entry: Entry) -> Entry:
    """Return an entry as it is read from a store."""
    return Entry(entry.cursor, entry.time, unpack(*pack(entry.record)))


@given(_RUNS)
def test_what_is_known_of_a_text_says_what_decoding_says(events: list[Event]) -> None:
    """Whatever comes between two deltas."""
    known, decoded = Reader(), Reader()
    for entry in _recorded(events):
        assert known.feed(entry) == decoded.feed(_stored(entry))


@given(_RUNS)
def test_how_a_run_ended_does_not_depend_on_more_of_a_text(events: list[Event]) -> None:
    """So whoever records a run need not read it."""
    all_of_it, without = Reader(), Reader()
    for entry in _recorded(events):
        all_of_it.feed(entry)
        if not (isinstance(entry.record, AgentEvent) and entry.record.more):
            without.feed(entry)
        assert without.outcome() == all_of_it.outcome()
        assert without.is_paused == all_of_it.is_paused
        assert [each.call for each in without.owed] == [each.call for each in all_of_it.owed]


def test_a_delta_of_another_that_has_no_pattern_comes_between() -> None:
    """What follows extends the text that it belongs to."""
    other = _event("b", 2, author="other", node_info=NodeInfo(path="other@1"))
    odd = _event("c", 4, author="other", node_info=other.node_info, custom_metadata={"x": 1})
    events = [_event("a", 1), other, _event("d", 3), odd, _event("e", 5), _event("f", 6)]
    reader = Reader()
    facts = [fact for entry in _recorded(events) for fact in reader.feed(entry)]
    grown = {fact.text: fact.block for fact in facts if isinstance(fact, BlockGrew)}
    assert grown["e"] == grown["f"] == grown["d"] == grown["a"] != grown["b"] == grown["c"]


def test_the_second_delta_is_written_by_the_pattern() -> None:
    """The pattern is taken at all, and holds from the second delta on."""
    serialiser, second = Serialiser(ignore), _event('next "text":', 2)
    assert serialiser.record(_event()).more == ""
    written = serialiser.record(second)
    assert (written.event, written.more) == (_alone(second), 'next "text":')


@pytest.mark.parametrize(
    "other",
    [
        _event(partial=False),
        _event(author="other"),
        _event(branch="a"),
        _event(node_info=NodeInfo(path="other@1")),
        _event(error_code="STOP"),
        _event(custom_metadata={"a": 1}),
        _event(usage_metadata=types.GenerateContentResponseUsageMetadata(total_token_count=1)),
        _event(actions=EventActions(state_delta={"a": 1})),
        _event(part=types.Part(text="a", thought=True)),
        _event(content=types.Content(role="model", parts=[types.Part(text="a")] * 2)),
        _event(content=types.Content(role="user", parts=[types.Part(text="a")])),
        _event(timestamp=1e300),
        _event("\ud800"),
        _event(None),
    ],
)
def test_what_differs_is_left_to_the_serializer(other: Event) -> None:
    """One difference besides text, id and time is enough."""
    serialiser = Serialiser(ignore)
    serialiser.record(_event())
    assert serialiser.record(other).more == ""


@pytest.mark.parametrize(
    "event",
    [
        _event(custom_metadata={"text": "a"}),
        _event(actions=EventActions(state_delta={"a": 1})),
        _event(part=types.Part(text="a", thought_signature=b"s")),
        _event(partial=False),
    ],
)
def test_only_plain_deltas_are_learned(event: Event) -> None:
    """Of anything else the next one is not written by a pattern."""
    serialiser = Serialiser(ignore)
    assert [serialiser.record(event).more for _ in range(3)] == [""] * 3
