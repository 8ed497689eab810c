"""The prefix of a session: events that no later event refers to, so that a run can work without them.

google-adk builds every model request from all of a session's events. If nothing connects the events
before a cut to those after it, the request is the contents of the former followed by the contents of the
latter. The contents of the *prefix* can be cached, and a run gets only the events after it.

A cut is before a message of the user, and no invocation, call or rewind has events on both sides. The
prefix has one lane: no branch, no isolation scope. A session with a summary of older events is not cut. If
an event of a run refers to the prefix (`tied`), the run gets all events back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

from google.adk.events.event import Event

from adk_prism.source.prefix.contents import PrefixContents

KEPT = 16
"""Events after the cut, at least: the last few turns stay with the run."""

LONGEST = 48
"""Events after the cut before it moves on. The next cut is searched about once in ten turns."""

MOST_VIEWS = 8
"""Agents whose view of one prefix is cached; each is a list of contents as long as the prefix."""


class Prefix:
    """The events before a cut, what they are tied to, and their contents as each agent sees them."""

    def __init__(
        self, events: Sequence[Event], message: Event, shorter: Prefix | None = None
    ) -> None:
        """`message` is the event after the cut; `shorter`, an earlier cut of the same session."""
        self.events = events
        self.message = message
        self._ties: set[str] = set()
        self._views: dict[str, tuple[int, PrefixContents]] = {}
        known = 0
        if shorter is not None:
            known = len(shorter.events)
            self._ties |= shorter._ties
            self._views |= shorter._views
        for event in events[known:]:
            self._ties |= ties(event)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # It never changes, and is as large as the session.

    def tied(self, event: Event) -> bool:
        """Return whether an event after the cut refers to one before it."""
        return _sums_up(event) or not self._ties.isdisjoint(ties(event))

    def view(self, who: str) -> tuple[int, PrefixContents]:
        """Return the cached view of an agent, and how many events it covers."""
        return self._views.get(who, (0, PrefixContents()))

    def keep_view(self, who: str, view: PrefixContents) -> None:
        """Cache what an agent sees of the whole prefix."""
        if who not in self._views and len(self._views) >= MOST_VIEWS:
            self._views.pop(next(iter(self._views)))
        self._views[who] = len(self.events), view

    @property
    def weight(self) -> int:
        """Return the bytes of the views, roughly; the events are the session's."""
        return sum(view.weight for _, view in self._views.values())


def cut_off(events: Sequence[Event], known: Prefix | None = None) -> Prefix | None:
    """Return the prefix of a session: the known one, a longer one that begins with it, or another.

    None if there is no cut that leaves `KEPT` events.
    """
    if known is not None:
        rest = events[len(known.events) :]
        if len(rest) < KEPT or any(map(known.tied, rest)):
            known = None
    begin = len(known.events) if known is not None else 0
    if known is not None and len(events) - begin <= LONGEST:
        return known
    found = _closed_cut(events[begin:])
    if not found:
        return known
    cut = begin + found
    return Prefix(events[:cut], events[cut], known)


def _closed_cut(events: Sequence[Event]) -> int:
    """Return the last place at which events can be cut; 0 if there is none."""
    if any(map(_sums_up, events)):
        return 0
    tied = [ties(event) for event in events]
    last = {tie: place for place, each in enumerate(tied) for tie in each}
    cut, reach = 0, -1
    for place, event in enumerate(events[: max(0, len(events) - KEPT + 1)]):
        if reach < place and _is_message(event):
            cut = place
        if not _is_plain(event):
            break
        reach = max([reach, *(last[tie] for tie in tied[place])])
    return cut


def ties(event: Event) -> set[str]:
    """Return the keys that connect an event with others.

    A model may give the same id to two calls, and ADK then reads both differently: also a tie.
    """
    found = {f"call {call}" for call in _calls(event)}
    if event.invocation_id:
        found.add(f"invocation {event.invocation_id}")
    if rewound := event.actions.rewind_before_invocation_id:
        found.add(f"invocation {rewound}")
    return found


def _calls(event: Event) -> Iterator[str | None]:
    """Yield the calls that an event makes, answers, waits for, or was made under."""
    for part in (event.content.parts if event.content is not None else None) or ():
        if part.function_call is not None:
            yield part.function_call.id
        if part.function_response is not None:
            yield part.function_response.id
    yield from event.long_running_tool_ids or ()
    if event.isolation_scope:
        yield event.isolation_scope
    for step in (event.branch or "").split("."):
        yield from step.split("@")[1:]


def _sums_up(event: Event) -> bool:
    """Return whether an event is a summary of others: ADK then leaves those out, and sorts by time."""
    return event.actions.compaction is not None


def _is_plain(event: Event) -> bool:
    """Return whether every agent of the conversation sees an event, in its place."""
    if event.branch or event.isolation_scope:
        return False
    return event.author != "user" or not event.node_info.path


def _is_message(event: Event) -> bool:
    """Return whether an event is a message of the user, which every agent is shown."""
    content = event.content
    if event.author != "user" or content is None or content.role != "user":
        return False
    if not _is_plain(event) or event.get_function_responses():
        return False
    return any(
        (part.text or part.inline_data or part.file_data) and not part.thought
        for part in content.parts or ()
    )
