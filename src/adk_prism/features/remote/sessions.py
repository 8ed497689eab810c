"""The sessions of a remote app, as one of ADK's session services: read and changed through its routes.

Sessions belong to the remote. Of events only a change of state can be added from outside, and what was said
before to a new session; a user's sessions can be listed, those of all users cannot.

While a request prepares its run, each session is read once, however many parts look at it. What was read is
forgotten when the request has its run, when this server changes the session or ends another run of it, and
after a second, in which another server may have done so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import msgspec
import pydantic
from google.adk.artifacts.base_artifact_service import (
    ArtifactVersion,
    BaseArtifactService,
    ensure_part,
)
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import (
    BaseSessionService,
    GetSessionConfig,
    ListSessionsResponse,
)
from google.adk.sessions.session import Session
from google.genai import types
from msgspec import Raw, Struct

from adk_prism.errors import Conflict, NotFound, NotSupported, SourceError
from adk_prism.features.remote.connection import Connection, path_of
from adk_prism.features.remote.events import MILLISECONDS, requested_credentials, stored_event
from adk_prism.log.entry import Origin

# ---------------------------------------------------------------------------
# How the sessions of a remote app are read and changed: by ADK's routes, or by the methods of Agent
# Engine.
#
# Both give a session as JSON. Agent Engine (google-cloud-aiplatform 2.6,
# `agent_engines/templates/adk.py`) has no status of its own for a session that is missing, or is
# there already: its method raises, which is 400 or 500 like any other failure. Then its list of
# sessions says which it was.


Json = dict[str, Any]


class AdkRoutes:
    """The routes of ADK's servers."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(
        self, user: str, session: str | None, state: Json | None, events: Sequence[Json] = ()
    ) -> bytes:
        """Create a session, with events where the server takes them, and return it. Raise `Conflict`."""
        dialect = self._connection.dialect
        body: dict[str, Any] = {} if state is None else {"state": state}
        if events:
            body["events"] = list(events)
        named = [session] if session else []
        if named and not dialect.creates_by_path:
            body["sessionId"] = named.pop()
        path = self._path(user, *named)
        return await self._connection.ask("POST", path, body, dialect.session_exists)

    async def read(self, user: str, session: str) -> bytes | None:
        refusals = self._connection.dialect.no_session
        try:
            return await self._connection.ask("GET", self._path(user, session), None, refusals)
        except NotFound:
            return None

    async def list(self, user: str) -> bytes:
        return await self._connection.ask("GET", self._path(user))

    async def delete(self, user: str, session: str) -> None:
        try:
            await self._connection.ask("DELETE", self._path(user, session))
        except NotFound:
            return

    async def patch(self, user: str, session: str, delta: dict[str, Any]) -> bytes:
        path = self._path(user, session)
        return await self._connection.ask("PATCH", path, {"stateDelta": delta})

    def _path(self, user: str, *session: str) -> str:
        return path_of("apps", self._connection.app, "users", user, "sessions", *session)


class _Output(Struct):
    output: Raw


class _Named(Struct):
    id: str


class _Names(Struct):
    sessions: list[_Named]


_read_output = msgspec.json.Decoder(_Output).decode
_read_names = msgspec.json.Decoder(_Names).decode
_RAISED = {400: NotFound, 500: NotFound}
"""Statuses of a method that raised."""


class EngineMethods:
    """The methods of an app on Agent Engine."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(
        self, user: str, session: str | None, state: Json | None, events: Sequence[Json] = ()
    ) -> bytes:
        """Create a session, and return it. Raise `Conflict`."""
        assert not events, "no method takes events"
        given: dict[str, Any] = {"user_id": user, "session_id": session, "state": state}
        known = {key: value for key, value in given.items() if value is not None}
        try:
            return await self._call("create_session", known)
        except NotFound:
            if session and await self._is_listed(user, session):
                raise Conflict("The session exists.") from None
            raise self._connection.client.failed("it did not create a session") from None

    async def read(self, user: str, session: str) -> bytes | None:
        try:
            return await self._call("get_session", {"user_id": user, "session_id": session})
        except NotFound:
            if await self._is_listed(user, session):
                raise self._connection.client.failed("it did not read a session") from None
            return None

    async def list(self, user: str) -> bytes:
        try:
            return await self._call("list_sessions", {"user_id": user})
        except NotFound:
            raise self._connection.client.failed("it did not list the sessions") from None

    async def delete(self, user: str, session: str) -> None:
        try:
            await self._call("delete_session", {"user_id": user, "session_id": session})
        except NotFound:
            if await self._is_listed(user, session):
                raise self._connection.client.failed("it did not delete a session") from None

    async def patch(self, user: str, session: str, delta: dict[str, Any]) -> bytes:
        raise AssertionError(f"no method changes the state {list(delta)} of {user} {session}")

    async def _is_listed(self, user: str, session: str) -> bool:
        try:
            return any(each.id == session for each in _read_names(await self.list(user)).sessions)
        except msgspec.MsgspecError:
            raise self._connection.client.failed("its list of sessions cannot be read") from None

    async def _call(self, method: str, given: dict[str, Any]) -> bytes:
        body = {"class_method": f"async_{method}", "input": given}
        path = self._connection.dialect.prefix + self._connection.remote.engine_path(stream=False)
        answer = await self._connection.client.ask("POST", path, body, _RAISED)
        try:
            return bytes(_read_output(answer).output)
        except msgspec.MsgspecError:
            raise self._connection.client.failed("its answer is not Agent Engine's") from None


# ---------------------------------------------------------------------------


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


FRESH = 1.0
"""Seconds."""

Key = tuple[str, str]
"""A user and a session."""
_Reads = dict[Key, tuple[bytes | None, float]]


class ReadOnce:
    """The sessions of one app that requests have read."""

    def __init__(self) -> None:
        self._current: ContextVar[_Reads | None] = ContextVar("remote sessions", default=None)
        self._all: list[_Reads] = []

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Remember what is read in the block, and in tasks that it starts, until it ends."""
        reads: _Reads = {}
        self._all.append(reads)
        token = self._current.set(reads)
        try:
            yield
        finally:
            self._current.reset(token)
            self._all = [each for each in self._all if each is not reads]

    def _open(self) -> _Reads | None:
        reads = self._current.get()
        return reads if any(each is reads for each in self._all) else None

    def note(self, key: Key, data: bytes | None) -> None:
        """Remember a session; None: there is none."""
        reads = self._open()
        if reads is not None:
            reads[key] = data, time.monotonic()

    def known(self, key: Key) -> tuple[bytes | None] | None:
        """Return what is remembered of a session; None if nothing is."""
        data, at = (self._open() or {}).get(key, (None, -FRESH))
        return (data,) if time.monotonic() - at < FRESH else None

    def forget(self, key: Key) -> None:
        """Forget a session that has changed, in all requests."""
        for reads in self._all:
            reads.pop(key, None)


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
        return requested_credentials(session.events) if session is not None else {}

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

    async def _routes(self) -> AdkRoutes | EngineMethods:
        await self._connection.open()
        kind = EngineMethods if self._connection.dialect.is_engine else AdkRoutes
        return kind(self._connection)

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


# ---------------------------------------------------------------------- artifacts
#
# The artifacts of a remote app, as one of ADK's artifact services.


_NO_SESSION = "Artifacts of a remote app are read and written within a session; name one."
T = TypeVar("T")

_read_keys = msgspec.json.Decoder(list[str]).decode
_read_numbers = msgspec.json.Decoder(list[int]).decode
_Versions = pydantic.TypeAdapter(list[ArtifactVersion])


class RemoteArtifacts(BaseArtifactService):
    """ADK's artifact service of one remote app. Raises `RemoteFailed` where its server cannot be used."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: types.Part | dict[str, Any],
        session_id: str | None = None,
        custom_metadata: dict[str, Any] | None = None,
    ) -> int:
        """Save a new version; return its number."""
        part = ensure_part(artifact).model_dump(mode="json", by_alias=True, exclude_none=True)
        body = {"filename": filename, "artifact": part, "customMetadata": custom_metadata}
        sent = {key: value for key, value in body.items() if value is not None}
        data = await self._connection.ask("POST", self._path(user_id, session_id), sent)
        return self._version(data).version

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> types.Part | None:
        """Return an artifact, the newest version if none is named; None if it is not there."""
        names = [filename] if version is None else [filename, "versions", str(version)]
        data = await self._found(self._path(user_id, session_id, *names))
        if data is None:
            return None
        try:
            return types.Part.model_validate_json(data)
        except (pydantic.ValidationError, AttributeError):
            raise SourceError("The remote's artifact cannot be read.") from None

    async def list_artifact_keys(
        self, *, app_name: str, user_id: str, session_id: str | None = None
    ) -> list[str]:
        """Return the names of a session's artifacts."""
        data = await self._connection.ask("GET", self._path(user_id, session_id))
        return _read_list_of(_read_keys, data)

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Delete an artifact, if it is there."""
        try:
            await self._connection.ask("DELETE", self._path(user_id, session_id, filename))
        except NotFound:
            return

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """Return the numbers of an artifact's versions; none if it is not there."""
        data = await self._found(self._path(user_id, session_id, filename, "versions"))
        return [] if data is None else _read_list_of(_read_numbers, data)

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        """Return what is known of an artifact's versions."""
        self._check_versions(app_name)
        path = self._path(user_id, session_id, filename, "versions", "metadata")
        data = await self._found(path)
        try:
            return [] if data is None else _Versions.validate_json(data)
        except pydantic.ValidationError:
            raise SourceError("The remote's artifact versions cannot be read.") from None

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        """Return what is known of one version, the newest if none is named."""
        self._check_versions(app_name)
        if version is None:
            where = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
            known = await self.list_versions(filename=filename, **where)  # type: ignore[arg-type]
            if not known:
                return None
            version = max(known)
        names = (filename, "versions", str(version), "metadata")
        data = await self._found(self._path(user_id, session_id, *names))
        return None if data is None else self._version(data)

    def _check_versions(self, app: str) -> None:
        if not self._connection.dialect.has_versions:
            raise NotSupported(
                f"The app {app!r} runs on another server, which says nothing about artifact versions."
            )

    def _version(self, data: bytes) -> ArtifactVersion:
        try:
            return ArtifactVersion.model_validate_json(data)
        except pydantic.ValidationError:
            raise SourceError("The remote's artifact version cannot be read.") from None

    async def _found(self, path: str) -> bytes | None:
        try:
            return await self._connection.ask("GET", path)
        except NotFound:
            return None

    def _path(self, user: str, session: str | None, *names: str) -> str:
        if session is None:
            raise NotSupported(_NO_SESSION)
        where = ("apps", self._connection.app, "users", user, "sessions", session, "artifacts")
        return path_of(*where, *names)


def _read_list_of(read: Callable[[bytes], T], data: bytes) -> T:
    try:
        return read(data)
    except msgspec.MsgspecError:
        raise SourceError("The remote's list of artifacts cannot be read.") from None
