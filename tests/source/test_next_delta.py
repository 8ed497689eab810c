"""A delta written by the pattern of the last one has the bytes that ADK's serializer would give it."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.events.event import Event, NodeInfo
from google.adk.events.event_actions import EventActions
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from adk_prism.diagnostics import ignore
from adk_prism.source.next_delta import NextDelta
from adk_prism.source.redaction import Serialiser

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


def test_the_second_delta_is_written_by_the_pattern() -> None:
    """The pattern is taken at all, and holds from the second delta on."""
    deltas, first = NextDelta(), _event()
    assert deltas.write(first) is None
    deltas.learn(first, _alone(first))
    second = _event('next "text":', 2)
    assert deltas.write(second) == _alone(second)


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
    deltas, first = NextDelta(), _event()
    deltas.learn(first, _alone(first))
    assert deltas.write(other) is None


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
    deltas = NextDelta()
    deltas.learn(event, _alone(event))
    assert deltas.write(event) is None
