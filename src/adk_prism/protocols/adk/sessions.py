"""ADK's session routes: list, create, get, change, delete.

Follows google-adk 2.13 `cli/api_server.py`. Deliberate differences:
- a session is created empty and its first state is stored as an event, so that a rewind keeps it; these
  routes do not show that event;
- an unknown app is 404, a refused name 400, a state key of another scope 403;
- a change of state waits for the end of a run, since ADK's services refuse two writers;
- deleting a session ends its run and deletes its runs from the log;
- `options` for the service are refused: no service here has any;
- `rewind` is ours: ADK's Runner can, its server has no route for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import pydantic
from fastapi import APIRouter, Body, Response
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.session import Session
from google.adk.utils.agent_info import AgentInfo
from pydantic.alias_generators import to_camel

from adk_prism.adk.redaction import session_json
from adk_prism.adk.sessions import without_seed
from adk_prism.adk.stored_events import as_client_event
from adk_prism.errors import UsageError
from adk_prism.facts.adk_event import REQUESTS
from adk_prism.log.entry import Origin
from adk_prism.runs.chats import EVALUATION_SESSIONS
from adk_prism.runs.session_log import AuditedAction
from adk_prism.server.context import Context
from adk_prism.server.identity.identity import PathOrigin, PathUser
from adk_prism.server.request_bodies import AppName, SessionId, StrictRoute
from adk_prism.server.run_streams import RUN_HEADER

# ---------------------------------------------------------------------------
# The requests and answers of ADK's server that are not ADK's public types.
#
# Follows google-adk 2.13 `cli/api_server.py`, whose own models come with its whole server. Either
# spelling is read; camelCase is written.

_MOST_EVENTS = 10_000
"""Events a new session may be given: a very long conversation, and still one quick request."""


def read_upstream(value: Any, read: pydantic.ValidatorFunctionWrapHandler) -> Any:
    """Read a type of genai or ADK, whose own validators fail on input that they do not expect."""
    try:
        return read(value)
    except (AttributeError, TypeError, LookupError, ArithmeticError) as error:
        raise ValueError("Input cannot be read") from error


_Event = Annotated[Event, pydantic.WrapValidator(read_upstream)]

# ADK's clients send an empty id for "draw one".
_DrawnIfEmpty = Annotated[SessionId | None, pydantic.BeforeValidator(lambda value: value or None)]


class CamelModel(pydantic.BaseModel):
    """Reads either spelling of a field, and writes camelCase."""

    model_config = pydantic.ConfigDict(alias_generator=to_camel, populate_by_name=True)


class CreateSession(CamelModel):
    """A new session; all of it may be left out."""

    session_id: _DrawnIfEmpty = pydantic.Field(default=None, description="Without: one is drawn.")
    state: dict[str, Any] | None = None
    events: Annotated[list[_Event], pydantic.Field(max_length=_MOST_EVENTS)] | None = None
    options: dict[str, Any] | None = pydantic.Field(
        default=None, description="Not supported by any service here."
    )


class UpdateSession(CamelModel):
    """A change of a session's state, without a run."""

    state_delta: dict[str, Any]


class RewindSession(CamelModel):
    """What to rewind: an invocation, and all after it."""

    invocation_id: Annotated[str, pydantic.Field(min_length=1, max_length=256)]


class Health(pydantic.BaseModel):
    """Whether the server takes new work."""

    status: Literal["ok", "draining"]


class Readiness(Health):
    """Whether the server takes new work, and what the installed versions leave out."""

    detail: str | None = None


class AppInfo(CamelModel):
    """What an app is."""

    name: str
    root_agent_name: str
    description: str
    language: Literal["yaml", "python"]
    is_computer_use: bool = False
    agents: dict[str, AgentInfo] | None = None


class AppList(CamelModel):
    """What every app is."""

    apps: list[AppInfo]


class Version(pydantic.BaseModel):
    """ADK's version, with ADK's mixed spelling, and ours."""

    version: str
    language: Literal["python"] = "python"
    language_version: str
    adkPrism: str


# ---------------------------------------------------------------------------

# ---------------------------------------------------------------------------
# Events that a client gives a new session: which are accepted.
#
# Follows google-adk 2.13 `cli/api_server.py` (`_validate_session_initialization_events`): a
# conversation, tool calls included, may be restored, but not an event that claims what only ADK
# decides (actions, long-running calls, ADK's own questions to a person). Beyond ADK, what a session
# database could not store is refused instead of failing there: a time outside the calendar, an id
# that is too long or is there twice.

EARLIEST, LATEST = 0.0, 253_370_764_800.0
"""Seconds: from 1970 to the first day of 9999, in any time zone a date that Python can hold."""

LONGEST_EVENT_ID = 128
LONGEST_INVOCATION = 256
"""Characters: ADK's columns (sessions/schemas/shared.py)."""


def check_events(events: Sequence[Event]) -> None:
    """Raise `UsageError`, naming the event, for one that is refused."""
    seen: set[str] = set()
    for index, event in enumerate(events):
        wrong = _claims(event) or _unstorable(event, seen)
        if wrong:
            raise UsageError(f"Session initialization event {index} cannot include {wrong}.")
        seen.add(event.id)


def _claims(event: Event) -> str:
    if event.long_running_tool_ids:
        return "long-running tool IDs"
    if event.actions != EventActions():
        return "event actions"
    names = {call.name for call in event.get_function_calls()}
    names |= {response.name for response in event.get_function_responses()}
    if not REQUESTS.isdisjoint(names):
        return "ADK protocol function calls"
    return ""


def _unstorable(event: Event, seen: set[str]) -> str:
    if not EARLIEST <= event.timestamp <= LATEST:
        return "a timestamp outside the years 1970 to 9998"
    if len(event.id) > LONGEST_EVENT_ID or len(event.invocation_id) > LONGEST_INVOCATION:
        return "an id that is too long"
    return "the id of another event" if event.id and event.id in seen else ""


# ---------------------------------------------------------------------------

_USER = "/apps/{app_name}/users/{user_id}/sessions"
_SESSION = _USER + "/{session_id}"


class SessionRoutes:
    """The routes of ADK's sessions."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._apps, self._locks = context.apps, context.runs.locks
        self._deletions, self._branches = context.runs.deletions, context.conversations.branches

    def router(self) -> APIRouter:
        """Return the router of sessions."""
        router = APIRouter(route_class=StrictRoute, tags=["ADK: sessions"])
        router.get(_USER, response_model=list[Session])(self.list_sessions)
        router.post(_USER, response_model=Session)(self.create_session)
        router.get(_SESSION, response_model=Session)(self.get_session)
        router.post(_SESSION, response_model=Session, deprecated=True)(self.create_session_with_id)
        router.patch(_SESSION, response_model=Session)(self.update_session)
        router.delete(_SESSION)(self.delete_session)
        router.post(_SESSION + "/rewind", response_model=Session)(self.rewind_session)
        return router

    async def list_sessions(self, app_name: AppName, user_id: PathUser) -> Response:
        """Return a user's sessions, without their events."""
        found = await self._apps.sessions(app_name).list(app_name, user_id)
        hidden = {
            each.session
            for each in await self._deletions.current()
            if (each.app, each.user) == (app_name, user_id)
        }
        sessions = [each for each in found if each.id not in hidden]
        return _json(await asyncio.to_thread(_list_json, sessions))

    async def create_session(
        self, app_name: AppName, user_id: PathUser, request: CreateSession | None = None
    ) -> Response:
        """Create a session, with a state and events if they are given."""
        request = request or CreateSession()
        if request.options:
            raise UsageError("Session options are not supported by the configured session service.")
        events = request.events or []
        check_events(events)
        origin = Origin(app=app_name, user=user_id, session=request.session_id or "")
        session = await self._create(origin, request.state)
        service = self._apps.session_service(app_name)
        for event in events:
            await service.append_event(session=session, event=as_client_event(event))
        return _json(_session_json(session))

    async def create_session_with_id(
        self, origin: PathOrigin, state: Annotated[dict[str, Any] | None, Body()] = None
    ) -> Response:
        """Create a session with this id; the body is its state."""
        return _json(_session_json(await self._create(origin, state)))

    async def get_session(self, origin: PathOrigin) -> Response:
        """Return a session with its events."""
        return _json(_session_json(await self._apps.sessions(origin.app).get(origin)))

    async def update_session(self, origin: PathOrigin, request: UpdateSession) -> Response:
        """Change a session's state without running the agent; a run that goes on ends first."""
        await self._context.starter.client_state.check(origin.app, request.state_delta)
        sessions = self._apps.sessions(origin.app)
        await sessions.state(origin)  # Not found: said now, not after a wait.
        async with self._locks.held(origin):
            await self._branches.settle_locked(origin)
            await sessions.append_state(origin, request.state_delta)
            return _json(_session_json(await sessions.get(origin)))

    async def delete_session(self, origin: PathOrigin) -> None:
        """Stop the session's run; delete the session and its runs. Nothing there: nothing to do."""
        sessions = self._apps.sessions(origin.app)
        await self._locks.stop(origin)
        async with self._locks.held(origin):
            await sessions.delete(origin)
            await self._context.log.delete(origin)
            await self._deletions.forget(origin)
        await self._context.audit.note(AuditedAction(action="session deleted", origin=origin))

    async def rewind_session(self, origin: PathOrigin, request: RewindSession) -> Response:
        """Take back an invocation and all after it: messages, state, artifacts. A run ends first."""
        self._context.lifecycle.check_open()
        about, runs = request.invocation_id, self._context.runs
        run = await self._branches.rewind(origin, about, runs, self._context.report)
        action = AuditedAction(action="session rewound", origin=origin, run=run, about=about)
        await self._context.audit.note(action)
        session = await self._apps.sessions(origin.app).get(origin)
        return _json(_session_json(session), {RUN_HEADER: run})

    async def _create(self, origin: Origin, state: dict[str, Any] | None) -> Session:
        await self._context.starter.client_state.check(origin.app, state or {})
        return await self._apps.sessions(origin.app).create(origin, state)


def _list_json(sessions: Sequence[Session]) -> bytes:
    """Write a list; of many sessions it takes a second, which belongs into a thread."""
    shown = [_session_json(s) for s in sessions if not s.id.startswith(EVALUATION_SESSIONS)]
    return b"[" + b",".join(shown) + b"]"


def _session_json(session: Session) -> bytes:
    return session_json(without_seed(session))


def _json(content: bytes, headers: dict[str, str] | None = None) -> Response:
    return Response(content, media_type="application/json", headers=headers)
