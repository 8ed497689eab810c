"""The apps that are served: those of a folder, imported on first use, or Runners of a host program.

`app_folder` finds the apps of a folder, `app_imports` imports them, `app_environment` keeps their
environment variables apart. An app is known, and its sessions and artifacts can be read, before it is
imported. What needs its code awaits `load` first; `runner`, and all that is read from the Runner, need
an app that was loaded.

Follows google-adk 2.13 `cli/api_server.py` (`get_runner_async`), which wraps a bare agent into an App
named as its folder. Differences: a name is looked up before anything is imported, so that a request
can never import another module; an app that fails to load fails alone, with safe text for the client
and the cause for the operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from pathlib import Path

from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService

from adk_prism.diagnostics import Diagnostic, Report, cause_of, ignore, new_correlation
from adk_prism.errors import AppFailed, NotFound, UsageError
from adk_prism.runlog.entry import Agent
from adk_prism.source.adk.missing_extras import remember_missing_extras
from adk_prism.source.agents import RootKind, list_agents, root_kind
from adk_prism.source.app_environment import Environments
from adk_prism.source.app_folder import Found, problem_of_name
from adk_prism.source.app_imports import Imports
from adk_prism.source.bundled_apps import BUNDLED_ALIASES, bundled_folders
from adk_prism.source.client_state import declared_keys
from adk_prism.source.error_text import load_failure
from adk_prism.source.extra_plugins import ExtraPlugins
from adk_prism.source.graph import Graph, read_graph
from adk_prism.source.served_folders import ServedFolders
from adk_prism.source.services import Services
from adk_prism.source.session_cache import SessionCache, cached_sessions
from adk_prism.source.sessions import Sessions
from adk_prism.source.tool_threads import declared_threads

StateAllowances = Mapping[str, frozenset[str]]


class Apps:
    """Apps by name. Each is imported when it is first used; one that fails leaves the others alone."""

    def __init__(
        self,
        folder: ServedFolders | None,
        runners: Mapping[str, Runner],
        *,
        report: Report = ignore,
        allowed_state: StateAllowances | None = None,
        tool_threads: int = 0,
        max_llm_calls: int | None = None,
    ) -> None:
        """Prefer `of_folder` and `of_runners`.

        `tool_threads`: threads for the synchronous tools of an app that does not say how many; 0: none, they
        run on the event loop. `max_llm_calls`: most model calls of a run; 0 or less: no limit; None: ADK's.
        """
        self._folder = folder
        self._given = runners
        self._imports = Imports(folder, self._report_failure) if folder is not None else None
        self._report = report
        self._allowed_state = allowed_state or {}
        self._agents: dict[str, list[Agent]] = {}
        self._graphs: dict[str, Graph] = {}
        self._closed: set[str] = set()
        self._tool_threads = tool_threads
        self.max_llm_calls = max_llm_calls

    @classmethod
    def of_folder(
        cls,
        agents_dir: Path | None,
        services: Services,
        *,
        report: Report = ignore,
        allowed_state: StateAllowances | None = None,
        tool_threads: int = 0,
        max_llm_calls: int | None = None,
        extra: ExtraPlugins | None = None,
    ) -> Apps:
        """Serve every app of a folder; None: the bundled ones. Raise `UsageError` without a folder."""
        if agents_dir is not None and not agents_dir.is_dir():
            raise UsageError(
                f"There is no folder {str(agents_dir)!r}. Expected a folder with one subfolder per "
                "app, each with an agent.py that defines root_agent or app."
            )
        folders = [agents_dir] if agents_dir is not None else bundled_folders()
        aliases = BUNDLED_ALIASES if agents_dir is None else {}
        served = ServedFolders(folders, services, Environments(report), aliases, extra)
        return cls(
            served,
            {},
            report=report,
            allowed_state=allowed_state,
            tool_threads=tool_threads,
            max_llm_calls=max_llm_calls,
        )

    @classmethod
    def of_runners(
        cls,
        runners: Mapping[str, Runner],
        *,
        report: Report = ignore,
        allowed_state: StateAllowances | None = None,
        tool_threads: int = 0,
    ) -> Apps:
        """Serve Runners that the host program built, and closes. Raise `UsageError` for a bad name.

        A Runner with another app name is served under its key, and keeps its sessions under it. Those that
        share a session service share what is kept of its sessions.
        """
        for name in runners:
            if problem_of_name(name):
                raise UsageError(
                    f"{name!r} is not a valid app name; expected letters, digits and underscores, "
                    "not starting with a digit or two underscores."
                )
        services = {id(each.session_service): each.session_service for each in runners.values()}
        hot = {key: cached_sessions(service) for key, service in services.items()}
        given = {
            name: _served(runner, name, hot[id(runner.session_service)])
            for name, runner in runners.items()
        }
        return cls(
            None, given, report=report, allowed_state=allowed_state, tool_threads=tool_threads
        )

    # ------------------------------------------------------------------ finding

    def found(self) -> list[Found]:
        """Return every app, sorted by name; also what looks like an app, with the reason why it is not one.

        Reads the folder and imports nothing.
        """
        if self._folder is not None:
            return self._folder.scan()
        return [Found(name, None) for name in sorted(self._given)]

    def names(self) -> list[str]:
        """Return the names of all apps, sorted, those that fail to load included. Imports nothing."""
        return [found.name for found in self.found() if not found.problem]

    def find(self, name: str) -> Found | None:
        """Return one app by its name, or by another name that it is served under. Imports nothing."""
        if self._folder is not None:
            return self._folder.find(name)
        return Found(name, None) if name in self._given else None

    def check(self, name: str) -> None:
        """Raise `NotFound` for an unknown name. Imports nothing."""
        if name in self._loaded or (self._folder and self._folder.find(name) is not None):
            return
        raise NotFound(f"There is no app {name[:60]!r}. GET /list-apps lists the apps.")

    def compare_environments(self) -> None:
        """Report the variables that the `.env` files of several apps set differently."""
        if self._folder is not None:
            self._folder.compare_environments()

    # ------------------------------------------------------------------ loading

    @property
    def _loaded(self) -> Mapping[str, Runner]:
        return self._given if self._imports is None else self._imports.loaded

    def is_loaded(self, name: str) -> bool:
        """Return whether an app has been imported."""
        return name in self._loaded

    async def load(self, name: str) -> Runner:
        """Return the app's Runner; import the app, in a thread, the first time.

        Raise `NotFound` for an unknown name, `AppFailed` for an app that does not import.
        """
        self.check(name)
        if self._imports is None:
            return self._given[name]
        return await self._imports.load(name)

    def failure(self, name: str) -> AppFailed | None:
        """Return why the app failed to load, unless its files have changed since."""
        return self._imports.failure(name) if self._imports is not None else None

    def runner(self, name: str) -> Runner:
        """Return the Runner of an app that was loaded.

        Raise `NotFound` for an unknown name, and `RuntimeError` for an app that was not loaded: the caller
        forgot to await `load`. Importing here would block the event loop.
        """
        runner = self._loaded.get(name)
        if runner is None:
            self.check(name)
            raise RuntimeError(f"The app {name!r} was not loaded.")
        return runner

    def _report_failure(self, name: str, error: BaseException) -> AppFailed:
        """Report the cause to the operator; return what a client may know."""
        correlation = new_correlation()
        self._report(
            Diagnostic(
                kind="app failed",
                detail="The app could not be loaded; it is tried again when its files change.",
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

    # ------------------------------------------------------------------ services

    def sessions(self, name: str) -> Sessions:
        """Return the app's sessions; the app need not be loaded. Raise `NotFound`."""
        return Sessions(self.session_service(name), allowed_state=self._allowed_state)

    def session_service(self, name: str) -> BaseSessionService:
        """Return ADK's service behind the app's sessions. Raise `NotFound`."""
        self.check(name)
        if self._folder is not None:
            return self._folder.services.sessions
        return self._given[name].session_service

    def artifact_service(self, name: str) -> BaseArtifactService | None:
        """Return the service of the app's artifacts; the app need not be loaded. Raise `NotFound`."""
        self.check(name)
        if self._folder is not None:
            return self._folder.services.artifacts
        return self._given[name].artifact_service

    def memory_service(self, name: str) -> BaseMemoryService | None:
        """Return the app's memory service; the app need not be loaded. Raise `NotFound`."""
        self.check(name)
        if self._folder is not None:
            return self._folder.services.memory
        return self._given[name].memory_service

    async def check_sessions(self) -> None:
        """Check that the session stores of the apps respond. Raise `NoSessions`."""
        if self._folder is not None:
            services = [self._folder.services.sessions]
        else:
            services = [runner.session_service for runner in self._given.values()]
        for service in {id(service): service for service in services}.values():
            if isinstance(service, SessionCache):
                await service.check()

    # ------------------------------------------------------------------ loaded apps

    def client_keys(self, name: str) -> frozenset[str] | None:
        """Return the state keys that the app lets clients write; None if it does not say."""
        return declared_keys(self.runner(name))

    def threads_of(self, name: str) -> int:
        """Return how many threads the app's synchronous tools share; 0: they run on the event loop."""
        declared = declared_threads(self.runner(name))
        if declared is not None:
            return declared
        is_safe = self._folder is None or self._folder.allows_threads(name)
        return self._tool_threads if is_safe else 0

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
        """Return whether the app asked for ADK's resumability."""
        config = self.runner(name).resumability_config
        return config is not None and config.is_resumable

    def root_kind(self, name: str) -> RootKind:
        """Return which of ADK's runtimes runs the root."""
        return root_kind(self.runner(name).agent)

    async def close(self) -> None:
        """Close the Runners that were built here: their plugins and toolsets."""
        if self._imports is None:
            return
        for name, runner in list(self._imports.loaded.items()):
            if name in self._closed:
                continue
            self._closed.add(name)
            try:
                await runner.close()
            except RuntimeError as error:  # What ADK raises for a plugin that does not close.
                self._report(Diagnostic(kind="app not closed", app=name, cause=cause_of(error)))


def _served(runner: Runner, name: str, sessions: BaseSessionService) -> Runner:
    """Return a Runner as it is served; the host's own stays as it was."""
    remember_missing_extras()
    if runner.app_name == name and runner.session_service is sessions:
        return runner
    served = copy(runner)
    served.app_name = name
    served.session_service = sessions
    return served
