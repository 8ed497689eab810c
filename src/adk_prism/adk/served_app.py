"""What the server needs of an app, wherever the app runs.

`LocalApp` is an app whose code runs in this process, `AppElsewhere` one that another server runs.
Sessions, artifacts and memories are ADK's own services, which both have. Whatever needs the code itself takes
`runner`, with the feature that it is for: an app without it refuses, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

from google.adk.agents.llm_agent import LlmAgent
from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.utils.agent_info import get_agents_dict
from google.adk.workflow import BaseNode

from adk_prism.adk.agents import list_agents
from adk_prism.adk.client_tools import declared_keys, declared_tools
from adk_prism.adk.internals.runner import supports_live
from adk_prism.adk.plugin import is_last_answer
from adk_prism.adk.request import EventSource, RunRequest
from adk_prism.adk.runner import RunnerSource
from adk_prism.adk.sessions import StateUpdateSource, plant, resumable_past
from adk_prism.adk.tools import NO_TIMEOUTS, InDoubt, ToolTimeouts
from adk_prism.errors import AppFailed, Report, UsageError
from adk_prism.log.entry import Agent, Origin

Feature = Literal[
    "live",
    "rewind",
    "fork",
    "rerun",
    "graph",
    "state",
    "client tools",
    "stored results",
    "resume",
    "memory",
]
"""What an app may lack."""


class ServedApp(Protocol):
    """An app that can be used."""

    @property
    def root_name(self) -> str:
        """Name of the root agent."""

    @property
    def description(self) -> str:
        """What the root agent says of itself."""

    @property
    def root(self) -> BaseNode | None:
        """The root agent itself, if its code is here."""

    @property
    def lacks(self) -> Mapping[Feature, str]:
        """What the app cannot do, and why."""

    @property
    def client_keys(self) -> frozenset[str] | None:
        """State keys that clients may write; None if the app does not say."""

    @property
    def is_resumable(self) -> bool:
        """Whether an invocation can be resumed in another process."""

    @property
    def plants_text(self) -> bool:
        """Whether a new session takes a history as text only: nothing in it can be answered or resumed."""

    @property
    def stops_when_left(self) -> bool:
        """Whether a run is aborted when the process that asked for it is gone."""

    def agents(self) -> list[Agent]:
        """Return the agents, root first."""

    async def details(self) -> dict[str, Any]:
        """Return the agents in ADK's words, by name. Raise `UsageError`."""

    def runner(self, feature: Feature) -> Runner:
        """Return the app's Runner, for a feature that needs it. Raise `NotSupported`."""

    def check(self, feature: Feature) -> None:
        """Raise `NotSupported` if this server cannot do that with the app, whatever its code does."""

    async def plant(self, origin: Origin, events: Sequence[Event], *, resumes: bool) -> None:
        """Create a session that begins with these events; a run is to continue where they end, or not.

        Raise `Conflict` if the session exists, and leave that one as it is. If anything else is raised, no
        session remains.
        """

    def source(
        self,
        request: RunRequest,
        report: Report,
        *,
        attempt: int = 0,
        doubts: Mapping[str, InDoubt] | None = None,
    ) -> EventSource:
        """Return a run of the app; `attempt` and `doubts` where another process began it."""

    def is_last_word(self, event: Event) -> bool:
        """Return whether a run of which this event was stored last had answered; nobody saw its end."""

    def state_update(self, request: RunRequest, report: Report) -> EventSource:
        """Return a change of state without a model call. Raise `NotSupported`."""


class AppElsewhere(ServedApp, Protocol):
    """An app that does not run in this process: it has a name, services and a connection of its own."""

    name: str
    failure: AppFailed | None
    """Why it could not be used the last time; None if it can, as far as is known."""

    @property
    def sessions(self) -> BaseSessionService:
        """ADK's service of its sessions."""

    @property
    def artifacts(self) -> BaseArtifactService:
        """ADK's service of its artifacts."""

    @property
    def is_open(self) -> bool:
        """Whether the app was found."""

    async def open(self) -> None:
        """Find the app, unless it was found before. Raise `SourceError`."""

    async def close(self) -> None:
        """Close its connections."""

    def read_once(self) -> AbstractContextManager[None]:
        """Read each session once while the block runs, however many parts of a request need it."""


class LocalApp:
    """An app whose Runner is in this process."""

    stops_when_left = False
    plants_text = False

    def __init__(
        self,
        runner: Runner,
        tool_threads: Callable[[], int] = lambda: 0,
        max_llm_calls: int | None = None,
        tool_timeouts: ToolTimeouts = NO_TIMEOUTS,
    ) -> None:
        self._runner = runner
        self._tool_threads = tool_threads
        self._tool_timeouts = tool_timeouts
        self._max_llm_calls = max_llm_calls
        self._agents: list[Agent] | None = None

    @property
    def root(self) -> BaseNode:
        """The root agent."""
        return self._runner.agent

    @property
    def root_name(self) -> str:
        """Its name."""
        return self.root.name

    @property
    def description(self) -> str:
        """What it says of itself."""
        return self.root.description

    @property
    def lacks(self) -> Mapping[Feature, str]:
        """What the app's own code does not declare."""
        missing: dict[Feature, str] = {}
        if not supports_live(self.root):
            missing["live"] = "The app's model has no live mode."
        if declared_tools(self._runner) is None:
            missing["client tools"] = (
                'The app does not have the plugin accept_client_tools("request").'
            )
        if not self.is_resumable:
            missing["resume"] = "The app has no ResumabilityConfig."
        return missing

    @property
    def client_keys(self) -> frozenset[str] | None:
        """As the app declares."""
        return declared_keys(self._runner)

    @property
    def is_resumable(self) -> bool:
        """Whether the app asked for ADK's resumability."""
        config = self._runner.resumability_config
        return config is not None and config.is_resumable

    def agents(self) -> list[Agent]:
        """Return the agents, in the order in which they are declared."""
        if self._agents is None:
            self._agents = list_agents(self.root)
        return self._agents

    async def details(self) -> dict[str, Any]:
        """Return the agents with their instructions and tools; ADK describes only an `LlmAgent`."""
        if not isinstance(self.root, LlmAgent):
            raise UsageError("Root agent is not an LlmAgent")
        return await get_agents_dict(self.root)

    def runner(self, feature: Feature) -> Runner:
        """Return the Runner: every feature can use it."""
        del feature
        return self._runner

    def check(self, feature: Feature) -> None:
        """Do nothing: with the code here, all can be tried."""

    async def plant(self, origin: Origin, events: Sequence[Event], *, resumes: bool) -> None:
        """Create the session through the app's own service."""
        past = resumable_past(self._runner, events) if resumes else events
        await plant(self._runner, origin, past)

    def source(
        self,
        request: RunRequest,
        report: Report,
        *,
        attempt: int = 0,
        doubts: Mapping[str, InDoubt] | None = None,
    ) -> EventSource:
        """Return a run of the Runner, or of the variant that the request is about."""
        variant = request.variant
        return RunnerSource(
            variant.runner if variant is not None else self._runner,
            request,
            agents=self.agents() if variant is None else None,
            tools=variant.tools if variant is not None else None,
            report=report,
            nodes=True,
            attempt=attempt,
            doubts=doubts,
            tool_threads=self._tool_threads(),
            tool_timeouts=self._tool_timeouts,
            max_llm_calls=self._max_llm_calls,
        )

    def is_last_word(self, event: Event) -> bool:
        """Return whether an event is a final answer, after which no other agent goes on."""
        return is_last_answer(event, self.root)

    def state_update(self, request: RunRequest, report: Report) -> EventSource:
        """Return the change, as one event of the user."""
        return StateUpdateSource(
            runner=self._runner, request=request, agents=self.agents(), report=report
        )
