"""The sessions of a remote app, as one of ADK's session services: read and changed through its routes.

Sessions belong to the remote. Of events only a change of state can be added from outside, and what was said
before to a new session; a user's sessions can be listed, those of all users cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import (
    BaseSessionService,
    GetSessionConfig,
    ListSessionsResponse,
)
from google.adk.sessions.session import Session
from msgspec import Raw, Struct

from adk_prism.errors import Conflict, NotFound, NotSupported, SourceError
from adk_prism.runlog.entry import Origin
from adk_prism.source.remote.connection import Connection
from adk_prism.source.remote.events import MILLISECONDS, stored_event
from adk_prism.source.remote.request_session_cache import ReadOnce
from adk_prism.source.remote.session_routes import SessionRoutes, session_routes
from adk_prism.source.remote.sign_in import requests_of


class _Stored(Struct, rename="camel"):
    """A session as a server writes it."""

    id: str
    user_id: str = ""
    state: dict[str, Any] | None = None
    events: list[Raw] | None = None
    last_update_time: float | None = None


class _List(Struct):
    """A list of sessions as TypeScript's server writes it."""

    sessions: list[_Stored]


_read_stored = msgspec.json.Decoder(_Stored).decode
_read_list = msgspec.json.Decoder(list[_Stored] | _List | None).decode
"""Go writes an empty list as null."""


class RemoteSessions(BaseSessionService):
    """ADK's session service of one remote app."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._reads = ReadOnce()
        self.read_once = self._reads.scope
        """Where a request prepares a run: each session is read once."""

    def changed(self, user: str, session: str) -> None:
        """Note that a session may have changed."""
        self._reads.forget((user, session))

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Create a session. Raise `AlreadyExistsError`, or `RemoteFailed`."""
        routes = await self._routes()
        try:
            data = await routes.create(user_id, session_id, state)
        except Conflict:
            self.changed(user_id, session_id or "")
            raise AlreadyExistsError(f"Session {session_id} exists.") from None
        self._reads.note((user_id, session_id or ""), data)
        return self._session(app_name, user_id, _read(data), events=False)

    async def plant(self, origin: Origin, events: Sequence[Event]) -> None:
        """Create a session that begins with what was said and the state that it left.

        Raise `Conflict` if it exists, `RemoteFailed`. Then no session remains.
        """
        state = {k: v for event in events for k, v in event.actions.state_delta.items()}
        said = [_as_said(event) for event in events if event.content is not None]
        routes = await self._routes()
        try:
            await routes.create(origin.user, origin.session, state, said)
        except Conflict:
            raise
        except BaseException:
            await routes.delete(origin.user, origin.session)
            raise
        finally:
            self.changed(origin.user, origin.session)

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """Return a session; with a `config`, without its events. Raise `RemoteFailed`."""
        try:
            data = await self._read(user_id, session_id)
        except NotFound:
            return None
        return self._session(app_name, user_id, _read(data), events=config is None)

    async def before_run(self, origin: Origin) -> tuple[dict[str, Any], int]:
        """Return a session's state, and how many events it has. Raise `NotFound` or `RemoteFailed`."""
        try:
            data = await self._read(origin.user, origin.session)
        except NotFound:
            raise NotFound(
                f"There is no session {origin.session[:60]!r}; create it first."
            ) from None
        stored = _read(data)
        return stored.state or {}, len(stored.events or ())

    async def requested_credentials(self, origin: Origin) -> dict[str, Any]:
        """Return the credentials that a session's events request, by call, with their secrets."""
        session = await self.get_session(
            app_name=origin.app, user_id=origin.user, session_id=origin.session
        )
        return requests_of(session.events) if session is not None else {}

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        """Return a user's sessions without their events; none for all users, whom no route lists."""
        if not user_id:
            return ListSessionsResponse()
        data = await (await self._routes()).list(user_id)
        try:
            found = _read_list(data)
        except msgspec.MsgspecError as error:
            raise SourceError(f"The remote's list of sessions cannot be read: {error}.") from None
        stored = found.sessions if isinstance(found, _List) else found or []
        sessions = [self._session(app_name, user_id, each, events=False) for each in stored]
        sessions.sort(key=lambda session: session.last_update_time)
        return ListSessionsResponse(sessions=sessions)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session, if it exists. Raise `RemoteFailed`."""
        self.changed(user_id, session_id)
        await (await self._routes()).delete(user_id, session_id)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Change state; return the event that the remote stored. Raise `NotSupported` for any other."""
        if event.content is not None or event.author != "user":
            raise NotSupported(
                f"The app {session.app_name!r} runs on another server, which does not take events from here."
            )
        delta = event.actions.state_delta
        if not delta:
            return event
        if not self._connection.dialect.patches_state:
            raise NotSupported(
                f"The app {session.app_name!r} runs on another server, which does not change state "
                "without a run. Send the state with a message."
            )
        self.changed(session.user_id, session.id)
        routes = await self._routes()
        changed = _read(await routes.patch(session.user_id, session.id, delta))
        session.state.update(changed.state or {})
        stored = [stored_event(bytes(each)) for each in (changed.events or [])[-1:]]
        return stored[0] if stored and stored[0].actions.state_delta == delta else event

    async def _read(self, user: str, session: str) -> bytes:
        known = self._reads.known((user, session))
        data = known[0] if known else await (await self._routes()).read(user, session)
        if not known:
            self._reads.note((user, session), data)
        if data is None:
            raise NotFound("The remote has no such session.")
        return data

    async def _routes(self) -> SessionRoutes:
        await self._connection.open()
        return session_routes(self._connection)

    def _session(self, app: str, user: str, stored: _Stored, *, events: bool) -> Session:
        time = stored.last_update_time or 0.0
        return Session(
            id=stored.id,
            app_name=app,
            user_id=user,
            state=stored.state or {},
            events=[stored_event(bytes(each)) for each in stored.events or ()] if events else [],
            last_update_time=time / 1000 if time > MILLISECONDS else time,
        )


def _as_said(event: Event) -> dict[str, Any]:
    """Return what a server takes of an event from outside: who said what, and when."""
    kept = {"id", "invocation_id", "author", "timestamp", "branch", "content"}
    told: dict[str, Any] = event.model_dump(
        mode="json", by_alias=True, exclude_none=True, include=kept
    )
    return told


def _read(data: bytes) -> _Stored:
    try:
        return _read_stored(data)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise SourceError(f"The remote's session cannot be read: {error}.") from None
