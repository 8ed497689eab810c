"""ADK's A2A server for one app, with runs of our own behind it.

Follows google-adk 2.13 `cli/fast_api.py` (`a2a=True`): JSON-RPC and the agent card, read by ADK's executor
and the A2A SDK of the extra `google-adk[a2a]`, of which ADK supports 0.3 and 1.x. Differences:
- a run is started and recorded like all others: the executor gets a Runner that reads it from the log;
- sessions belong to the caller, where callers are known;
- the latest tasks are kept, not all of them;
- a client cannot have the server call a URL of its choice (push notifications).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from importlib import import_module
from typing import Any, NamedTuple

from google.adk.agents.base_agent import BaseAgent
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.genai import types
from starlette.applications import Starlette

from adk_prism.errors import UsageError

MOST_TASKS = 100
"""Tasks that are kept for one caller of an app: what a client may still ask for. The runs stay in the log."""

_COMPAT = "google.adk.a2a._compat"
_EXECUTOR = "google.adk.a2a.executor.a2a_agent_executor"


class A2aMessage(NamedTuple):
    """What a client sent to an agent."""

    user: str
    session: str
    """A2A's context id."""
    content: types.Content
    metadata: dict[str, Any]


RunMessage = Callable[[A2aMessage], AsyncGenerator[Event, None]]
"""Starts a run and yields its events. Raises only what a client may read; closing it stops the run."""


def require_a2a() -> None:
    """Raise `UsageError` if the A2A SDK is not installed, or not one that ADK can use."""
    try:
        import_module(_EXECUTOR)
    except ImportError as error:
        raise UsageError(
            f"--a2a needs the A2A SDK ({error}). Install it: pip install 'google-adk[a2a]'."
        ) from error


def check_card(card: dict[str, Any]) -> None:
    """Raise whatever the A2A SDK raises for something that is not an agent card."""
    import_module(_COMPAT).parse_agent_card(card)


def a2a_app(name: str, card: dict[str, Any], user: str, run: RunMessage) -> Starlette:
    """Return an ASGI application: JSON-RPC at `/`, the card at `/.well-known/agent-card.json`.

    It is for one user; empty: for anybody, and each conversation has a user of its own, as with ADK.
    """
    compat, executor = import_module(_COMPAT), import_module(_EXECUTOR)
    config = import_module("google.adk.a2a.executor.config").A2aAgentExecutorConfig
    app = Starlette()
    compat.attach_a2a_routes_to_app(
        app,
        agent_card=compat.parse_agent_card(card),
        agent_executor=executor.A2aAgentExecutor(
            runner=_RecordedRunner(name, run), config=config(request_converter=_converter(user))
        ),
        task_store=_task_store(),
    )
    return app


def _converter(user: str) -> Callable[..., Any]:
    convert = import_module(
        "google.adk.a2a.converters.request_converter"
    ).convert_a2a_request_to_agent_run_request

    def converted(context: Any, parts: Any) -> Any:
        request = convert(context, parts)
        if user:
            request.user_id = user
        return request

    return converted


class _RecordedRunner(Runner):
    """A Runner whose runs happen elsewhere."""

    def __init__(self, name: str, run: RunMessage) -> None:
        # The executor reads names from the agent, and nothing else: the app is loaded when it runs.
        super().__init__(app_name=name, agent=BaseAgent(name=name), session_service=_SessionNames())
        self._run = run

    async def run_async(self, **asked: Any) -> AsyncGenerator[Event, None]:
        """Yield the events of a recorded run."""
        config, content = asked.get("run_config"), asked.get("new_message")
        message = A2aMessage(
            user=asked["user_id"],
            session=asked["session_id"],
            content=content or types.Content(role="user", parts=[]),
            metadata=dict(config.custom_metadata or {}) if config is not None else {},
        )
        events = self._run(message)
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()


class _SessionNames(InMemorySessionService):
    """Says that every session is there: whoever starts the run creates it, after checking its name."""

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, **_: Any
    ) -> Session:
        """Return a session of that name, without events."""
        return Session(app_name=app_name, user_id=user_id, id=session_id)


def _task_store() -> Any:
    base: Any = import_module("a2a.server.tasks").InMemoryTaskStore

    class LatestTasks(base):  # type: ignore[misc] # a class of an optional package
        """Keeps the latest tasks."""

        def __init__(self) -> None:
            super().__init__()
            self._latest: OrderedDict[str, None] = OrderedDict()

        async def save(self, task: Any, *context: Any) -> None:
            """Keep a task; forget the one that was not touched for longest, if there are too many."""
            await super().save(task, *context)
            self._latest[task.id] = None
            self._latest.move_to_end(task.id)
            while len(self._latest) > MOST_TASKS:
                oldest, _ = self._latest.popitem(last=False)
                await self.delete(oldest, *context)

    return LatestTasks()
