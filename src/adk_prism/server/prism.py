"""adk-prism beside your own routes: the Runners of a host program, served under a prefix.

    prism = Prism(runners={"support": runner})
    app = FastAPI(lifespan=prism.lifespan)
    app.mount("/agents", prism.asgi())

Starlette does not run the lifespan of a mounted application. With `prism.lifespan` the host starts
and stops it; without, the first request starts it and the end of the process stops it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from fastapi import FastAPI
from google.adk.runners import Runner

from adk_prism.diagnostics import Report
from adk_prism.runlog.contract import RunLog
from adk_prism.server.app import assemble, lifespan_of
from adk_prism.server.configured_secrets import secrets_of
from adk_prism.server.data_folder import close_data_folder
from adk_prism.server.identity.callback import Authenticate
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.observability.observability import open_observability
from adk_prism.server.settings import Settings
from adk_prism.server.settings.sources import read_settings
from adk_prism.server.wiring import make_context
from adk_prism.source.apps import Apps
from adk_prism.source.tool_timeouts import ToolTimeouts


class Prism:
    """A server for Runners that were built elsewhere; their services stay the host's to close."""

    def __init__(
        self,
        runners: Mapping[str, Runner],
        settings: Settings | None = None,
        *,
        log: RunLog | None = None,
        report: Report | None = None,
        authenticate: Authenticate | None = None,
    ) -> None:
        """Without `settings` the environment and pyproject.toml decide; `log` overrides theirs.

        `authenticate` says who calls, e.g. from the host's own cookie; then everybody has to be known.
        """
        settings = settings or read_settings({}, os.environ, Path.cwd())
        observability = open_observability(settings, secrets_of(settings), report)
        if log is None:
            close_data_folder(Path(settings.data_dir), observability.report)
        lifecycle = Lifecycle(observability.report)
        apps = Apps.of_runners(
            runners,
            report=observability.report,
            tool_threads=settings.tool_threads,
            tool_timeouts=ToolTimeouts(*settings.tool_timeouts),
        )
        self.context = make_context(
            settings, apps, lifecycle, observability, log, authenticate=authenticate
        )
        self._app = assemble(self.context)
        self._lifespan = lifespan_of(lifecycle)

    def asgi(self) -> FastAPI:
        """Return the application, to mount or to serve by itself."""
        return self._app

    def lifespan(self, app: object) -> AbstractAsyncContextManager[None]:
        """Run the server while the host's application runs."""
        return self._lifespan(app)
