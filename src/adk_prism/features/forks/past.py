"""A session as it was at a moment: cut from the session itself, or rebuilt from the logs of its runs.

ADK has no fork. A copy in which a Runner continues as in the original (tested on ADK's in-memory, SQLite and
database services) follows these rules:
- **ids and times stay**, of events, invocations and calls: rewinds, approvals and resuming depend on them,
  and the services store events per session;
- **shared state is not copied**: an appended event writes its `user:` and `app:` changes for every session,
  so the copies leave them out. The fork sees the current values;
- **initial state is an event**, the first one, so that a rewind in the fork keeps it;
- **rewound turns are left out**;
- **order of the log**: a persistent service reloads events by their times, which parallel agents mix up; the
  last writer of a key is the one that wrote last.

The original session is only read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pydantic
from google.adk.artifacts.base_artifact_service import ArtifactVersion, BaseArtifactService
from google.adk.events.event import Event
from google.adk.sessions.session import Session
from google.genai import types
from msgspec import Raw, Struct

from adk_prism.adk import request
from adk_prism.adk.internals.log_lines import mark_restored
from adk_prism.adk.session_store import apply_rewinds, find_call, is_copy
from adk_prism.adk.sessions import SHARED, copied, recorded_state, state_events
from adk_prism.errors import Unprocessable
from adk_prism.facts.adk_event import INPUT
from adk_prism.facts.state import read_stored
from adk_prism.log.entry import RESPONSES, Decision, Origin, RunStarted

EARLIER = 0.001
"""Seconds by which a generated event precedes the first real one."""

_SHARED = "user:"
"""How the names of artifacts begin that all sessions of a user share."""


class Past(Struct, frozen=True, kw_only=True):
    """Where a session is cut, according to the logs of its runs."""

    invocation: str
    """Of the run that is cut."""
    places: Mapping[str, int]
    """Events up to the cut, by id: their order."""
    later: frozenset[str]
    """Events of the cut run that come after."""
    started: float
    """When the cut run began."""
    until: float
    """When the cut was."""
    said_before: float
    """Messages and answers of the cut run's invocation count that are older than this."""
    state: Mapping[str, Raw]
    """The state before the cut run, as it was recorded."""


class Cuttings(Struct, frozen=True):
    """What a new session is made of."""

    events: Sequence[Event]
    saved: Mapping[str, int]
    """Artifacts that had been saved: the highest version of each."""
    unsaved: Mapping[str, int]
    """Those that were saved only later: the lowest version of each."""


def cut_session(session: Session, past: Past) -> Cuttings | None:
    """Return the session as it was at the cut; None if it is not the session of the log."""
    if past.places and not any(event.id in past.places for event in session.events):
        return None
    before = [event for event in session.events if _was_there(event, past)]
    kept = {id(event) for event in before}
    after = [event for event in session.events if id(event) not in kept]
    live = _in_order(apply_rewinds(before), past.places)
    return Cuttings(
        [*_initial(session.state, past, live), *map(copied, live)],
        versions(before, highest=True),
        versions(after, highest=False),
    )


def _was_there(event: Event, past: Past) -> bool:
    if event.id in past.places:
        return True
    if event.id in past.later:
        return False
    if event.invocation_id == past.invocation and not is_copy(event):
        # Events that the log does not have are the user's: the message, answers to calls.
        limit = past.said_before if event.author == "user" else past.started
        return event.timestamp < limit
    return event.timestamp <= past.until


def _in_order(events: Sequence[Event], places: Mapping[str, int]) -> list[Event]:
    """Return the events: those of the log in its order, the others in their places."""
    logged = iter(sorted((e for e in events if e.id in places), key=lambda e: places[e.id]))
    return [next(logged) if event.id in places else event for event in events]


def _initial(state: Mapping[str, Any], past: Past, live: Sequence[Event]) -> list[Event]:
    """Return the event that holds the state which no event before the run had written."""
    written = {k for e in live if e.timestamp < past.started for k in e.actions.state_delta}
    recorded = {key: value for key, value in past.state.items() if key not in written}
    first = min((event.timestamp for event in live), default=past.started)
    return state_events(recorded_state(state, recorded), first - EARLIER)


def without_state(events: Sequence[Event], keys: Collection[str]) -> list[Event]:
    """Return events that do not set some keys of the state: a session of them never had these."""
    for event in events:
        delta = event.actions.state_delta
        event.actions.state_delta = {k: v for k, v in delta.items() if k not in keys}
    return list(events)


def versions(events: Sequence[Event], *, highest: bool) -> dict[str, int]:
    """Return the highest or lowest version of each artifact that events saved."""
    found: dict[str, int] = {}
    for event in events:
        for name, version in event.actions.artifact_delta.items():
            known = found.get(name, version)
            found[name] = max(known, version) if highest else min(known, version)
    return found


# ---------------------------------------------------------------------------
# Artifacts as they were at a moment, saved again under another session.
#
# Versions count from 0 per name and session in every service of google-adk 2.13, so all of a name's
# versions are saved in their order, also those that a rewind has overtaken: then every number that
# the history mentions is right. A version that is not there (a tombstone of a rewind, or lost)
# becomes a tombstone. The user's own artifacts (`user:`) are shared by all sessions of that user, and
# are not copied.

_TOMBSTONE = types.Part(inline_data=types.Blob(mime_type="application/octet-stream", data=b""))
"""What ADK's rewind saves for an artifact that was not there; it loads as nothing."""


class ArtifactCopies(Struct, frozen=True):
    """Copies the artifacts of one session to another."""

    service: BaseArtifactService
    source: Origin | None
    """None: a session that this server never had."""
    target: Origin

    async def copy(self, cuttings: Cuttings, until: float) -> list[str]:
        """Copy the artifacts; return the names of those that events mention and that cannot be found.

        An artifact that no event mentions (a client's upload) is copied if it was saved before `until`.
        """
        named = [name for name in cuttings.saved if not name.startswith(_SHARED)]
        missing = []
        for name in dict.fromkeys([*named, *await self._names()]):
            first_later = cuttings.unsaved.get(name, float("inf"))
            last = cuttings.saved.get(name, -1)
            found = await self._versions(name)
            there = [
                version.version <= last
                or (version.version < first_later and version.create_time <= until)
                for version in found
            ]
            await self._copy(name, found[: _count(there)])
            if name in cuttings.saved and not any(there):
                missing.append(name)
        return missing

    async def discard(self) -> None:
        """Delete what was copied."""
        where = _where(self.target)
        for name in await self.service.list_artifact_keys(**where):
            if not name.startswith(_SHARED):
                await self.service.delete_artifact(filename=name, **where)

    async def _names(self) -> list[str]:
        if self.source is None:
            return []
        names = await self.service.list_artifact_keys(**_where(self.source))
        return [name for name in names if not name.startswith(_SHARED)]

    async def _versions(self, name: str) -> list[ArtifactVersion]:
        if self.source is None:
            return []
        found = await self.service.list_artifact_versions(filename=name, **_where(self.source))
        return sorted(found, key=lambda version: version.version)

    async def _copy(self, name: str, found: Sequence[ArtifactVersion]) -> None:
        assert self.source is not None or not found
        for version in found:
            part = await self.service.load_artifact(
                filename=name, version=version.version, **_where(self.source or self.target)
            )
            await self.service.save_artifact(
                filename=name,
                artifact=part or _TOMBSTONE,
                custom_metadata=version.custom_metadata or None,
                **_where(self.target),
            )


def _count(there: Sequence[bool]) -> int:
    """Return how many versions are copied: all up to the last one that was there."""
    return max((index + 1 for index, was in enumerate(there) if was), default=0)


def _where(origin: Origin) -> dict[str, str]:
    return {"app_name": origin.app, "user_id": origin.user, "session_id": origin.session}


class Chapter(Struct, frozen=True):
    """One run of a session, up to the cut."""

    head: RunStarted
    started: float
    events: Sequence[bytes]
    """Its whole events."""
    said: bool = True
    """Whether what the user said at its beginning counts."""


def rebuild(chapters: Sequence[Chapter]) -> Cuttings:
    """Return what a session was. Raise `Unprocessable` for an event that this ADK cannot read."""
    events: list[Event] = []
    state: dict[str, Any] = {}
    for chapter in chapters:
        delta = _difference(chapter.head.state, state)
        events += state_events(delta, chapter.started - EARLIER)
        if chapter.said:
            events += _said(chapter, events)
        logged = [_read(event) for event in chapter.events]
        events += logged
        state |= delta
        for event in logged:
            state |= copied(event).actions.state_delta
    known = _without_orphans(events)
    return Cuttings([copied(event) for event in known], versions(known, highest=True), {})


def _difference(recorded: Mapping[str, Raw], state: Mapping[str, Any]) -> dict[str, Any]:
    values = {k: read_stored(v) for k, v in recorded.items() if not k.startswith(SHARED)}
    return {k: v for k, v in values.items() if k not in state or state[k] != v}


def _read(data: bytes) -> Event:
    try:
        return Event.model_validate_json(data)
    except pydantic.ValidationError as error:
        where = ".".join(str(step) for step in error.errors(include_url=False)[0]["loc"])
        raise Unprocessable(
            f"An event of the recording is not valid for the installed google-adk, at {where[:80]!r}."
        ) from None


def _said(chapter: Chapter, before: Sequence[Event]) -> list[Event]:
    """Return the user's events with which a run began."""
    head = chapter.head
    if head.continues is not None:
        held = head.continues.held
        said = [] if held else _answering_events(request.answers_of(head.continues), before)
    elif RESPONSES.read(head):
        said = _answering_events(request.responses_of(RESPONSES.read(head)), before)
    elif not bytes(head.message):
        return []
    elif (question := _open_question(before, head.invocation)) is not None:
        said = request.answer_events(before, [_typed(question, request.read_content(head.message))])
    else:
        content = request.read_content(head.message)
        said = [Event(author="user", invocation_id=head.invocation, content=content)]
    return [event.model_copy(update={"timestamp": chapter.started}) for event in said]


def _answering_events(
    answers: tuple[list[request.CallAnswer], list[Decision]], before: Sequence[Event]
) -> list[Event]:
    results, decisions = answers
    given = [each.function_response() for each in results] + [
        *map(request.decision_response, decisions)
    ]
    return request.answer_events(before, [r for r in given if _is_known(r, before)])


def _is_known(response: types.FunctionResponse, before: Sequence[Event]) -> bool:
    return bool(response.id) and find_call(before, response.id or "") is not None


def _open_question(before: Sequence[Event], invocation: str) -> str | None:
    """Return the question of a workflow to which typed words are the answer."""
    asked = [
        c.id
        for e in before
        if e.invocation_id == invocation
        for c in e.get_function_calls()
        if c.name == INPUT
    ]
    answered = {answer.id for event in before for answer in event.get_function_responses()}
    return next((call for call in reversed(asked) if call not in answered), None)


def _typed(question: str, content: types.Content) -> types.FunctionResponse:
    text = "".join(part.text or "" for part in content.parts or [])
    return types.FunctionResponse(id=question, name=INPUT, response={"result": text})


def _without_orphans(events: Sequence[Event]) -> list[Event]:
    """Return events without answers to calls that are not among them."""
    made = {call.id for event in events for call in event.get_function_calls()}
    return [_answering(event, made) for event in events]


def _answering(event: Event, made: set[str | None]) -> Event:
    answers = event.get_function_responses()
    if all(answer.id in made for answer in answers) or event.content is None:
        return event
    parts = [
        part
        for part in event.content.parts or []
        if part.function_response is None or part.function_response.id in made
    ]
    content = event.content.model_copy(update={"parts": parts}) if parts else None
    return event.model_copy(update={"content": content})


# --------------------------------------------------------------------------- untrusted history


def restored(events: Sequence[Event]) -> list[Event]:
    """Return events as a session may begin with them: every call has its response, all are marked."""
    kept = _answered_calls(events)
    return [mark_restored(_without_open(event, index, kept)) for index, event in enumerate(events)]


def _answered_calls(events: Sequence[Event]) -> frozenset[tuple[int, str]]:
    """Return the calls, and the one response of each, that follow each other: event and call id."""
    made: dict[str, int] = {}
    kept: set[tuple[int, str]] = set()
    done: set[str] = set()
    for index, event in enumerate(events):
        for response in event.get_function_responses():
            call = response.id or ""
            if call in made and call not in done:
                done.add(call)
                kept |= {(made[call], call), (index, call)}
        for made_call in event.get_function_calls():
            if made_call.id:
                made.setdefault(made_call.id, index)
    return frozenset(kept)


def _without_open(event: Event, index: int, kept: frozenset[tuple[int, str]]) -> Event:
    parts = event.content.parts if event.content is not None else None
    if not parts:
        return event
    parts_kept: list[types.Part] = []
    seen: set[str] = set()
    for part in parts:
        about = part.function_call or part.function_response
        if about is None:
            parts_kept.append(part)
        elif (index, about.id or "") in kept and about.id not in seen:
            seen.add(about.id or "")
            parts_kept.append(part)
    if len(parts_kept) == len(parts):
        return event
    content = (
        event.content.model_copy(update={"parts": parts_kept})
        if parts_kept and event.content
        else None
    )
    return event.model_copy(update={"content": content})
