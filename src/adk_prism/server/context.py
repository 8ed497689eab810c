"""The parts of one server: made once by `wiring`, passed on to routes and features by `app`.

There are no module-level services; `create_app` twice in one process gives two servers that share
nothing. A routes module is a function `routes(…) -> APIRouter` of the parts that it uses (of more
than five, the context), or, with many handlers, a class of them with `router()`.
"""

from __future__ import annotations

from dataclasses import dataclass

from adk_prism.adk.apps import Apps
from adk_prism.errors import Report
from adk_prism.extension import Observers
from adk_prism.log.contract import RunLog
from adk_prism.log.leases import Leases
from adk_prism.runs.chats import Chats
from adk_prism.runs.conversations import Conversations
from adk_prism.runs.model_call_writer import ModelCallWriter
from adk_prism.runs.runs import Runs
from adk_prism.runs.takeover import Takeovers
from adk_prism.server.identity.identity import Identity
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.limits import CallerLimits, HeavyWork, SharedLimits
from adk_prism.server.observability.metrics import Metrics
from adk_prism.server.observability.observability import AuditLog, Observability
from adk_prism.server.problems import ErrorTexts
from adk_prism.server.run_files import RunFiles
from adk_prism.server.run_starter import RunStarter
from adk_prism.server.run_streams import RunStreams
from adk_prism.server.settings import Settings
from adk_prism.voice.live_runs import LiveRuns


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """What records and stores runs."""

    log: RunLog
    """Without what ADK's sessions hold besides."""
    leases: Leases
    calls: ModelCallWriter
    takeovers: Takeovers
    observers: Observers
    """See the runs of this process: features add theirs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How much callers may use."""

    callers: CallerLimits
    shared: SharedLimits | None
    """Counts them for all replicas."""
    heavy: HeavyWork


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """The parts of one server."""

    settings: Settings
    apps: Apps
    log: RunLog
    """For readers: with what ADK's sessions hold besides."""
    recording: Recording
    runs: Runs
    chats: Chats
    conversations: Conversations
    live: LiveRuns
    streams: RunStreams
    starter: RunStarter
    files: RunFiles
    limits: Limits
    observability: Observability
    lifecycle: Lifecycle
    identity: Identity

    @property
    def report(self) -> Report:
        """Tells the operator."""
        return self.observability.report

    @property
    def metrics(self) -> Metrics:
        """The server's numbers."""
        return self.observability.metrics

    @property
    def errors(self) -> ErrorTexts:
        """The full texts of errors, for who may see them."""
        return self.observability.errors

    @property
    def audit(self) -> AuditLog:
        """Who did what."""
        return self.observability.audit

    @property
    def draining(self) -> bool:
        """Whether the server takes no new work."""
        return self.lifecycle.draining
