"""The apps that are served: found in a folder as `adk web` finds them, or given as Runners.

Follows google-adk 2.13: `cli/utils/agent_loader.py` finds and imports, `cli/api_server.py`
(`get_runner_async`) wraps a bare agent into an App named as its folder. Differences: a name is
looked up in the list before anything is imported, so that a request can never import another
module; ADK's built-in agents are not served; an app that fails to load fails alone, with safe text
for the client and the cause for the operator, and is tried once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from pathlib import Path

from google.adk.apps.app import App
from google.adk.cli.utils.agent_loader import AgentLoader
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService

from adk_prism.diagnostics import Diagnostic, Report, cause_of, ignore, new_correlation
from adk_prism.errors import AppFailed, NotFound, UsageError
from adk_prism.runlog.entry import Agent
from adk_prism.source.agents import RootKind, list_agents, root_kind
from adk_prism.source.client_state import declared_keys
from adk_prism.source.denial import DenialPlugin
from adk_prism.source.error_text import load_failure
from adk_prism.source.graph import Graph, read_graph
from adk_prism.source.hot_sessions import HotSessions, keep_hot
from adk_prism.source.services import Services
from adk_prism.source.sessions import Sessions

BUNDLED = Path(__file__).parent.parent / "apps"
"""The apps that come with the package; a folder to the loader, never imported from here."""

StateAllowances = Mapping[str, frozenset[str]]


class Apps:
    """Apps by name. Each is loaded when first asked for; one that fails leaves the others alone."""

    def __init__(
        self,
        names: Callable[[], Sequence[str]],
        build: Callable[[str], Runner],
        *,
        report: Report = ignore,
        allowed_state: StateAllowances | None = None,
        stored: Callable[[str], BaseSessionService],
    ) -> None:
        """Prefer `of_folder` and `of_runners`. `build` is called once for each name asked for, and
        `stored` returns where an app's sessions are, which needs no app to be loaded."""
        self._stored = stored
        self._names = names
        self._build = build
        self._report = report
        self._allowed_state = allowed_state or {}
        self._runners: dict[str, Runner] = {}
        self._failures: dict[str, AppFailed] = {}
        self._agents: dict[str, list[Agent]] = {}
        self._graphs: dict[str, Graph] = {}
        self._built: list[Runner] = []

    @classmethod
    def of_folder(
        cls,
        agents_dir: Path | None,
        services: Services,
        *,
        report: Report = ignore,
        allowed_state: StateAllowances | None = None,
    ) -> Apps:
        """Serve every app of a folder; None: the bundled ones. Raise `UsageError` if it is none."""
        folder = agents_dir or BUNDLED
        if not folder.is_dir():
            raise UsageError(
                f"There is no folder {str(folder)!r}. Expected a folder with one subfolder per "
                "app, each with an agent.py that defines root_agent or app."
            )
        loader = AgentLoader(str(folder))

        def names() -> list[str]:
            return [name for name in loader.list_agents() if _is_app_name(name)]

        def build(name: str) -> Runner:
            return _new_runner(name, _as_app(name, loader), services)

        return cls(
            names,
            build,
            report=report,
            allowed_state=allowed_state,
            stored=lambda _: services.sessions,
        )

    @classmethod
    def of_runners(
        cls,
        runners: Mapping[str, Runner],
        *,
        report: Report = ignore,
        allowed_state: StateAllowances | None = None,
    ) -> Apps:
        """Serve Runners that the host program built, and closes. Raise `UsageError` for a bad name.

        A Runner with another app name is served under its key, and keeps its sessions under it. Those that
        share a session service share what is kept of its sessions.
        """
        for name in runners:
            if not _is_app_name(name):
                raise UsageError(
                    f"{name!r} cannot be an app's name; expected letters, digits and underscores, "
                    "not starting with a digit or two underscores."
                )
        services = {id(each.session_service): each.session_service for each in runners.values()}
        hot = {key: keep_hot(service) for key, service in services.items()}
        given = {
            name: _served(runner, name, hot[id(runner.session_service)])
            for name, runner in runners.items()
        }
        apps = cls(
            lambda: sorted(given),
            given.__getitem__,
            report=report,
            allowed_state=allowed_state,
            stored=lambda name: given[name].session_service,
        )
        apps._runners.update(given)
        return apps

    def names(self) -> list[str]:
        """Return the names of all apps, sorted, those that fail to load included."""
        return list(self._names())

    def runner(self, name: str) -> Runner:
        """Return the app's Runner, loading the app the first time.

        Raise `NotFound` for an unknown name and `AppFailed`, each time, for an app that does not
        import.
        """
        if (runner := self._runners.get(name)) is not None:
            return runner
        if (failure := self._failures.get(name)) is not None:
            raise AppFailed(failure.detail, correlation=failure.correlation)
        if not _is_app_name(name) or name not in self._names():
            raise NotFound(f"There is no app {name[:60]!r}. GET /list-apps names those there are.")
        return self._load(name)

    def _load(self, name: str) -> Runner:
        try:
            runner = self._build(name)
        except (Exception, SystemExit) as error:  # An app's module may raise anything; reported.
            failure = self._failures[name] = self._tell(name, error)
            raise AppFailed(failure.detail, correlation=failure.correlation) from None
        self._runners[name] = runner
        self._built.append(runner)
        return runner

    def _tell(self, name: str, error: BaseException) -> AppFailed:
        """Tell the operator the cause; return what a client may know."""
        correlation = new_correlation()
        self._report(
            Diagnostic(
                kind="app failed",
                detail="The app could not be loaded; it is tried again after a restart.",
                correlation=correlation,
                app=name,
                cause=cause_of(error),
                message=load_failure(error),
            )
        )
        return AppFailed(
            f"The app {name!r} could not be loaded ({type(error).__name__}). "
            f"Reference: {correlation}.",
            correlation=correlation,
        )

    def sessions(self, name: str) -> Sessions:
        """Return the sessions of the app's Runner."""
        return Sessions(self.runner(name).session_service, allowed_state=self._allowed_state)

    def stored_sessions(self, name: str) -> Sessions | None:
        """Return the app's sessions without loading the app; None for an unknown name."""
        if name not in self._runners and name not in self._names():
            return None
        return Sessions(self._stored(name), allowed_state=self._allowed_state)

    async def check_sessions(self) -> None:
        """Find out whether the stores of the apps that are loaded answer. Raise `NoSessions`."""
        services = {
            id(each.session_service): each.session_service for each in self._runners.values()
        }
        for service in services.values():
            if isinstance(service, HotSessions):
                await service.check()

    def client_keys(self, name: str) -> frozenset[str] | None:
        """Return the state keys that the app lets clients write; None if it does not say."""
        return declared_keys(self.runner(name))

    def agents(self, name: str) -> list[Agent]:
        """Return the app's agents, root first, in the order in which they are declared."""
        if name not in self._agents:
            self._agents[name] = list_agents(self.runner(name).agent)
        return self._agents[name]

    def graph(self, name: str) -> Graph:
        """Return the app's agents, tools and workflow nodes as a graph."""
        if name not in self._graphs:
            self._graphs[name] = read_graph(self.runner(name).agent)
        return self._graphs[name]

    def resumable(self, name: str) -> bool:
        """Tell whether the app asked for ADK's resumability."""
        config = self.runner(name).resumability_config
        return config is not None and config.is_resumable

    def root_kind(self, name: str) -> RootKind:
        """Tell which of ADK's runtimes runs the root."""
        return root_kind(self.runner(name).agent)

    async def close(self) -> None:
        """Close the Runners that were built here: their plugins and toolsets."""
        while self._built:
            runner = self._built.pop()
            try:
                await runner.close()
            except RuntimeError as error:  # What ADK raises for a plugin that does not close.
                self._report(
                    Diagnostic(kind="app not closed", app=runner.app_name, cause=cause_of(error))
                )


def _is_app_name(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not name.startswith("__")


def _served(runner: Runner, name: str, sessions: BaseSessionService) -> Runner:
    """Return a Runner as it is served; the host's own stays as it was."""
    if runner.app_name == name and runner.session_service is sessions:
        return runner
    served = copy(runner)
    served.app_name = name
    served.session_service = sessions
    return served


def _as_app(name: str, loader: AgentLoader) -> App:
    loaded = loader.load_agent(name)
    return loaded if isinstance(loaded, App) else App(name=name, root_agent=loaded)


def _new_runner(name: str, app: App, services: Services) -> Runner:
    """Build a Runner on a copy of the app, so that the app's own object stays as it was."""
    return Runner(
        app=app.model_copy(update={"plugins": [*app.plugins, DenialPlugin()]}),
        app_name=name,
        artifact_service=services.artifacts,
        session_service=services.sessions,
        memory_service=services.memory,
        credential_service=services.credentials,
    )
