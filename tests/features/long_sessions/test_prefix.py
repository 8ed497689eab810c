"""Where a session can be cut, and what is kept of what is cut off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.genai import types

from adk_prism.features.long_sessions.prefix import (
    KEPT,
    LONGEST,
    MOST_VIEWS,
    PrefixContents,
    cut_off,
)

TURNS = 20
"""Of two events each."""


def _event(turn: int, author: str, *parts: types.Part, **fields: Any) -> Event:
    content = types.Content(role="user" if author == "user" else "model", parts=list(parts))
    given: dict[str, Any] = {"author": author, "invocation_id": f"e-{turn}", "content": content}
    return Event(**(given | fields))


def _said(turn: int) -> list[Event]:
    text = types.Part(text=f"Turn {turn}.")
    return [_event(turn, "user", text), _event(turn, "agent", text)]


def _history(turns: int = TURNS) -> list[Event]:
    return [event for turn in range(turns) for event in _said(turn)]


def _calling(call: str | None) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call, name="f", args={}))


def _answering(call: str | None) -> types.Part:
    return types.Part(function_response=types.FunctionResponse(id=call, name="f", response={}))


class Case(NamedTuple):
    """Something that happens at an event, and where a session is cut then; None: nowhere."""

    id: str
    change: Callable[[list[Event]], object]
    cut: int | None


LAST = 2 * TURNS - KEPT


def _tie(first: int, last: int, *, call: str | None = "c") -> Callable[[list[Event]], None]:
    def change(events: list[Event]) -> None:
        events[first] = _event(first // 2, "agent", _calling(call))
        events[last] = _event(last // 2, "agent", _answering(call))

    return change


def _put(place: int, **fields: Any) -> Callable[[list[Event]], None]:
    def change(events: list[Event]) -> None:
        for name, value in fields.items():
            setattr(events[place], name, value)

    return change


def _rewound(place: int, turn: int) -> Callable[[list[Event]], None]:
    return _put(place, actions=EventActions(rewind_before_invocation_id=f"e-{turn}"))


_COMPACTION = EventCompaction(
    start_timestamp=1.0,
    end_timestamp=2.0,
    compacted_content=types.Content(role="model", parts=[types.Part(text="In short.")]),
)

CASES = [
    Case("nothing", lambda events: None, LAST),
    Case("too short", lambda events: events.__delitem__(slice(KEPT, None)), None),
    Case("a call and its answer before", _tie(3, 5), LAST),
    Case("a call and its answer after", _tie(LAST + 1, LAST + 3), LAST),
    Case("a call that is answered after", _tie(9, LAST + 3), 8),
    Case("a call without an id that is answered after", _tie(9, LAST + 3, call=None), 8),
    Case("an invocation that goes on after", _put(-1, invocation_id="e-5"), 10),
    Case("a rewind before", _rewound(13, 2), LAST),
    Case("a rewind that reaches before", _rewound(-1, 6), 12),
    Case("a rewind of nothing that is there", _rewound(-1, 99), LAST),
    Case("a lane", _put(11, branch="root.child"), 10),
    Case("a lane after", _put(-1, branch="root.child"), LAST),
    Case("a lane under a call before", lambda e: (_tie(3, 5)(e), _put(-1, branch="f@c")(e)), 2),
    Case("a scope", _put(11, isolation_scope="task"), 10),
    Case("a summary", _put(11, actions=EventActions(compaction=_COMPACTION)), None),
    Case("a summary after", _put(-1, actions=EventActions(compaction=_COMPACTION)), None),
    Case("a long-running call before", _put(7, long_running_tool_ids={"c"}), LAST),
    Case("no message to cut at", _put(LAST, author="agent"), LAST - 2),
    Case("an answer where a message was", lambda e: _tie(LAST, LAST)(e), LAST - 2),
]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_where_a_session_is_cut(case: Case) -> None:
    """Before a message of the user, as late as can be, with nothing that is on both sides."""
    events = _history()
    case.change(events)
    found = cut_off(events)
    assert (None if found is None else len(found.events)) == case.cut
    if found is not None:
        assert found.message is events[len(found.events)]
        assert not any(map(found.tied, events[len(found.events) :]))


def test_the_cut_moves_on_by_steps() -> None:
    """It stays for some turns, and what is known of the events before it is kept."""
    events = _history()
    first = cut_off(events)
    assert first is not None
    first.keep_view(
        "agent", PrefixContents(event.content for event in first.events if event.content)
    )
    while len(events) - len(first.events) <= LONGEST:
        assert cut_off(events, first) is first
        events += _said(len(events))
    second = cut_off(events, first)
    assert second is not None
    assert len(second.events) == len(events) - KEPT
    done, view = second.view("agent")
    assert done == len(first.events)
    assert view is first.view("agent")[1]


@pytest.mark.parametrize("later", [_rewound(-1, 3), _tie(5, -1)], ids=["rewind", "answer"])
def test_a_cut_that_no_longer_holds_is_given_up(later: Callable[[list[Event]], None]) -> None:
    """For one before whatever has been reached."""
    events = _history()
    events[5] = _event(2, "agent", _calling("c"))
    first = cut_off(events)
    events += _said(TURNS)
    later(events)
    second = cut_off(events, first)
    assert first is not None
    assert second is not None
    assert len(first.events) == LAST
    assert len(second.events) < 8


def test_views_are_bounded() -> None:
    """The oldest goes first."""
    found = cut_off(_history())
    assert found is not None
    for number in range(MOST_VIEWS + 1):
        found.keep_view(
            f"agent {number}", PrefixContents(e.content for e in found.events if e.content)
        )
    assert found.view("agent 0")[0] == 0
    assert found.view("agent 1")[0] == len(found.events)
    assert found.weight > MOST_VIEWS * len(found.events) * 1000


# --------------------------------------------------------------------------- views


def _contents() -> list[types.Content]:
    picture = types.Blob(data=b"x", mime_type="image/png", display_name="x.png")
    return [
        types.Content(role="user", parts=[types.Part(text="Hi."), types.Part(inline_data=picture)]),
        types.Content(role="model", parts=[_calling("c")]),
        types.Content(role="user", parts=[_answering("c")]),
        types.Content(role="model", parts=[types.Part(text="Yes.", thought=True)]),
        types.Content(role="model"),
    ]


def _replace(contents: list[types.Content]) -> None:
    contents[0] = contents[1]


def _parts(contents: list[types.Content]) -> list[types.Part]:
    return contents[0].parts or []


CHANGES: dict[str, Callable[[list[types.Content]], object]] = {
    "nothing": lambda contents: None,
    "the list": lambda contents: contents.pop(),
    "another content": _replace,
    "a role": lambda contents: setattr(contents[1], "role", "user"),
    "the parts": lambda contents: setattr(contents[0], "parts", []),
    "parts that come where none were": lambda contents: setattr(contents[4], "parts", []),
    "one part less": lambda contents: _parts(contents).pop(),
    "one part more": lambda contents: _parts(contents).append(types.Part(text="Oh.")),
    "another part": lambda contents: _parts(contents).reverse(),
    "a text": lambda contents: setattr(_parts(contents)[0], "text", "Oh."),
    "a thought": lambda contents: setattr((contents[3].parts or [])[0], "thought", None),
    "data": lambda contents: setattr(_parts(contents)[1], "inline_data", None),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_view_gives_what_it_was_made_of(change: Callable[[list[types.Content]], object]) -> None:
    """Whatever whoever got it before has made of it, and twice."""
    view = PrefixContents(_contents())
    for _ in range(2):
        given = view.contents()
        assert given == _contents()
        change(given)
    assert view.followed_by(_contents()[:1]).contents() == [*_contents(), _contents()[0]]
