"""What a session was at a moment: which of its events count, in which order, and what a copy may write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.session import Session
from google.genai import types
from tests.adk.runs import ORIGIN, new_runner
from tests.adk.scripted import Scripted

from adk_prism.adk.sessions import Sessions, copied, plant
from adk_prism.errors import Conflict
from adk_prism.features.forks.past import Past, cut_session
from adk_prism.log.entry import Origin, to_raw

TARGET = Origin(app=ORIGIN.app, user=ORIGIN.user, session="fork")


def event(
    id: str, time: float, author: str = "agent", invocation: str = "e-2", **more: Any
) -> Event:
    actions = EventActions(
        state_delta=more.pop("delta", {}), rewind_before_invocation_id=more.pop("rewind", None)
    )
    content = types.Content(parts=[types.Part(text=id)])
    return Event(
        id=id,
        timestamp=time,
        author=author,
        invocation_id=invocation,
        actions=actions,
        content=content,
        **more,
    )


def past(*told: str, **more: Any) -> Past:
    """Return a cut of invocation `e-2`, which began at 10, at the time 20."""
    defaults: dict[str, Any] = {
        "invocation": "e-2",
        "places": {id: place for place, id in enumerate(told)},
        "later": frozenset({"later"}),
        "started": 10.0,
        "until": 20.0,
        "said_before": 30.0,
        "state": {},
    }
    return Past(**defaults | more)


def cut(events: list[Event], where: Past, **state: Any) -> list[Event]:
    session = Session(id="s", app_name="app", user_id="u", events=events, state=state)
    found = cut_session(session, where)
    assert found is not None
    return list(found.events)


def ids(events: list[Event]) -> list[str]:
    return [event.id for event in events]


def test_what_the_log_does_not_have_is_told_by_its_time_and_its_author() -> None:
    """Messages and answers of the run count, whenever it stored them; what others did later does not."""
    events = [
        event("unlogged turn", 5, invocation="e-1"),
        event("state before", 9, "user", "p-1"),
        event("message", 10.5, "user"),
        event("told", 12),
        event("not told yet", 13),
        event("later", 14),
        event("answer of the next run", 31, "user"),
        event("state after", 25, "user", "p-2"),
        event("next turn", 40, invocation="e-3"),
    ]
    assert ids(cut(events, past("told"))) == ["unlogged turn", "state before", "message", "told"]


def test_a_run_that_is_started_again_has_said_nothing() -> None:
    """Its message comes again, so it is not there yet."""
    events = [event("before", 5, invocation="e-1"), event("message", 10.5, "user")]
    where = past("before", until=10.0, said_before=10.0)
    assert ids(cut(events, where)) == ["before"]


def test_turns_that_were_taken_back_by_then_are_left_out() -> None:
    """A rewind after the cut has not happened: what it took back is there."""
    events = [
        event("kept", 1, invocation="e-0"),
        event("void", 2, invocation="e-1"),
        event("rewind", 3, "user", "e-r", rewind="e-1"),
        event("told", 12),
        event("rewind later", 25, "user", "e-r2", rewind="e-0"),
    ]
    assert ids(cut(events, past("kept", "told"))) == ["kept", "told"]


def test_events_come_in_the_order_of_the_log() -> None:
    """A service that reloads by time mixes parallel agents up; what the log has not stays in place."""
    events = [
        event("message", 10.5, "user"),
        event("b", 11, delta={"k": "b"}),
        event("a", 12, delta={"k": "a"}),
        event("c", 13),
    ]
    assert ids(cut(events, past("a", "b", "c"))) == ["message", "a", "b", "c"]


def test_initial_state_is_what_no_event_before_the_run_had_written() -> None:
    """An event of its own, before all others, with the session's own values where they are the same."""
    secret = {"rawAuthCredential": {"authType": "apiKey", "apiKey": "s3cret"}}
    shown = {"rawAuthCredential": {"authType": "apiKey"}}
    events = [
        event("told", 5, invocation="e-1", delta={"written": 1}),
        event("run", 12, delta={"x": 2}),
    ]
    recorded = {"given": 1, "written": 1, "auth": shown, "x": 1, "user:plan": "gold", "app:a": 1}
    where = past("told", "run", state={key: to_raw(value) for key, value in recorded.items()})
    first, *rest = cut(events, where, given=1, auth=secret, written=1, x=2)
    assert first.actions.state_delta == {"given": 1, "auth": secret, "x": 1}
    assert (first.author, first.content) == ("user", None)
    assert first.timestamp < 5
    assert ids(rest) == ["told", "run"]


def test_a_copy_writes_to_its_own_session_only() -> None:
    """Ids, times and everything else stay; the original is not touched."""
    original = event("e", 1, delta={"own": 1, "user:plan": "gold", "app:motto": "x"}, branch="b")
    before = original.model_dump()
    copy = copied(original)
    assert copy.actions.state_delta == {"own": 1}
    copy.actions.state_delta = dict(original.actions.state_delta)
    assert copy.model_dump() == original.model_dump() == before


def test_another_session_of_the_same_name_is_not_taken_for_it() -> None:
    """Deleted and made anew: none of the events that the log tells of are there."""
    session = Session(id="s", app_name="app", user_id="u", events=[event("other", 12)])
    assert cut_session(session, past("told")) is None


class Broken(list[Event]):
    """Events of which one cannot be had."""

    def __iter__(self) -> Iterator[Event]:
        yield from list(super().__iter__())
        raise OSError("full")


async def test_a_session_is_made_whole_or_not_at_all(service: BaseSessionService) -> None:
    """An event that cannot be stored leaves no session; one that was there before is not touched."""
    runner = await new_runner(LlmAgent(name="a", model=Scripted()), service, state={"k": 1})
    sessions = Sessions(service)
    events = [event("one", 1, delta={"n": 1}), event("two", 2, delta={"n": 2})]
    await plant(runner, TARGET, events)
    planted = await sessions.get(TARGET)
    assert (ids(planted.events), planted.state) == (["one", "two"], {"n": 2})
    with pytest.raises(Conflict):
        await plant(runner, ORIGIN, events)
    assert await sessions.state(ORIGIN) == {"k": 1}

    other = Origin(app=ORIGIN.app, user=ORIGIN.user, session="other")
    with pytest.raises(OSError, match="full"):
        await plant(runner, other, Broken(events))
    assert not await sessions.exists(other)
