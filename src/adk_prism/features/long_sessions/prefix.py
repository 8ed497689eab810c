"""The prefix of a session: events that no later event refers to, so that a run can work without them.

google-adk builds every model request from all of a session's events. If nothing connects the events
before a cut to those after it, the request is the contents of the former followed by the contents of the
latter. The contents of the *prefix* can be cached, and a run gets only the events after it.

A cut is before a message of the user, and no invocation, call or rewind has events on both sides. The
prefix has one lane: no branch, no isolation scope. A session with a summary of older events is not cut. If
an event of a run refers to the prefix (`tied`), the run gets all events back.

*Contents* of a prefix, as one agent sees them, are reused from one request to the next.
ADK copies every content and part for every request, because the receiver of a request may change it. With
thousands of them that is most of the cost of a turn. This class returns the same objects again, after it
has checked that they are unchanged; changed ones are restored. Deeper values (arguments, answers, data)
are shared with the session's events, as in ADK.

The *placeholder* of a prefix is one event in a run's session, one content in a model's request.
A run that gets only the events after a cut finds a placeholder before them. ADK treats it as a message, so
it reaches every request that shows the history, at the right position, and no other request. There it is
replaced by the contents of the prefix. So the request alone says whether it was built from the short list
and with which prefix, whatever happens to the session meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import eq
from typing import Any, Self, TypeVar

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.session import Session
from google.genai import types
from pydantic import BaseModel, PrivateAttr

from adk_prism.adk.request import Placeholder

_Model = TypeVar("_Model", bound=BaseModel)
_Described = TypeVar("_Described")

CONTENT_BYTES = 2300
"""What a content with one part takes beside its text, which it shares with its event (measured)."""


class PrefixContents:
    """Contents in order, with a copy of their original values."""

    def __init__(self, contents: Iterable[types.Content] = ()) -> None:
        self._keep(list(contents))

    def _keep(self, contents: list[types.Content]) -> None:
        self._contents = contents
        self._described: list[Any] = []
        self._parts = [part for content in self._contents for part in content.parts or ()]
        self._made_parts = [dict(vars(part)) for part in self._parts]
        self._made: list[dict[str, Any]] = [
            {**vars(content), "parts": content.parts and list(content.parts)}
            for content in self._contents
        ]

    @property
    def weight(self) -> int:
        """Return the bytes that it takes, roughly."""
        return len(self._contents) * CONTENT_BYTES

    @property
    def last(self) -> types.Content | None:
        """The last content, not to be changed."""
        return self._contents[-1] if self._contents else None

    def contents(self) -> list[types.Content]:
        """Return the contents for one request; the previous request must be finished."""
        as_made = all(map(eq, map(vars, self._parts), self._made_parts)) and all(
            map(eq, map(vars, self._contents), self._made)
        )
        if not as_made:
            self._make()
        return list(self._contents)

    def described(self, describe: Callable[[types.Content], _Described]) -> list[_Described]:
        """Return what a function returns for each content; it is called once for each.

        It is for contents as they were made, and must always be the same function.
        """
        known = self._described
        known += [describe(content) for content in self._contents[len(known) :]]
        return list(known)

    def followed_by(self, more: Iterable[types.Content]) -> PrefixContents:
        """Return a view of these contents and more."""
        longer = PrefixContents(more)
        longer._contents[:0] = self._contents
        longer._parts[:0] = self._parts
        longer._made_parts[:0] = self._made_parts
        longer._made[:0] = self._made
        longer._described = list(self._described)
        return longer

    def _make(self) -> None:
        """Create all contents again from their original values."""
        pairs = zip(self._parts, self._made_parts, strict=True)
        parts = {id(part): _made(part, made) for part, made in pairs}
        contents: list[types.Content] = []
        for content, made in zip(self._contents, self._made, strict=True):
            fresh = made["parts"] and [parts[id(part)] for part in made["parts"]]
            contents.append(_made(content, {**made, "parts": fresh}))
        self._keep(contents)


def _made(model: _Model, values: dict[str, Any]) -> _Model:
    copy = model.model_copy()
    vars(copy).update(values)
    return copy


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


_TEXT = "[{} earlier events of this session, which are put back when the model is asked]"
"""Visible to code that reads the short session, and in the spans of a request."""


class PrefixPlaceholder(Placeholder):
    """A content that represents a prefix."""

    _prefix: Prefix = PrivateAttr()
    _view: PrefixContents = PrivateAttr()
    _sent: LlmRequest | None = PrivateAttr(default=None)

    @classmethod
    def of(cls, prefix: Prefix) -> PrefixPlaceholder:
        """Return the mark of a prefix.

        As the model's: what ADK puts before the last messages of the user comes after it.
        """
        mark = cls(role="model", parts=[types.Part(text=_TEXT.format(len(prefix.events)))])
        mark._prefix = prefix
        return mark

    @property
    def prefix(self) -> Prefix:
        """What it represents."""
        return self._prefix

    def show(self, view: PrefixContents) -> None:
        """Set what it represents in its request: each request has its own mark."""
        self._view = view

    def contents(self) -> list[types.Content]:
        """Return what it represents in its request."""
        return self._view.contents()

    def described(self, describe: Callable[[types.Content], _Described]) -> list[_Described]:
        """Return what a function returns for each content that it represents in its request."""
        return self._view.described(describe)

    @property
    def sent(self) -> LlmRequest | None:
        """The request that the model got, with the contents of the prefix."""
        return self._sent

    def note_sent(self, request: LlmRequest) -> None:
        """Note the request that the model gets."""
        self._sent = request


class AfterPrefix(GetSessionConfig):
    """Asks for a session without its prefix. To any other service it is a config without a limit."""

    speakers: frozenset[str]
    """Agents of which one must have spoken after the cut, so that ADK finds who speaks next."""


def prefix_of(session: Session) -> Prefix | None:
    """Return the prefix that was taken off a session."""
    content = session.events[0].content if session.events else None
    return content.prefix if isinstance(content, PrefixPlaceholder) else None


def shorten(session: Session, prefix: Prefix) -> None:
    """Replace the prefix by the mark."""
    mark = Event(
        author="user",
        invocation_id=Event.new_id(),
        content=PrefixPlaceholder.of(prefix),
        timestamp=prefix.message.timestamp,
    )
    session.events[: len(prefix.events)] = [mark]


def restore(session: Session) -> None:
    """Replace the mark by the prefix: the run continues with all events."""
    prefix = prefix_of(session)
    if prefix is not None:
        session.events[:1] = prefix.events


def find_mark(contents: Sequence[types.Content]) -> PrefixPlaceholder | None:
    """Return the mark in a request's contents."""
    return next((each for each in contents if isinstance(each, PrefixPlaceholder)), None)


def put_back(contents: Sequence[types.Content]) -> list[types.Content]:
    """Return contents with what a mark among them represents in its place."""
    whole: list[types.Content] = []
    for content in contents:
        whole.extend(content.contents() if isinstance(content, PrefixPlaceholder) else (content,))
    return whole
