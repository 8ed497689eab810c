"""Sessions over ADK's session service: created empty, changed by events, rewound completely.

Decides the rules that make a rewind exact (google-adk 2.13 `sessions/_rewind_utils.py` folds state
from events only): initial state is an event, never an argument of `create_session`; after a rewind
the state is put back as it was before the rewound run. Not restored, as in ADK: `user:` and `app:`
state, `user:` artifacts; the name of an artifact that the rewound part added stays listed, empty.

Nothing here locks: the caller makes sure that a session has one writer at a time (`StaleSessionError`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import dropwhile
from typing import Any
from uuid import uuid4

from google.adk.errors import InvocationNotFoundError, StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.sessions.session import Session
from msgspec import Raw

from adk_prism.adk.plain_json import storable
from adk_prism.adk.redaction import state_json
from adk_prism.adk.secrets import REDACTED
from adk_prism.adk.session_store import live_events, remove_state_keys, storage_of, user_turns
from adk_prism.errors import Conflict, NotFound
from adk_prism.facts.state import read_stored
from adk_prism.log.entry import Origin

SHARED = ("app:", "user:", "temp:")
"""How keys begin that are not the session's own."""

SEED = "p-seed-"
"""How the invocation id of the event begins that gives a session its first state."""
NO_EVENTS = GetSessionConfig(num_recent_events=0)


class Sessions:
    """The sessions of one service, by origin."""

    def __init__(self, service: BaseSessionService) -> None:
        self._service = service

    async def create(self, origin: Origin, state: Mapping[str, Any] | None = None) -> Session:
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

    async def ensure(self, origin: Origin, state: Mapping[str, Any] | None = None) -> bool:
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

    async def append_state(self, origin: Origin, delta: Mapping[str, Any]) -> Event:
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
        await self._service.delete_session(
            app_name=origin.app, user_id=origin.user, session_id=origin.session
        )

    async def list(self, app: str, user: str) -> list[Session]:
        """Return a user's sessions without their events, the least recently changed first.

        An empty user means all users.
        """
        found = await self._service.list_sessions(app_name=app, user_id=user or None)
        return found.sessions

    async def invocations_from(self, origin: Origin, invocation: str) -> Sequence[str]:
        """Return an invocation and those after it, without rewound ones. Raise `NotFound`."""
        events = live_events(await self.get(origin))
        after = dropwhile(lambda event: event.invocation_id != invocation, events)
        return tuple(dict.fromkeys(event.invocation_id for event in after))

    async def rewind(
        self,
        runner: Runner,
        origin: Origin,
        invocation: str,
        wanted_state: Mapping[str, Raw] | None = None,
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
        self, origin: Origin, before: Session, recorded: Mapping[str, Raw] | None
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
        await remove_state_keys(storage_of(self._service), key, extra)

    async def _load(self, origin: Origin, config: GetSessionConfig | None) -> Session | None:
        return await self._service.get_session(
            app_name=origin.app, user_id=origin.user, session_id=origin.session, config=config
        )

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
        app_name=runner.app_name,
        user_id=origin.user,
        session_id=origin.session,
        config=config,
    )
    if session is None:
        raise NotFound(f"There is no session {origin.session[:60]!r}; create it first.")
    return session


def new_state_event(delta: Mapping[str, Any], kind: str = "p-") -> Event:
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
    live = live_events(session)
    if not any(event.invocation_id == invocation for event in live):
        raise Conflict(_GONE.format(invocation[:60]))
    if user_turns(live, invocation) > 1:
        raise Conflict(
            f"The invocation {invocation[:60]!r} holds several messages (a task that asks back); "
            "ADK can only rewind all of them. Start from its first message, or use a new session."
        )


def _wanted(before: Session, recorded: Mapping[str, Raw] | None) -> dict[str, Any]:
    """Return the session-scoped state to have after the rewind, as far as it is known."""
    if recorded is not None:
        return recorded_state(before.state, recorded)
    changed = {key for event in before.events for key in event.actions.state_delta}
    kept = (key for key in before.state if not key.startswith(SHARED) and key not in changed)
    return {key: before.state[key] for key in kept}


def recorded_state(state: Mapping[str, Any], recorded: Mapping[str, Raw]) -> dict[str, Any]:
    """Return the session-scoped part of a recorded state, with its secrets as far as they are known.

    A recorded value is redacted. Where the state still shows the same, its own value is taken, so
    that a credential survives.
    """
    wanted = {key: raw for key, raw in recorded.items() if not key.startswith(SHARED)}
    shown = state_json({key: value for key, value in state.items() if key in wanted})
    return {
        key: state[key] if key in shown and _is_shown(shown[key], raw) else read_stored(raw)
        for key, raw in wanted.items()
    }


def _is_shown(value: Raw, recorded: Raw) -> bool:
    return _matches(read_stored(value), read_stored(recorded))


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
