"""Sessions over ADK's session service: created empty, changed by events, rewound completely.

A change without a model call (a rewind, an update of the state, stored answers) is a run of its own, so that
the log has it: what a rewind took back, and the resulting state.

Decides the rules that make a rewind exact (google-adk 2.13 `sessions/_rewind_utils.py` folds state
from events only): initial state is an event, never an argument of `create_session`; after a rewind
the state is put back as it was before the rewound run. Not restored, as in ADK: `user:` and `app:`
state, `user:` artifacts; the name of an artifact that the rewound part added stays listed, empty.

Nothing here locks: the caller makes sure that a session has one writer at a time (`StaleSessionError`).
"""

from __future__ import annotations

import time
from collections import abc
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from typing import Any
from uuid import uuid4

from google.adk.errors import InvocationNotFoundError, StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events import Event, EventActions
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.sessions.session import Session
from msgspec import Raw, Struct, structs

from adk_prism.adk import session_store
from adk_prism.adk.agents import root_kind
from adk_prism.adk.plain_json import storable
from adk_prism.adk.redaction import Serialiser, state_json
from adk_prism.adk.request import Emit, RunRequest, answer_events, run_started
from adk_prism.adk.secret_forms import REDACTED
from adk_prism.errors import Conflict, NotFound, Report, ignore
from adk_prism.facts.state import read_stored
from adk_prism.log import entry as log_entry
from adk_prism.log.entry import Origin

SHARED = ("app:", "user:", "temp:")
"""How keys begin that are not the session's own."""

SEED = "p-seed-"
"""How the invocation id of the event begins that gives a session its first state."""

NO_EVENTS = GetSessionConfig(num_recent_events=0)


def _where(origin: Origin) -> dict[str, str]:
    return {"app_name": origin.app, "user_id": origin.user, "session_id": origin.session}


class Sessions:
    """The sessions of one service, by origin."""

    def __init__(self, service: BaseSessionService) -> None:
        self._service = service

    async def create(self, origin: Origin, state: abc.Mapping[str, Any] | None = None) -> Session:
        """Create an empty session, and set its state by one event of the user.

        For an empty session id a new one is chosen. Raise `Conflict` if the session exists.
        """
        try:
            session = await self._service.create_session(
                app_name=origin.app, user_id=origin.user, session_id=origin.session or None
            )
        except AlreadyExistsError:
            raise Conflict(f"The session {origin.session[:60]!r} already exists.") from None
        if state:
            await self._service.append_event(session, new_state_event(state, SEED))
        return session

    async def ensure(self, origin: Origin, state: abc.Mapping[str, Any] | None = None) -> bool:
        """Create the session, with `state`, if it does not exist; return whether it was created."""
        if await self.exists(origin):
            return False
        try:
            await self.create(origin, state)
        except Conflict:  # Another request has created it meanwhile.
            return False
        return True

    async def exists(self, origin: Origin) -> bool:
        """Return whether there is such a session, without loading its events."""
        return await self._load(origin, NO_EVENTS) is not None

    async def get(self, origin: Origin) -> Session:
        """Return the session with its events. Raise `NotFound`."""
        return await self._existing(origin, None)

    async def state(self, origin: Origin) -> dict[str, Any]:
        """Return the state of all scopes without loading the events. Raise `NotFound`."""
        return (await self._existing(origin, NO_EVENTS)).state

    async def append_state(self, origin: Origin, delta: abc.Mapping[str, Any]) -> Event:
        """Change state by one content-less event of the user; return it as stored.

        Raise `NotFound`, or `Conflict` if someone else wrote to the session meanwhile.
        """
        session = await self._existing(origin, NO_EVENTS)
        try:
            return await self._service.append_event(session, new_state_event(delta))
        except StaleSessionError:
            raise Conflict("The session was changed by someone else; try again.") from None

    async def delete(self, origin: Origin) -> None:
        """Remove the session, if it exists."""
        await self._service.delete_session(**_where(origin))

    async def list(self, app: str, user: str) -> list[Session]:
        """Return a user's sessions without their events, the least recently changed first.

        An empty user means all users.
        """
        found = await self._service.list_sessions(app_name=app, user_id=user or None)
        return found.sessions

    async def invocations_from(self, origin: Origin, invocation: str) -> abc.Sequence[str]:
        """Return an invocation and those after it, without rewound ones. Raise `NotFound`."""
        events = session_store.live_events(await self.get(origin))
        after = dropwhile(lambda event: event.invocation_id != invocation, events)
        return tuple(dict.fromkeys(event.invocation_id for event in after))

    async def rewind(
        self,
        runner: Runner,
        origin: Origin,
        invocation: str,
        wanted_state: abc.Mapping[str, Raw] | None = None,
        *,
        again: bool = False,
    ) -> None:
        """Take back an invocation and all after it, state and artifacts included.

        `wanted_state` is `RunStarted.state` of the run that is rewound; without it, only initial
        state that was never changed can be restored. Keys that were added are removed, or left as
        None by a service whose storage is unknown (`session_tables`). Raise `NotFound`, or `Conflict`
        for an invocation that is not there (any more) or holds several messages of the user (task mode),
        which a rewind would remove together. `again` completes a rewind that was cut off: the invocation
        may be rewound already.
        """
        before = await self.get(origin)
        if not again:
            _check_invocation(before, invocation)
        try:
            await runner.rewind_async(
                user_id=origin.user,
                session_id=origin.session,
                rewind_before_invocation_id=invocation,
            )
        except InvocationNotFoundError:
            raise Conflict(_GONE.format(invocation[:60])) from None
        await self._restore(origin, before, wanted_state)

    async def _restore(
        self, origin: Origin, before: Session, recorded: abc.Mapping[str, Raw] | None
    ) -> None:
        """Put back what ADK's rewind lost, and remove what it could only set to None."""
        wanted = _wanted(before, recorded)
        after = await self._existing(origin, NO_EVENTS)
        extra = [key for key in after.state if not key.startswith(SHARED) and key not in wanted]
        if recorded is None:
            extra = [key for key in extra if after.state[key] is None]
        delta = {
            key: value for key, value in wanted.items() if after.state.get(key, _ABSENT) != value
        }
        if delta:
            await self._service.append_event(after, new_state_event(delta))
        key = (origin.app, origin.user, origin.session)
        await session_store.remove_state_keys(session_store.storage_of(self._service), key, extra)

    async def _load(self, origin: Origin, config: GetSessionConfig | None) -> Session | None:
        return await self._service.get_session(**_where(origin), config=config)

    async def _existing(self, origin: Origin, config: GetSessionConfig | None) -> Session:
        session = await self._load(origin, config)
        if session is None:
            raise NotFound(
                f"There is no session {origin.session[:60]!r} of app {origin.app[:60]!r}."
            )
        return session


async def load_session(
    runner: Runner, origin: Origin, config: GetSessionConfig | None = NO_EVENTS
) -> Session:
    """Return the session that a Runner is about to use. Raise `NotFound`."""
    session = await runner.session_service.get_session(
        app_name=runner.app_name, user_id=origin.user, session_id=origin.session, config=config
    )
    if session is None:
        raise NotFound(f"There is no session {origin.session[:60]!r}; create it first.")
    return session


def new_state_event(delta: abc.Mapping[str, Any], kind: str = "p-") -> Event:
    """Return the event that ADK's PATCH appends: the user's, without content; `kind` begins its id."""
    actions = EventActions(state_delta=storable(delta))
    return Event(invocation_id=f"{kind}{uuid4()}", author="user", actions=actions)


def without_seed(session: Session) -> Session:
    """Return a session as ADK shows it: there, the state that it was created with is not an event."""
    shown = [event for event in session.events if not event.invocation_id.startswith(SEED)]
    if len(shown) == len(session.events):
        return session
    return session.model_copy(update={"events": shown})


_ABSENT = object()

_GONE = (
    "The invocation {!r} is not in the session's history (any more); there is nothing to rewind."
)


def _check_invocation(session: Session, invocation: str) -> None:
    live = session_store.live_events(session)
    if not any(event.invocation_id == invocation for event in live):
        raise Conflict(_GONE.format(invocation[:60]))
    if session_store.user_turns(live, invocation) > 1:
        raise Conflict(
            f"The invocation {invocation[:60]!r} holds several messages (a task that asks back); "
            "ADK can only rewind all of them. Start from its first message, or use a new session."
        )


def _wanted(before: Session, recorded: abc.Mapping[str, Raw] | None) -> dict[str, Any]:
    """Return the session-scoped state to have after the rewind, as far as it is known."""
    if recorded is not None:
        return recorded_state(before.state, recorded)
    changed = {key for event in before.events for key in event.actions.state_delta}
    kept = (key for key in before.state if not key.startswith(SHARED) and key not in changed)
    return {key: before.state[key] for key in kept}


def recorded_state(state: abc.Mapping[str, Any], recorded: abc.Mapping[str, Raw]) -> dict[str, Any]:
    """Return the session-scoped part of a recorded state, with its secrets as far as they are known.

    A recorded value is redacted. Where the state still shows the same, its own value is taken, so
    that a credential survives.
    """
    wanted = {key: raw for key, raw in recorded.items() if not key.startswith(SHARED)}
    shown = state_json({key: value for key, value in state.items() if key in wanted})
    return {
        key: state[key] if key in shown and _matches(read_stored(shown[key]), value) else value
        for key, value in ((key, read_stored(raw)) for key, raw in wanted.items())
    }


def _matches(value: Any, recorded: Any) -> bool:
    """Return whether a value may be the recorded one; a redacted part matches anything."""
    if isinstance(recorded, str) and REDACTED in recorded:
        return True
    if isinstance(recorded, dict) and isinstance(value, dict):
        return recorded.keys() == value.keys() and all(
            _matches(value[k], recorded[k]) for k in value
        )
    if isinstance(recorded, list) and isinstance(value, list):
        return len(recorded) == len(value) and all(map(_matches, value, recorded))
    return bool(value == recorded)


def state_events(delta: abc.Mapping[str, Any], time: float) -> list[Event]:
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


async def plant(runner: Runner, origin: Origin, events: abc.Sequence[Event]) -> None:
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


def resumable_past(runner: Runner, events: abc.Sequence[Event]) -> list[Event]:
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


@dataclass(kw_only=True)
class _SessionChange:
    """A change of one session. No agent runs, so nothing can be cancelled or fail halfway."""

    runner: Runner
    request: RunRequest
    agents: abc.Sequence[log_entry.Agent]
    report: Report = ignore

    def __post_init__(self) -> None:
        request = self.request
        self.sessions = Sessions(self.runner.session_service)
        self.serialiser = Serialiser(self.report, run=request.run, app=request.origin.app)

    @property
    def correlation(self) -> str:
        """Empty, unless an event of the session held an exception's text."""
        return self.serialiser.correlation

    def cancel(self) -> None:
        """Do nothing: the change is over before anyone could stop it."""


class Rewind(Struct, frozen=True):
    """What is rewound."""

    invocation: str
    """The first one; all after it go too."""
    state: abc.Mapping[str, Raw] | None
    """The state before it, as it was recorded; None if unknown."""
    replaces: str
    """The first message that is void, empty if the log has none."""


@dataclass(kw_only=True)
class RewindSource(_SessionChange):
    """One rewind of a session.

    The rewind happens before the first record, so that one that fails leaves no trace. Its events follow:
    ADK's own, which restores the state, and ours, which fixes what ADK's leaves out.
    """

    plan: abc.Callable[[], abc.Awaitable[Rewind]]
    """Called when the session is locked."""

    async def records(self, emit: Emit | None = None) -> abc.AsyncGenerator[log_entry.Record, None]:
        """Rewind, then yield `RunStarted` and the events that it took. Raise `NotFound`, `Conflict`."""
        del emit  # no node runs
        plan, origin = await self.plan(), self.request.origin
        before = await self.sessions.get(origin)
        await self.sessions.rewind(self.runner, origin, plan.invocation, plan.state)
        known = {event.id for event in before.events}
        added = [e for e in (await self.sessions.get(origin)).events if e.id not in known]
        yield run_started(
            self.request,
            self.agents,
            before.state,
            invocation=added[0].invocation_id,
            kind="rewind",
            replaces=plan.replaces,
        )
        for event in added:
            yield log_entry.AgentEvent(self.serialiser.event(event))


class StateUpdateSource(_SessionChange):
    """A state-only update: one event of the user.

    Of the request only `state_delta`, `origin`, `run` and `streaming` are used.
    """

    async def records(self, emit: Emit | None = None) -> abc.AsyncGenerator[log_entry.Record, None]:
        """Yield `RunStarted`, append the change, yield its event. Raise `NotFound` before."""
        del emit  # no node runs
        session = await load_session(self.runner, self.request.origin)
        event = new_state_event(self.request.state_delta)
        invocation = event.invocation_id
        yield run_started(
            self.request, self.agents, session.state, invocation=invocation, kind="state"
        )
        stored = await self.runner.session_service.append_event(session, event)
        yield log_entry.AgentEvent(self.serialiser.event(stored))


@dataclass(kw_only=True)
class StoredResultsSource(_SessionChange):
    """Results of calls that the client ran, stored for the model to read with the next message.

    Of the request only `answers`, `continues`, `origin`, `run` and `invocation` are used.
    """

    note: abc.Callable[[log_entry.RunStarted], abc.Awaitable[None]]
    """Called with the start of the run before the session changes."""

    async def records(self, emit: Emit | None = None) -> abc.AsyncGenerator[log_entry.Record, None]:
        """Append the answers, yield `RunStarted`, which has them. Raise `NotFound`, `Conflict` before."""
        del emit  # no node runs
        session = await self.sessions.get(self.request.origin)
        events = answer_events(session_store.live_events(session), self.request.responses())
        started = run_started(
            self.request, self.agents, session.state, invocation=self.request.invocation
        )
        assert started.continues is not None, "results continue a message"
        continues = structs.replace(started.continues, unasked=True)
        started = structs.replace(started, continues=continues)
        await self.note(started)
        for event in events:
            await self.runner.session_service.append_event(session, event)
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

    events: abc.Sequence[Event]
    artifacts: abc.Mapping[str, int]
    """The session's artifacts that these events saved, and the version that was the latest at their end."""


def find_version(
    events: abc.Sequence[Event],
    wanted: abc.Collection[str],
    known: abc.Collection[str],
    rewound: str,
) -> EarlierVersion:
    """Find an earlier version among the events of a session. Raise `Conflict` if they are not there.

    `wanted` are the invocations that come back, `known` all those of the version; `rewound` is the
    invocation that the session is rewound to first, or empty. The version was valid before one of the
    rewinds: the last one before which all of it was.
    """
    first = next((i for i, event in enumerate(events) if event.invocation_id == rewound), None)
    here = {_original(event) for event in session_store.apply_rewinds(events[:first])}
    ends = [i for i, event in enumerate(events) if event.actions.rewind_before_invocation_id]
    for end in reversed([*ends, len(events)]):
        gone = [e for e in session_store.apply_rewinds(events[:end]) if _original(e) not in here]
        back = [
            *takewhile(lambda e: not session_store.is_said(e) or e.invocation_id in known, gone)
        ]
        if set(wanted) <= {e.invocation_id for e in back} and _is_whole(back, events[:end]):
            later = gone[len(back) :]
            return EarlierVersion(back, _latest(events[: _place(events, later) or end], back))
    raise Conflict(
        "That version of the conversation is not in the session any more; it can only be forked."
    )


def version_at(events: abc.Sequence[Event], last: str, invocation: str) -> EarlierVersion | None:
    """Return what a session had from an invocation on when `last` was its last event.

    No events if that is so still. None if it is not to be had: another session has taken its name, or
    something was said since.
    """
    end = next((i for i, event in enumerate(events, 1) if event.id == last), 0)
    first = next((i for i, event in enumerate(events) if event.invocation_id == invocation), end)
    if first >= end or any(
        session_store.is_said(event) and not session_store.is_copy(event) for event in events[end:]
    ):
        return None
    here = {_original(event) for event in session_store.apply_rewinds(events[:first])}
    back = session_store.apply_rewinds(events[:end]) if end < len(events) else []
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
    return event.id.split("-", 2)[2] if session_store.is_copy(event) else event.id


def _is_whole(copies: abc.Sequence[Event], events: abc.Sequence[Event]) -> bool:
    """Return whether all copies among some events were ended."""
    ended = {event.invocation_id.removeprefix(_ENDED) for event in events}
    return all(
        event.id.split("-", 2)[1] in ended for event in copies if session_store.is_copy(event)
    )


def _place(events: abc.Sequence[Event], later: abc.Sequence[Event]) -> int:
    """Return where the first of some events is; 0 if there is none."""
    return next((i for i, event in enumerate(events) if later and event is later[0]), 0)


def _latest(before: abc.Sequence[Event], saving: abc.Sequence[Event]) -> dict[str, int]:
    latest = {name: v for event in before for name, v in event.actions.artifact_delta.items()}
    names = dict.fromkeys(name for event in saving for name in event.actions.artifact_delta)
    return {name: latest[name] for name in names if not name.startswith(_SHARED)}


def _copies(events: abc.Sequence[Event], batch: str) -> abc.Iterator[Event]:
    for event in events:
        if event.actions.compaction is None and not event.invocation_id.startswith(_ENDED):
            yield copied(event).model_copy(
                update={"id": f"{session_store.COPY}{batch}-{_original(event)}"}
            )


async def _save_again(
    runner: Runner, origin: Origin, artifacts: abc.Mapping[str, int]
) -> dict[str, int]:
    """Make old versions of artifacts the latest; return the new numbers of those that were not."""
    service = runner.artifact_service
    if service is None:
        return {}
    where: dict[str, Any] = {**_where(origin)}
    saved: dict[str, int] = {}
    for name, version in artifacts.items():
        if version == max(await service.list_versions(filename=name, **where), default=None):
            continue
        part = await service.load_artifact(filename=name, version=version, **where)
        if part is not None:  # Else somebody has deleted it since.
            saved[name] = await service.save_artifact(filename=name, artifact=part, **where)
    return saved
