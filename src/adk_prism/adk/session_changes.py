"""Changes of a session as runs: a rewind, a state-only update, stored answers. No model is called.

So they are in the log like everything else: what a rewind took back, and the resulting state.
"""

from __future__ import annotations

import time
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from itertools import takewhile
from typing import Any
from uuid import uuid4

from google.adk.artifacts.base_artifact_service import ArtifactVersion, BaseArtifactService
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.runners import Runner
from google.adk.sessions.session import Session
from google.genai import types
from msgspec import Raw, Struct, structs

from adk_prism.adk.agents import list_agents, root_kind
from adk_prism.adk.redaction import Serialiser, redacted_continues, state_json
from adk_prism.adk.request import Emit, RunRequest, answer_events
from adk_prism.adk.session_store import COPY, apply_rewinds, is_copy, live_events
from adk_prism.adk.sessions import SHARED, Sessions, load_session, new_state_event, recorded_state
from adk_prism.errors import Conflict, Report, ignore
from adk_prism.log.entry import (
    STREAMING,
    WRITTEN_BY,
    Agent,
    AgentEvent,
    Origin,
    Record,
    RunStarted,
    labels,
)
from adk_prism.version import VERSION

# ---------------------------------------------------------------------------
# The history of a session up to a moment, and a new session that begins with it.
#
# ADK has no fork. A copy in which a Runner continues as in the original (tested on ADK's in-memory,
# SQLite
# and database services) follows these rules:
# - **ids and times stay**, of events, invocations and calls. Rewinds, approvals and resuming depend on
#   them,
#   and the services store events per session;
# - **shared state is not copied**: an appended event writes its `user:` and `app:` changes for every
#   session,
#   so the copies leave them out. The fork sees the current values;
# - **initial state is an event**, the first one, so that a rewind in the fork keeps it;
# - **rewound turns are left out**;
# - **order of the log**: a persistent service reloads events by their times, which parallel agents mix
#   up;
#   the last writer of a key is the one that wrote last.
#
# The original session is only read.

EARLIER = 0.001
"""Seconds by which a generated event precedes the first real one."""


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


def state_events(delta: Mapping[str, Any], time: float) -> list[Event]:
    """Return one event that sets state at a time, or none if there is nothing to set."""
    if not delta:
        return []
    return [new_state_event(delta).model_copy(update={"timestamp": time})]


def copied(event: Event) -> Event:
    """Return a copy that writes to its own session only."""
    copy = event.model_copy(deep=True)
    delta = copy.actions.state_delta
    copy.actions.state_delta = {k: v for k, v in delta.items() if not k.startswith(SHARED)}
    return copy


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


async def plant(runner: Runner, origin: Origin, events: Sequence[Event]) -> None:
    """Create a session from events. Raise `Conflict` if it exists, and leave that one as it is.

    If anything else is raised, no session remains.
    """
    sessions = Sessions(runner.session_service)
    session = await sessions.create(origin)
    try:
        for event in events:
            await runner.session_service.append_event(session, event)
    except BaseException:
        await sessions.delete(origin)
        raise


def resumable_past(runner: Runner, events: Sequence[Event]) -> list[Event]:
    """Return events after which ADK continues where they end.

    A workflow treats a node whose last event is an unanswered call as done. So the call is left out, except
    for the state that came with it, and the node asks its model again. Other roots handle it: a resumable
    one runs the call, any other asks its model again.
    """
    if root_kind(runner.agent) != "workflow":
        return list(events)
    answered = {answer.id for event in events for answer in event.get_function_responses()}
    past: list[Event] = []
    for event in events:
        if _is_settled(event, answered):
            past.append(event)
        else:
            past += state_events(event.actions.state_delta, event.timestamp)
    return past


def _is_settled(event: Event, answered: set[str | None]) -> bool:
    waits = event.long_running_tool_ids or set()
    return all(call.id in answered or call.id in waits for call in event.get_function_calls())


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


# ---------------------------------------------------------------------------


class _SessionChange:
    """A change of one session. No agent runs, so nothing can be cancelled or fail halfway."""

    def __init__(
        self,
        runner: Runner,
        request: RunRequest,
        *,
        agents: Sequence[Agent] | None = None,
        report: Report = ignore,
    ) -> None:
        """Nothing happens yet. `agents` saves reading them from the Runner."""
        self._runner = runner
        self._request = request
        self._run = request.run
        self._origin = request.origin
        self._agents = list_agents(runner.agent) if agents is None else list(agents)
        self._serialiser = Serialiser(report, run=request.run, app=request.origin.app)

    @property
    def correlation(self) -> str:
        """Empty, unless an event of the session held an exception's text."""
        return self._serialiser.correlation

    def cancel(self) -> None:
        """Do nothing: the change is over before anyone could stop it."""


class Rewind(Struct, frozen=True):
    """What is rewound."""

    invocation: str
    """The first one; all after it go too."""
    state: Mapping[str, Raw] | None
    """The state before it, as it was recorded; None if unknown."""
    replaces: str
    """The first message that is void, empty if the log has none."""


class RewindSource(_SessionChange):
    """One rewind of a session.

    The rewind happens before the first record, so that one that fails leaves no trace. Its events follow:
    ADK's own, which restores the state, and ours, which fixes what ADK's leaves out.
    """

    def __init__(
        self,
        runner: Runner,
        run: str,
        origin: Origin,
        plan: Callable[[], Awaitable[Rewind]],
        *,
        agents: Sequence[Agent] | None = None,
        report: Report = ignore,
    ) -> None:
        """`plan` is called when the session is locked."""
        request = RunRequest(run=run, origin=origin)
        super().__init__(runner, request, agents=agents, report=report)
        self._plan = plan

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record, None]:
        """Rewind, then yield `RunStarted` and the events that it took. Raise `NotFound`, `Conflict`."""
        del emit  # no node runs
        sessions = Sessions(self._runner.session_service)
        plan = await self._plan()
        before = await sessions.get(self._origin)
        await sessions.rewind(self._runner, self._origin, plan.invocation, plan.state)
        known = {event.id for event in before.events}
        added = [e for e in (await sessions.get(self._origin)).events if e.id not in known]
        yield RunStarted(
            run=self._run,
            origin=self._origin,
            invocation=added[0].invocation_id,
            agents=self._agents,
            state=state_json(before.state),
            kind="rewind",
            replaces=plan.replaces,
            labels=labels(WRITTEN_BY(VERSION)),
        )
        for event in added:
            yield AgentEvent(self._serialiser.event(event))


class StateUpdateSource(_SessionChange):
    """A state-only update: one event of the user.

    Of the request only `state_delta`, `origin`, `run` and `streaming` are used.
    """

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record, None]:
        """Yield `RunStarted`, append the change, yield its event. Raise `NotFound` before."""
        del emit  # no node runs
        session = await load_session(self._runner, self._origin)
        event = new_state_event(self._request.state_delta)
        yield RunStarted(
            run=self._run,
            origin=self._origin,
            invocation=event.invocation_id,
            agents=self._agents,
            state=state_json(session.state),
            kind="state",
            labels=labels(STREAMING(self._request.streaming), WRITTEN_BY(VERSION)),
        )
        stored = await self._runner.session_service.append_event(session, event)
        yield AgentEvent(self._serialiser.event(stored))


class StoredAnswersSource(_SessionChange):
    """Results of calls that the client ran, stored for the model to read with the next message.

    Of the request only `answers`, `continues`, `origin`, `run` and `invocation` are used.
    """

    def __init__(
        self,
        runner: Runner,
        request: RunRequest,
        *,
        note: Callable[[RunStarted], Awaitable[None]],
        agents: Sequence[Agent] | None = None,
        report: Report = ignore,
    ) -> None:
        """`note` is called with the start of the run before the session changes."""
        super().__init__(runner, request, agents=agents, report=report)
        self._note = note

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record, None]:
        """Append the answers, yield `RunStarted`, which has them. Raise `NotFound`, `Conflict` before."""
        del emit  # no node runs
        session = await Sessions(self._runner.session_service).get(self._origin)
        events = answer_events(live_events(session), self._request.responses())
        continues = redacted_continues(self._request.continues)
        assert continues is not None, "results continue a message"
        started = RunStarted(
            run=self._run,
            origin=self._origin,
            invocation=self._request.invocation,
            agents=self._agents,
            state=state_json(session.state),
            continues=structs.replace(continues, unasked=True),
            labels=labels(WRITTEN_BY(VERSION)),
        )
        await self._note(started)
        for event in events:
            await self._runner.session_service.append_event(session, event)
        yield started


# ---------------------------------------------------------------------------
# An earlier version of a conversation, brought back into its session.
#
# ADK cannot undo a rewind, but the session keeps what was rewound. So the events are appended once more,
# as
# copies (tried on ADK's in-memory, SQLite and database services):
# - **invocations and calls keep their ids.** A rewind to such an invocation goes to its first event, the
#   original; what came before that one is what comes before the copy, so the result is the same;
# - **event ids and times are new**: services order events by time. The id of a copy contains the
#   original's;
# - **shared state is not written again** (`fork.copied`), and summaries of a compaction are left out:
#   their
#   ranges are times, so ADK shows the model what they summarised;
# - **artifacts** get the content that they had at the end of the version, as a new version of each.
#
# A last event ends the copies. Without it they are those of a process that died, and no version.

_ENDED = "p-copied-"
"""How the invocation id of the event begins that ends the copies."""
_SHARED = "user:"
STEP = 1e-5
"""Seconds between copies: a database keeps microseconds."""


class EarlierVersion(Struct, frozen=True):
    """What a session lacks of an earlier version of its conversation."""

    events: Sequence[Event]
    artifacts: Mapping[str, int]
    """The session's artifacts that these events saved, and the version that was the latest at their end."""


def find_version(
    events: Sequence[Event], wanted: Collection[str], known: Collection[str], rewound: str
) -> EarlierVersion:
    """Find an earlier version among the events of a session. Raise `Conflict` if they are not there.

    `wanted` are the invocations that come back, `known` all those of the version; `rewound` is the
    invocation that the session is rewound to first, or empty. The version was valid before one of the
    rewinds: the last one before which all of it was.
    """
    first = next((i for i, event in enumerate(events) if event.invocation_id == rewound), None)
    here = {_original(event) for event in apply_rewinds(events[:first])}
    ends = [i for i, event in enumerate(events) if event.actions.rewind_before_invocation_id]
    for end in reversed([*ends, len(events)]):
        gone = [e for e in apply_rewinds(events[:end]) if _original(e) not in here]
        back = [*takewhile(lambda e: not _is_said(e) or e.invocation_id in known, gone)]
        if set(wanted) <= {e.invocation_id for e in back} and _is_whole(back, events[:end]):
            later = gone[len(back) :]
            return EarlierVersion(back, _latest(events[: _place(events, later) or end], back))
    raise Conflict(
        "That version of the conversation is not in the session any more; it can only be forked."
    )


def version_at(events: Sequence[Event], last: str, invocation: str) -> EarlierVersion | None:
    """Return what a session had from an invocation on when `last` was its last event.

    No events if that is so still. None if it is not to be had: another session has taken its name, or
    something was said since.
    """
    end = next((i for i, event in enumerate(events, 1) if event.id == last), 0)
    first = next((i for i, event in enumerate(events) if event.invocation_id == invocation), end)
    if first >= end or any(_is_said(event) and not is_copy(event) for event in events[end:]):
        return None
    here = {_original(event) for event in apply_rewinds(events[:first])}
    back = apply_rewinds(events[:end]) if end < len(events) else []
    # Artifacts of all that was rewound: a change that was cut off may have saved any of them.
    saving = [event for event in events[:end] if _original(event) not in here]
    artifacts = _latest(events[:end], saving)
    return EarlierVersion([event for event in back if _original(event) not in here], artifacts)


async def bring_back(runner: Runner, origin: Origin, version: EarlierVersion) -> None:
    """Append an earlier version to a session, which has been rewound to where it begins."""
    session = await load_session(runner, origin, None)
    batch = uuid4().hex[:12]
    actions = EventActions(artifact_delta=await _save_again(runner, origin, version.artifacts))
    if not version.events and not actions.artifact_delta:
        return
    last = Event(invocation_id=f"{_ENDED}{batch}", author="user", actions=actions)
    at = session.events[-1].timestamp if session.events else 0.0
    for event in [*_copies(version.events, batch), last]:
        at = event.timestamp = max(time.time(), at + STEP)
        await runner.session_service.append_event(session, event)


def _original(event: Event) -> str:
    """Return the id of the event that this one is, or is a copy of."""
    return event.id.split("-", 2)[2] if is_copy(event) else event.id


def _is_said(event: Event) -> bool:
    return event.content is not None or event.output is not None or bool(event.error_code)


def _is_whole(copies: Sequence[Event], events: Sequence[Event]) -> bool:
    """Return whether all copies among some events were ended."""
    ended = {event.invocation_id.removeprefix(_ENDED) for event in events}
    return all(event.id.split("-", 2)[1] in ended for event in copies if is_copy(event))


def _place(events: Sequence[Event], later: Sequence[Event]) -> int:
    """Return where the first of some events is; 0 if there is none."""
    return next((i for i, event in enumerate(events) if later and event is later[0]), 0)


def _latest(before: Sequence[Event], saving: Sequence[Event]) -> dict[str, int]:
    latest = {name: v for event in before for name, v in event.actions.artifact_delta.items()}
    names = dict.fromkeys(name for event in saving for name in event.actions.artifact_delta)
    return {name: latest[name] for name in names if not name.startswith(_SHARED)}


def _copies(events: Sequence[Event], batch: str) -> Iterator[Event]:
    for event in events:
        if event.actions.compaction is None and not event.invocation_id.startswith(_ENDED):
            yield copied(event).model_copy(update={"id": f"{COPY}{batch}-{_original(event)}"})


async def _save_again(
    runner: Runner, origin: Origin, artifacts: Mapping[str, int]
) -> dict[str, int]:
    """Make old versions of artifacts the latest; return the new numbers of those that were not."""
    service = runner.artifact_service
    if service is None:
        return {}
    where: dict[str, Any] = {
        "app_name": origin.app,
        "user_id": origin.user,
        "session_id": origin.session,
    }
    saved: dict[str, int] = {}
    for name, version in artifacts.items():
        if version == max(await service.list_versions(filename=name, **where), default=None):
            continue
        part = await service.load_artifact(filename=name, version=version, **where)
        if part is not None:  # Else somebody has deleted it since.
            saved[name] = await service.save_artifact(filename=name, artifact=part, **where)
    return saved
