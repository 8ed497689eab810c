"""The apps that are served: those of a folder, imported on first use, or Runners of a host program; and apps
that run on other servers.

`app_folder` finds the apps of a folder, `app_imports` imports them, `app_environment` keeps their
environment variables apart. An app is known, and its sessions and artifacts can be read, before it is
imported. What needs the app itself awaits `open` first, which imports an app or finds it on its server;
`app`, and all that is read from it, need an app that was opened. `served_app` says what an app is to the rest
of the server, wherever it runs.

Follows google-adk 2.13 `cli/api_server.py` (`get_runner_async`), which wraps a bare agent into an App
named as its folder. Differences: a name is looked up before anything is imported, so that a request
can never import another module; an app that fails to load fails alone, with safe text for the client
and the cause for the operator.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from contextvars import ContextVar
from copy import copy
from functools import partial
from pathlib import Path
from typing import TypedDict, Unpack

from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService

from adk_prism import errors
from adk_prism.adk import app_folder
from adk_prism.adk import services as adk_services
from adk_prism.adk.app_environment import Environments, ExtraPlugins, VariablesSeen
from adk_prism.adk.app_imports import Imports, ServedFolders
from adk_prism.adk.errors import load_failure, shown_path
from adk_prism.adk.served_app import AppElsewhere, Feature, LocalApp, ServedApp
from adk_prism.adk.session_store import ChangeStore, SessionStore, store_over
from adk_prism.adk.sessions import Sessions
from adk_prism.adk.tools import NO_TIMEOUTS, ToolTimeouts, ask_before, declared_threads
from adk_prism.log.entry import Agent

MOST_RETIRED = 16
"""Runners that are kept after they were replaced. A run that began so many changes ago may lose its
toolsets; without a bound, each change would keep connections open until the server stops."""


MOST_FOLDERS_NAMED = 5
"""Folders that a sentence names; more are found by looking."""


class AppOptions(TypedDict, total=False):
    """How apps are served."""

    report: errors.Report
    tool_threads: int
    """Threads for the synchronous tools of an app that does not say how many; 0: the event loop runs them."""
    tool_timeouts: ToolTimeouts
    """After which a tool call fails."""
    max_llm_calls: int | None
    """Most model calls of a run; 0 or less: no limit; None: ADK's."""
    remotes: Iterable[AppElsewhere]
    """Served beside the others; one with the name of a local app hides it."""
    reloads: bool
    """Apps of a folder are imported again when their code changes."""


HIDDEN: ContextVar[Callable[[str], bool] | None] = ContextVar("hidden", default=None)
"""Which apps are not there for whoever calls: set for each request, and empty in what the server does."""


def is_hidden(name: str) -> bool:
    """Return whether an app is not there for whoever calls."""
    hides = HIDDEN.get()
    return hides is not None and hides(name)


def no_app(name: str) -> errors.NotFound:
    """Return the error for an app that is not there."""
    return errors.NotFound(f"There is no app {name[:60]!r}. GET /list-apps lists the apps.")


class Apps:
    """Apps by name. Each is imported when it is first used; one that fails leaves the others alone."""

    def __init__(
        self,
        folder: ServedFolders | None,
        runners: Mapping[str, Runner],
        **options: Unpack[AppOptions],
    ) -> None:
        """Prefer `of_folder` and `of_runners`."""
        self._folder = folder
        self._given = runners
        replaced = self._retire if options.get("reloads") else None
        self._imports = (
            Imports(folder, self._report_failure, replaced, self._report_slow)
            if folder is not None
            else None
        )
        self._report = options.get("report", errors.ignore)
        self._local: dict[str, tuple[Runner, LocalApp]] = {}
        """By name, with the Runner that it was made of."""
        self._remotes = {remote.name: remote for remote in options.get("remotes", ())}
        self._retired: deque[tuple[str, Runner]] = deque()
        """Runners that were replaced, oldest first: runs may still use them."""
        self._reloads: Counter[str] = Counter()
        """How often each app was imported again."""
        self._closed: set[str] = set()
        self._tool_threads = options.get("tool_threads", 0)
        self._tool_timeouts = options.get("tool_timeouts", NO_TIMEOUTS)
        self._max_llm_calls = options.get("max_llm_calls")
        self.needs_approval: Callable[[str, str], bool] | None = None
        """Whether a person has to approve the calls of an app's tool; set by the feature that knows."""

    @classmethod
    def of_folder(
        cls,
        agents_dir: Path | None,
        services: adk_services.Services,
        *,
        extra: ExtraPlugins | None = None,
        variables_seen: VariablesSeen | None = None,
        **options: Unpack[AppOptions],
    ) -> Apps:
        """Serve every app of a folder; None: the bundled ones. Raise `UsageError` without a folder.

        `variables_seen` is called with the variables of each `.env`, and of the process after an import.
        """
        if agents_dir is not None and not agents_dir.is_dir():
            raise errors.UsageError(
                f"There is no folder {str(agents_dir)!r}. Expected a folder with one subfolder per "
                "app, each with an agent.py that defines root_agent or app."
            )
        folders = [agents_dir] if agents_dir is not None else app_folder.bundled_folders()
        aliases = app_folder.BUNDLED_ALIASES if agents_dir is None else {}
        report = options.get("report", errors.ignore)
        served = ServedFolders(
            folders, services, Environments(report, variables_seen), aliases, extra
        )
        return cls(served, {}, **options)

    @classmethod
    def of_runners(
        cls,
        runners: Mapping[str, Runner],
        *,
        change_store: ChangeStore | None = None,
        **options: Unpack[AppOptions],
    ) -> Apps:
        """Serve Runners that the host program built, and closes. Raise `UsageError` for a bad name.

        A Runner with another app name is served under its key, and keeps its sessions under it. Those that
        share a session service share what is kept of its sessions. `change_store` is given each store.
        """
        for name in runners:
            if app_folder.problem_of_name(name):
                raise errors.UsageError(
                    f"{name!r} is not a valid app name; expected letters, digits and underscores, "
                    "not starting with a digit or two underscores."
                )
        services = {id(each.session_service): each.session_service for each in runners.values()}
        stores = {key: store_over(service, change_store) for key, service in services.items()}
        given = {
            name: _served(runner, name, stores[id(runner.session_service)])
            for name, runner in runners.items()
        }
        return cls(None, given, **options)

    # ------------------------------------------------------------------ finding

    def found(self) -> list[app_folder.Found]:
        """Return every app, sorted by name; also what looks like an app, with the reason why it is not one.

        Reads the folder and imports nothing.
        """
        local = (
            self._folder.scan()
            if self._folder is not None
            else [app_folder.Found(name, None) for name in self._given]
        )
        found = {each.name: each for each in local} | {
            name: app_folder.Found(name, None) for name in self._remotes
        }
        return [found[name] for name in sorted(found) if not is_hidden(name)]

    def advice(self) -> str:
        """Return why apps are missing and what to do, a sentence for each reason; empty if none is."""
        found = self.found()
        said = [f"{each.name[:60]}: {each.problem}" for each in found if each.problem]
        if self._folder is not None and not found:
            below = self._folder.elsewhere()[:MOST_FOLDERS_NAMED]
            shown = ", ".join(shown_path(path) for path in below)
            said.append(
                f"There are apps deeper down: give one of these folders instead: {shown}."
                if below
                else "An app is a subfolder with an agent.py that defines root_agent or app."
            )
        return " ".join(said)

    def names(self) -> list[str]:
        """Return the names of all apps, sorted, those that fail to load included. Imports nothing."""
        return [found.name for found in self.found() if not found.problem]

    def find(self, name: str) -> app_folder.Found | None:
        """Return one app by its name, or by another name that it is served under. Imports nothing."""
        if is_hidden(name):
            return None
        if name in self._remotes:
            return app_folder.Found(name, None)
        if self._folder is not None:
            return self._folder.find(name)
        return app_folder.Found(name, None) if name in self._given else None

    def check(self, name: str) -> None:
        """Raise `NotFound` for an unknown name. Imports nothing."""
        if is_hidden(name):
            raise no_app(name)
        if name in self._remotes or name in self._loaded:
            return
        if self._folder and self._folder.find(name) is not None:
            return
        raise no_app(name)

    def module_of(self, name: str) -> str:
        """Return the name of the module of an app: that of the app, which may have another name here."""
        found = self._folder.find(name) if self._folder is not None else None
        return found.path.stem if found is not None and found.path is not None else name

    def compare_environments(self) -> None:
        """Report the variables that the `.env` files of several apps set differently."""
        if self._folder is not None:
            self._folder.compare_environments()

    # ------------------------------------------------------------------ loading

    @property
    def _loaded(self) -> Mapping[str, Runner]:
        return self._given if self._imports is None else self._imports.loaded

    def is_loaded(self, name: str) -> bool:
        """Return whether an app has been imported, or found on its server."""
        remote = self._remotes.get(name)
        return remote.is_open if remote is not None else name in self._loaded

    async def open(self, name: str) -> ServedApp:
        """Return an app that can be used: import it, or find it on its server, the first time.

        Raise `NotFound` for an unknown name, `AppFailed` for an app that does not import, `RemoteFailed` for
        one whose server cannot be used.
        """
        remote = self._remotes.get(name)
        if remote is not None:
            await remote.open()
            return remote
        await self.load(name)
        return self.app(name)

    def read_once(self, name: str) -> AbstractContextManager[None]:
        """Return a block in which a session is read once, where reading it is a request to another server."""
        remote = self._remotes.get(name)
        return nullcontext() if remote is None else remote.read_once()

    def app(self, name: str) -> ServedApp:
        """Return an app that was opened. Raise as `runner` does."""
        remote = self._remotes.get(name)
        if remote is not None:
            if not remote.is_open:
                raise RuntimeError(f"The app {name!r} was not opened.")
            return remote
        runner = self._runner(name)
        known = self._local.get(name)
        if known is None or known[0] is not runner:
            # Asked for each run: it depends on the variables of apps that are loaded later, too.
            if self.needs_approval is not None:
                ask_before(runner, partial(self.needs_approval, name))
            threads = partial(self.threads_of, name)
            app = LocalApp(runner, threads, self._max_llm_calls, self._tool_timeouts)
            known = self._local[name] = (runner, app)
        return known[1]

    async def load(self, name: str) -> Runner:
        """Return the Runner of an app of this process; import the app, in a thread, the first time.

        Raise `NotFound` for an unknown name, `AppFailed` for an app that does not import.
        """
        self.check(name)
        if self._imports is None:
            return self._given[name]
        await self._close_retired(MOST_RETIRED)
        return await self._imports.load(name)

    def reloads(self, name: str) -> int:
        """Return how often an app was imported again because its code had changed."""
        return self._reloads[name]

    def code(self, name: str) -> app_folder.Stamp:
        """Return a value that changes when the code of an app of a folder does. Reads the app's folder."""
        return self._imports.code(name) if self._imports is not None else {}

    def has_new_code(self, name: str) -> bool:
        """Return whether the app's code has changed since it was loaded, so that its next use reloads it."""
        return self._imports is not None and self._imports.has_new_code(name)

    def failure(self, name: str) -> errors.AppFailed | None:
        """Return why the app, or its new code, failed to load, unless its files have changed since."""
        if name in self._remotes:
            return self._remotes[name].failure
        return self._imports.failure(name) if self._imports is not None else None

    def runner(self, name: str, feature: Feature = "resume") -> Runner:
        """Return the Runner of an app that was opened, for a feature that needs the app's code.

        Raise `NotFound` for an unknown name, `NotSupported` for an app of another server, and `RuntimeError`
        for an app that was not opened: the caller forgot to await `open`. Importing here would block the
        event loop.
        """
        return self.app(name).runner(feature)

    def _runner(self, name: str) -> Runner:
        runner = self._loaded.get(name)
        if runner is None:
            self.check(name)
            raise RuntimeError(f"The app {name!r} was not loaded.")
        return runner

    def _report_failure(self, name: str, error: BaseException) -> errors.AppFailed:
        """Report the cause to the operator; return what a client may know."""
        correlation = errors.new_correlation()
        self._report(
            errors.Diagnostic(
                kind="app failed",
                detail="The app could not be loaded; it is tried again when its files change.",
                correlation=correlation,
                app=name,
                cause=errors.cause_of(error),
                message=load_failure(error),
            )
        )
        return errors.AppFailed(
            f"The app {name!r} could not be loaded ({type(error).__name__}). "
            f"Reference: {correlation}.",
            correlation=correlation,
        )

    def _report_slow(self, name: str) -> None:
        detail = (
            "The app is still being imported; others are served. What does its module wait for?"
        )
        self._report(errors.Diagnostic(kind="app loading", detail=detail, app=name))

    def _retire(self, name: str, old: Runner) -> None:
        """Keep a Runner that was replaced, for the runs that began with it."""
        self._retired.append((name, old))
        self._reloads[name] += 1
        self._report(
            errors.Diagnostic(kind="app reloaded", detail="Its files have changed.", app=name)
        )

    # ------------------------------------------------------------------ services

    def sessions(self, name: str) -> Sessions:
        """Return the app's sessions; the app need not be loaded. Raise `NotFound`."""
        return Sessions(self.session_service(name))

    def session_service(self, name: str) -> BaseSessionService:
        """Return ADK's service behind the app's sessions. Raise `NotFound`."""
        return self._services(name).sessions

    def artifact_service(self, name: str) -> BaseArtifactService | None:
        """Return the service of the app's artifacts; the app need not be loaded. Raise `NotFound`."""
        return self._services(name).artifacts

    def memory_service(self, name: str) -> BaseMemoryService | None:
        """Return the app's memory service; the app need not be loaded. Raise `NotFound`."""
        services = self._services(name)
        return services.memory if isinstance(services, adk_services.Services) else None

    def _services(self, name: str) -> adk_services.Services | AppElsewhere:
        """Return what has the services of an app, which need not be loaded. Raise `NotFound`."""
        self.check(name)
        if name in self._remotes:
            return self._remotes[name]
        return (
            self._folder.services if self._folder else adk_services.services_of(self._given[name])
        )

    async def check_sessions(self) -> None:
        """Check that the session stores of the apps respond. Raise `NoSessions`."""
        local = (
            [self._folder.services]
            if self._folder
            else map(adk_services.services_of, self._given.values())
        )
        for service in {id(each.sessions): each.sessions for each in local}.values():
            if isinstance(service, SessionStore):
                await service.check()

    def keeps_sessions(self, name: str) -> bool:
        """Return whether the app's sessions are this server's to keep and remove."""
        return name not in self._remotes

    # ------------------------------------------------------------------ opened apps

    def client_keys(self, name: str) -> frozenset[str] | None:
        """Return the state keys that the app lets clients write; None if it does not say."""
        return self.app(name).client_keys

    def threads_of(self, name: str) -> int:
        """Return how many threads the synchronous tools of a local app share; 0: the event loop's."""
        declared = declared_threads(self._runner(name))
        if declared is not None:
            return declared
        is_safe = self._folder is None or self._folder.allows_threads(name)
        return self._tool_threads if is_safe else 0

    def agents(self, name: str) -> list[Agent]:
        """Return the app's agents, root first, in the order in which they are declared."""
        return self.app(name).agents()

    def resumable(self, name: str) -> bool:
        """Return whether the app asked for ADK's resumability."""
        return self.app(name).is_resumable

    async def close(self) -> None:
        """Close the Runners that were built here, their plugins and toolsets; and connections to others."""
        for remote in self._remotes.values():
            await remote.close()
        if self._imports is None:
            return
        await self._close_retired(0)
        for name, runner in list(self._imports.loaded.items()):
            if name not in self._closed:
                self._closed.add(name)
                await self._close(name, runner)

    async def _close_retired(self, most: int) -> None:
        """Close the Runners that were replaced first, but for so many."""
        while len(self._retired) > most:
            await self._close(*self._retired.popleft())

    async def _close(self, name: str, runner: Runner) -> None:
        try:
            await runner.close()
        except RuntimeError as error:  # What ADK raises for a plugin that does not close.
            self._report(
                errors.Diagnostic(kind="app not closed", app=name, cause=errors.cause_of(error))
            )


def _served(runner: Runner, name: str, sessions: BaseSessionService) -> Runner:
    """Return a Runner as it is served; the host's own stays as it was."""
    if runner.app_name == name and runner.session_service is sessions:
        return runner
    served = copy(runner)
    served.app_name = name
    served.session_service = sessions
    return served


@asynccontextmanager
async def open_app(
    name: str,
    folder: Path | None,
    uris: adk_services.ServiceUris,
    data_dir: Path,
    *,
    report: errors.Report,
    variables_seen: VariablesSeen | None = None,
) -> AsyncIterator[Apps]:
    """Open one app of a folder, or a bundled one, for the block. Raise `UsageError` if there is no such app.

    The error says which apps there are, and why others are not.
    """
    services = adk_services.open_services(uris, data_dir=data_dir, agents_dir=folder)
    apps = Apps.of_folder(folder, services, report=report, variables_seen=variables_seen)
    try:
        if apps.find(name) is None:
            there = ", ".join(apps.names()) or "none"
            said = (f"There is no app {name[:60]!r}. Available apps: {there}.", apps.advice())
            hint = app_folder.install_hint(name) if folder is None else ""
            raise errors.UsageError(" ".join(filter(None, said)) + hint)
        await apps.open(name)
        yield apps
    finally:
        await apps.close()
        await adk_services.close_services(services)
