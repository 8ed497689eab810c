"""The parts of one server: made once by `wiring`, passed on to the routes by `app`.

There are no module-level services; `create_app` twice in one process gives two servers that share
nothing. A routes module is a function `routes(…) -> APIRouter` of the parts that it uses (of more
than five, the context), or, with many handlers, a class of them with `router()`.
"""

from __future__ import annotations

from dataclasses import dataclass

from adk_prism.diagnostics import Report
from adk_prism.pipeline.broadcast import Broadcaster
from adk_prism.pipeline.cancellation import Canceller
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.conversation import Conversations
from adk_prism.pipeline.deletions import Deletions
from adk_prism.pipeline.film_cache import Films
from adk_prism.pipeline.forks import Forks
from adk_prism.pipeline.live_runs import LiveRuns
from adk_prism.pipeline.run_index import RunIndex
from adk_prism.pipeline.runs import Runs
from adk_prism.pipeline.runs_from_recorders import RecordedRuns
from adk_prism.pipeline.session_branches import SessionBranches
from adk_prism.pipeline.session_locks import SessionLocks
from adk_prism.pipeline.takeover import Takeovers
from adk_prism.pipeline.uploaded_runs import Uploads
from adk_prism.runlog.contract import RunLog
from adk_prism.server.client_state import ClientState
from adk_prism.server.error_text_store import ErrorTexts
from adk_prism.server.evaluation import Evaluator
from adk_prism.server.files.run_files import RunFiles
from adk_prism.server.idempotency import Idempotency
from adk_prism.server.identity.identity import Identity
from adk_prism.server.identity.share_links import ShareLinks
from adk_prism.server.identity.tickets import TicketOffice
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.limits.heavy_work import HeavyWork
from adk_prism.server.limits.shared_limits import SharedLimits
from adk_prism.server.observability.audit.audit_log import AuditLog
from adk_prism.server.observability.metrics.metrics import Metrics
from adk_prism.server.observability.observability import Observability
from adk_prism.server.open_sockets import Sockets
from adk_prism.server.run_starter import RunStarter
from adk_prism.server.run_streams import RunStreams
from adk_prism.server.settings import Settings
from adk_prism.source.apps import Apps


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """The parts of one server."""

    settings: Settings
    apps: Apps
    log: RunLog
    deletions: Deletions
    run_index: RunIndex
    locks: SessionLocks
    runs: Runs
    takeovers: Takeovers
    canceller: Canceller
    broadcaster: Broadcaster
    streams: RunStreams
    chats: Chats
    client_state: ClientState
    conversations: Conversations
    branches: SessionBranches
    live: LiveRuns
    forks: Forks
    films: Films
    heavy: HeavyWork
    uploads: Uploads
    recorded: RecordedRuns
    idempotency: Idempotency
    starter: RunStarter
    evaluator: Evaluator
    files: RunFiles
    observability: Observability
    lifecycle: Lifecycle
    sockets: Sockets
    identity: Identity
    tickets: TicketOffice
    links: ShareLinks
    shared_limits: SharedLimits | None

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
