"""`project`: ADK events in any form to the frames of a protocol, in one line of Python."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import Any

import pytest
from google.adk.events.event import Event
from google.genai import types
from tests.recordings.library import HERE

from adk_prism import project
from adk_prism.errors import SourceError, UsageError

LINES = (HERE / "raw" / "tool.jsonl").read_text().splitlines()
OBJECTS = [Event.model_validate_json(line) for line in LINES]

FORMS: dict[str, Callable[[], Iterable[Any]]] = {
    "objects": lambda: OBJECTS,
    "dicts": lambda: [json.loads(line) for line in LINES],
    "dicts, snake_case": lambda: [
        event.model_dump(mode="json", exclude_none=True) for event in OBJECTS
    ],
    "dicts with nulls": lambda: [event.model_dump(mode="json") for event in OBJECTS],
    "JSON": lambda: LINES,
    "JSON as bytes": lambda: [line.encode() for line in LINES],
    "JSON over several lines": lambda: [json.dumps(json.loads(line), indent=2) for line in LINES],
    "JSON, snake_case": lambda: [event.model_dump_json() for event in OBJECTS],
    "a generator": lambda: (line for line in LINES),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("protocol", ["ai-sdk", "adk"])
def test_every_form_gives_the_same_frames(form: str, protocol: str) -> None:
    """Objects, dicts or JSON, in either spelling."""
    frames = list(project(FORMS[form](), protocol=protocol))
    expected = list(project(LINES, protocol=protocol))
    if protocol == "adk":
        # An event's own nulls, defaults and order of keys are its writer's.
        assert len(frames) == len(expected)
        assert [json.loads(f.data)["id"] for f in frames] == [
            json.loads(f.data)["id"] for f in expected
        ]
        return
    ours, theirs = (
        [(f.position, _anonymous(f.data)) for f in found] for found in (frames, expected)
    )
    assert ours == theirs


def _anonymous(data: str) -> Any:
    """Leave the run's id out: it is a hash of the first event's bytes."""
    if data == "[DONE]":
        return data
    chunk = json.loads(data)
    for name in ("messageId", "messageMetadata"):
        if chunk["type"] == "start":
            chunk.pop(name)
    return chunk


def test_a_frame_has_its_place_and_its_payload() -> None:
    """As they would be in the SSE `id:` and `data:`."""
    first, *_, last = project(LINES)
    assert first.position == "1.1"
    assert json.loads(first.data)["type"] == "start"
    assert last.data == "[DONE]"


def test_no_events_are_no_run() -> None:
    """There is nothing to say of nothing."""
    with pytest.raises(SourceError, match="empty"):
        list(project([]))


@pytest.mark.parametrize(
    ("how", "error", "says"),
    [
        ({"protocol": "nonsense"}, UsageError, "Unknown protocol 'nonsense'"),
        ({"protocol": "ag-ui", "dialect": "2"}, UsageError, "Unknown dialect '2'"),
        ({"dialect": "4"}, UsageError, "Unknown dialect '4'"),
        ({"protocol": "adk", "dialect": "6"}, UsageError, "no dialects"),
    ],
)
def test_a_wrong_wish_is_the_callers(
    how: dict[str, str], error: type[Exception], says: str
) -> None:
    """Told before the first frame."""
    with pytest.raises(error, match=says):
        next(project(LINES, **how))


def test_an_event_that_is_none_is_the_sources() -> None:
    """Everything before it is given first."""
    whole = list(project(LINES))
    frames = project([*LINES, "{oops"])
    told = [next(frames) for frame in whole if not frame.position.startswith(f"{len(LINES) + 2}.")]
    assert told == whole[: len(told)]
    with pytest.raises(SourceError):
        next(frames)


# ------------------------------------------------------------------------------ asynchronously


@pytest.mark.parametrize("as_", ["adk", "ai-sdk", "studio", "ag-ui"])
async def test_asynchronous_events_give_the_same_frames(as_: str) -> None:
    """In every protocol; each frame as soon as its event is there."""
    events = [_said(f"word {number}", partial=number < 3) for number in range(4)]
    taken = 0

    async def coming() -> AsyncGenerator[Event, None]:
        nonlocal taken
        for event in events:
            taken += 1
            yield event

    seen = [(frame, taken) async for frame in project(coming(), protocol=as_)]
    assert [frame for frame, _ in seen] == list(project(events, protocol=as_))
    assert seen[0][1] == 1


async def test_who_stops_listening_ends_the_run() -> None:
    """The events' own generator is closed: it may be a run of ADK's."""
    closed = []

    async def coming() -> AsyncGenerator[Event, None]:
        try:
            while True:
                yield _said("word", partial=True)
        finally:
            closed.append(True)

    async with aclosing(project(coming())) as frames:
        async for _ in frames:
            break
    assert closed == [True]


async def test_what_is_no_event_is_refused_asynchronously() -> None:
    """With everything before it given; no events at all, or an unknown protocol, as elsewhere."""

    async def coming(*events: object) -> AsyncGenerator[Any, None]:
        for event in events:
            yield event

    frames = project(coming(_said("word"), {"nonsense": 1}))
    while "word" not in (await anext(frames)).data:
        pass
    with pytest.raises(SourceError):
        [frame async for frame in frames]
    with pytest.raises(SourceError):
        [frame async for frame in project(coming())]
    with pytest.raises(UsageError):
        project(coming(), protocol="smoke")


def _said(text: str, *, partial: bool = False) -> Event:
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return Event(id="e", author="a", invocation_id="i", content=content, partial=partial or None)
