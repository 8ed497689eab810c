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
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Body, Response
from google.adk.sessions.session import Session

from adk_prism.errors import UsageError
from adk_prism.pipeline.audit_actions import AuditedAction
from adk_prism.pipeline.deletions import Deletions
from adk_prism.pipeline.evaluations import EVALUATION_SESSIONS
from adk_prism.pipeline.rewinds import Rewinds
from adk_prism.pipeline.session_branches import SessionBranches
from adk_prism.pipeline.session_locks import SessionLocks
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import Origin
from adk_prism.server.adk.adk_models import CreateSession, RewindSession, UpdateSession
from adk_prism.server.adk.seeded_events import check_events
from adk_prism.server.client_state import ClientState
from adk_prism.server.guards.name_rules import AppName
from adk_prism.server.guards.session_path import PathOrigin
from adk_prism.server.guards.strict_body import StrictRoute
from adk_prism.server.identity.parameters import PathUser
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.observability.audit.audit_log import AuditLog
from adk_prism.server.run_streams import RUN_HEADER
from adk_prism.source.apps import Apps
from adk_prism.source.redaction import session_json
from adk_prism.source.sessions import without_seed
from adk_prism.source.untrusted import as_client_event

_USER = "/apps/{app_name}/users/{user_id}/sessions"
_SESSION = _USER + "/{session_id}"


@dataclass(frozen=True, slots=True)
class SessionRoutes:
    """The routes of ADK's sessions, made of the parts that they use."""

    apps: Apps
    locks: SessionLocks
    log: RunLog
    deletions: Deletions
    branches: SessionBranches
    rewinds: Rewinds
    client_state: ClientState
    audit: AuditLog
    lifecycle: Lifecycle

    def router(self) -> APIRouter:
        """Return the router of self."""
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
        found = await self.apps.sessions(app_name).list(app_name, user_id)
        hidden = {
            each.session
            for each in await self.deletions.current()
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
        service = self.apps.session_service(app_name)
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
        return _json(_session_json(await self.apps.sessions(origin.app).get(origin)))

    async def update_session(self, origin: PathOrigin, request: UpdateSession) -> Response:
        """Change a session's state without running the agent; a run that goes on ends first."""
        await self.client_state.check(origin.app, request.state_delta)
        sessions = self.apps.sessions(origin.app)
        await sessions.state(origin)  # Not found: said now, not after a wait.
        async with self.locks.held(origin):
            await self.branches.settle_locked(origin)
            await sessions.append_state(origin, request.state_delta)
            return _json(_session_json(await sessions.get(origin)))

    async def delete_session(self, origin: PathOrigin) -> None:
        """Stop the session's run; delete the session and its runs. Nothing there: nothing to do."""
        sessions = self.apps.sessions(origin.app)
        await self.locks.stop(origin)
        async with self.locks.held(origin):
            await sessions.delete(origin)
            await self.log.delete_session(origin)
            await self.deletions.forget(origin)
        await self.audit.note(AuditedAction(action="session deleted", origin=origin))

    async def rewind_session(self, origin: PathOrigin, request: RewindSession) -> Response:
        """Take back an invocation and all after it: messages, state, artifacts. A run ends first."""
        self.lifecycle.check_open()
        run = await self.rewinds.rewind(origin, request.invocation_id)
        about = request.invocation_id
        action = AuditedAction(action="session rewound", origin=origin, run=run, about=about)
        await self.audit.note(action)
        session = await self.apps.sessions(origin.app).get(origin)
        return _json(_session_json(session), {RUN_HEADER: run})

    async def _create(self, origin: Origin, state: dict[str, Any] | None) -> Session:
        await self.client_state.check(origin.app, state or {})
        return await self.apps.sessions(origin.app).create(origin, state)


def _list_json(sessions: Sequence[Session]) -> bytes:
    """Write a list; of many sessions it takes a second, which belongs into a thread."""
    shown = [_session_json(s) for s in sessions if not s.id.startswith(EVALUATION_SESSIONS)]
    return b"[" + b",".join(shown) + b"]"


def _session_json(session: Session) -> bytes:
    return session_json(without_seed(session))


def _json(content: bytes, headers: dict[str, str] | None = None) -> Response:
    return Response(content, media_type="application/json", headers=headers)
