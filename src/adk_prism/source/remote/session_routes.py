"""How the sessions of a remote app are read and changed: by ADK's routes, or by the methods of Agent Engine.

Both give a session as JSON. Agent Engine (google-cloud-aiplatform 2.6, `agent_engines/templates/adk.py`) has
no status of its own for a session that is missing, or is there already: its method raises, which is 400 or
500 like any other failure. Then its list of sessions says which it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Raw, Struct

from adk_prism.errors import Conflict, NotFound
from adk_prism.source.remote.client import path_of
from adk_prism.source.remote.connection import Connection


class SessionRoutes(Protocol):
    """Reads and changes the sessions of one app."""

    async def create(
        self,
        user: str,
        session: str | None,
        state: dict[str, Any] | None,
        events: Sequence[dict[str, Any]] = (),
    ) -> bytes:
        """Create a session, with events where the server takes them, and return it. Raise `Conflict`."""

    async def read(self, user: str, session: str) -> bytes | None:
        """Return a session; None if there is none."""

    async def list(self, user: str) -> bytes:
        """Return a user's sessions."""

    async def delete(self, user: str, session: str) -> None:
        """Delete a session, if it exists."""

    async def patch(self, user: str, session: str, delta: dict[str, Any]) -> bytes:
        """Change a session's state, and return the session."""


class AdkRoutes:
    """The routes of ADK's servers."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(
        self,
        user: str,
        session: str | None,
        state: dict[str, Any] | None,
        events: Sequence[dict[str, Any]] = (),
    ) -> bytes:
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
        self,
        user: str,
        session: str | None,
        state: dict[str, Any] | None,
        events: Sequence[dict[str, Any]] = (),
    ) -> bytes:
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


def session_routes(connection: Connection) -> SessionRoutes:
    """Return how an app's server is asked. The connection has to be open."""
    return (EngineMethods if connection.dialect.is_engine else AdkRoutes)(connection)
