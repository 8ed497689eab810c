"""Import the apps of folders: on first use, once, one at a time, and in a thread.

Follows google-adk 2.13: `cli/utils/agent_loader.py` imports, `cli/api_server.py` (`get_runner_async`) wraps a
bare agent into an App named as its folder.

An app's module runs whatever its author wrote: it may sleep, use the network or load a model. So it is
imported in its own thread, and streams continue meanwhile. Imports of one process run one after the other:
they share `sys.modules` and the environment. One that takes longer than `LONGEST_TURN` does not keep the
others waiting, and is reported; whoever asks for its app is told to come back (`AppLoading`) after
`LONGEST_WAIT`.

An app that failed is tried again when its files have changed. With `reloads` so is one that was imported:
when it is used next, and its code has changed, it is imported again. Runs in progress keep the Runner that
they began with. If the new code cannot be imported, the code from before is used until the files change
again; `failure` says why. Only the app's own modules are imported again, not those that it shares with other
apps.

A module that needs the running event loop
(`asyncio.create_task`, or a client that asks for the loop when it is made) fails in a thread; it is then
imported on the loop, as google-adk 2.13 does with every app.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from importlib import invalidate_caches
from importlib.util import cache_from_source
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from google.adk.apps.app import App
from google.adk.cli.utils.agent_loader import AgentLoader
from google.adk.runners import Runner

from adk_prism.adk.app_environment import AppEnvironment, Environments, ExtraPlugins
from adk_prism.adk.app_folder import AppFolder, Found, Stamp, code_of, stamp_of_import
from adk_prism.adk.client_tools import module_declaration
from adk_prism.adk.services import Services, make_runner
from adk_prism.adk.tools import threads_of_module
from adk_prism.errors import AppFailed, AppLoading

LONGEST_TURN = 10.0
"""Seconds after which other apps are imported beside one that is still being imported."""

LATER = 10.0
"""Seconds after which it is worth asking for such an app again."""

LONGEST_WAIT = 30.0
"""Seconds for which a request waits for its app. Below what proxies wait for an answer."""


class _Turns:
    """Lets one import run at a time, unless it takes too long."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._holder: object = None
        self._since = 0.0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the turn, and hold it."""
        own = object()
        with self._changed:
            while self._holder is not None:
                left = self._since + LONGEST_TURN - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            self._holder, self._since = own, time.monotonic()
        try:
            yield
        finally:
            with self._changed:
                if self._holder is own:
                    self._holder = None
                    self._changed.notify_all()


_TURNS = _Turns()
"""One for the process, as `sys.modules` and `os.environ` are."""

_NEEDS_LOOP = ("no running event loop", "no current event loop")
"""What asyncio says in a thread without a loop (Python 3.11 to 3.14)."""

LOOP_CHECK = 1.0
"""Seconds between two checks whether the loop that runs an import is still open."""

CHECK_EVERY = 1.0
"""Seconds between two looks at the files of an app: a person saves no faster, and a look costs a
millisecond or more."""

Replaced = Callable[[str, Runner], None]
"""Takes the Runner that a new one of the same app has replaced."""

Modules = Mapping[str, ModuleType]
"""Imported modules, by name."""

ReportFailure = Callable[[str, BaseException], AppFailed]
"""Reports to the operator why an app failed; returns what a client may know."""


class _Failure(NamedTuple):
    error: AppFailed
    stamp: Stamp


class Imports:
    """The apps that were imported, those that failed, and those that are being imported."""

    def __init__(
        self,
        apps: ServedFolders,
        report_failure: ReportFailure,
        replaced: Replaced | None = None,
        report_slow: Callable[[str], None] = lambda _: None,
    ) -> None:
        """With `replaced`, apps are imported again when their code changes. `report_slow` is called with the
        name of an app that takes very long."""
        self._report_slow = report_slow
        self._apps = apps
        self._report_failure = report_failure
        self._replaced = replaced
        self._loaded: dict[str, Runner] = {}
        self._code: dict[str, Stamp] = {}
        """The code of each app that was imported."""
        self._checked: dict[str, float] = {}
        """When the files of each app were looked at last."""
        self._failed: dict[str, _Failure] = {}
        self._underway: dict[str, Future[Runner]] = {}
        self._turn = threading.Lock()

    @property
    def loaded(self) -> Mapping[str, Runner]:
        """The Runners of the apps that were imported."""
        return self._loaded

    async def load(self, name: str) -> Runner:
        """Return an app's Runner; import the app the first time. Raise `AppFailed` or `AppLoading`."""
        runner = self._loaded.get(name)
        if runner is not None and not await self._has_changed(name):
            return runner
        loading = asyncio.wrap_future(self._begun(name, asyncio.get_running_loop()))
        try:
            return await asyncio.wait_for(asyncio.shield(loading), LONGEST_WAIT)
        except TimeoutError:
            if loading.done():
                raise  # raised by the app itself
            self._report_slow(name)
            raise AppLoading(
                f"The app {name!r} is still being loaded; try again later.", LATER
            ) from None
        except AppFailed as error:
            if runner is not None:
                return runner  # A developer saves again in a moment; until then the app works.
            raise _again(error) from None

    async def _has_changed(self, name: str) -> bool:
        """Return whether an app that was imported has code now that was not tried, as far as was looked."""
        if self._replaced is None:
            return False
        now = time.monotonic()
        if now - self._checked.get(name, 0.0) < CHECK_EVERY:
            return False
        self._checked[name] = now
        return not await asyncio.to_thread(self._was_tried, name)

    def _was_tried(self, name: str) -> bool:
        return self._is_current(name) or self.failure(name) is not None

    def code(self, name: str) -> Stamp:
        """Return a value that changes when the app's code does. Reads the app's folder."""
        return code_of(self._apps.stamp(name))

    def has_new_code(self, name: str) -> bool:
        """Return whether an app that was imported has other code now. Reads the app's folder."""
        has_changed = name in self._loaded and not self._is_current(name)
        if has_changed:
            self._checked.pop(name, None)  # The next use looks at once.
        return has_changed

    def _current(self, name: str) -> Runner | None:
        runner = self._loaded.get(name)
        return runner if runner is not None and self._is_current(name) else None

    def _is_current(self, name: str) -> bool:
        return self._replaced is None or self.code(name) == self._code[name]

    def failure(self, name: str) -> AppFailed | None:
        """Return why an app failed, unless its files have changed since. Reads the app's folder."""
        failed = self._failed.get(name)
        if failed is None or failed.stamp != self._apps.stamp(name):
            return None
        return failed.error

    def _begun(self, name: str, loop: asyncio.AbstractEventLoop) -> Future[Runner]:
        """Return the import that is under way, or a new one."""
        with self._turn:
            future = self._underway.get(name)
            if future is not None:
                return future
            future = self._underway[name] = Future()
            future.set_running_or_notify_cancel()  # a client that disconnects must not cancel it for others
        # A daemon: a module that never returns must not keep the process alive.
        thread = threading.Thread(
            target=self._run, args=(name, future, loop), name=f"import {name}", daemon=True
        )
        thread.start()
        return future

    def _run(self, name: str, future: Future[Runner], loop: asyncio.AbstractEventLoop) -> None:
        try:
            with _TURNS.turn():
                runner = self._current(name) or self._import(name, loop)
        except BaseException as error:  # Every waiting caller must get it.
            self._end(name)
            future.set_exception(error)
        else:
            self._end(name)
            future.set_result(runner)

    def _end(self, name: str) -> None:
        with self._turn:
            self._underway.pop(name, None)

    def _import(self, name: str, loop: asyncio.AbstractEventLoop) -> Runner:
        known = self.failure(name)
        if known is not None:
            raise _again(known)
        before = self._apps.stamp(name)
        old = self._loaded.get(name)
        modules: Modules = {}
        if self._failed.pop(name, None) is not None or old is not None:
            modules = self._apps.forget(name)
        try:
            runner = self._built(name, loop)
        except BaseException as error:  # An app's module may raise anything, SystemExit too.
            failure = self._report_failure(name, error)
            seen = stamp_of_import(before, self._apps.stamp(name))
            self._failed[name] = _Failure(failure, seen)
            if old is not None:
                # What the old code imports while it runs must not be half of the new code.
                self._apps.forget(name)
                sys.modules.update(modules)
            raise _again(failure) from None
        self._loaded[name] = runner
        self._code[name] = code_of(before)
        if old is not None and self._replaced is not None:
            self._replaced(name, old)
        return runner

    def _built(self, name: str, loop: asyncio.AbstractEventLoop) -> Runner:
        try:
            return self._apps.build(name)
        except RuntimeError as error:
            if not any(text in str(error) for text in _NEEDS_LOOP):
                raise
        self._apps.forget(name)
        return self._built_on(loop, name)

    def _built_on(self, loop: asyncio.AbstractEventLoop, name: str) -> Runner:
        async def build() -> Runner:
            try:
                return self._apps.build(name)
            except (SystemExit, KeyboardInterrupt) as error:  # on the loop it would end the server
                raise RuntimeError(f"The app raised {type(error).__name__}.") from error

        future = asyncio.run_coroutine_threadsafe(build(), loop)
        while True:
            try:
                return future.result(LOOP_CHECK)
            except TimeoutError:
                if future.done():
                    raise  # raised by the app itself
                if loop.is_closed():
                    raise RuntimeError("The server stopped while the app was imported.") from None


def _again(error: AppFailed) -> AppFailed:
    """Return a copy to raise: the traceback of an exception grows each time that it is raised."""
    return AppFailed(error.detail, correlation=error.correlation)


class ServedFolders:
    """Folders whose apps become Runners; mostly one."""

    def __init__(
        self,
        paths: Sequence[Path],
        services: Services,
        environments: Environments,
        aliases: Mapping[str, str] | None = None,
        extra: ExtraPlugins | None = None,
    ) -> None:
        """`aliases` are further names that apps are served under, each with the app's own.

        Each app gets the `extra` plugins.
        """
        self._folders = [AppFolder(path, aliases) for path in paths]
        self.services = services
        self._extra = extra or ExtraPlugins()
        self._environments = environments
        self._loaders = {each.path: AgentLoader(str(each.path)) for each in self._folders}

    def scan(self) -> list[Found]:
        """Return everything that is an app or looks like one, sorted by name."""
        return sorted(found for folder in self._folders for found in folder.scan())

    def elsewhere(self) -> list[Path]:
        """Return the folders below these that hold apps, where these hold none."""
        return [path for folder in self._folders for path in folder.elsewhere()]

    def find(self, name: str) -> Found | None:
        """Return the app of this name, if it is there and can be served."""
        return self._folder_of(name).find(name)

    def _folder_of(self, name: str) -> AppFolder:
        """Return the folder that has the app: the first one that has, or the first if none has."""
        having = (folder for folder in self._folders if folder.find(name) is not None)
        return next(having, self._folders[0])

    def build(self, name: str) -> Runner:
        """Import an app and return its Runner. Raises whatever the app's code raises."""
        found = self.find(name)
        place = (found.path if found is not None else None) or self._folder_of(name).path
        with self._environments.loading(name, place):
            app = self._as_app(name)
        plugins = [
            *app.plugins,
            *self._extra.make(),
            *threads_of_module(name),
            *module_declaration(name, app.plugins),
            AppEnvironment(name, self._environments),
        ]
        # On a copy of the app, so that the app's own object stays as it was.
        return make_runner(name, app.model_copy(update={"plugins": plugins}), self.services)

    def forget(self, name: str) -> Modules:
        """Forget the modules of an app that is imported again; return them."""
        folder = self._folder_of(name)
        module = folder.module_of(name)
        own = {k: m for k, m in sys.modules.items() if f"{k}.".startswith(f"{module}.")}
        self._loaders[folder.path].remove_agent_from_cache(module)
        # Python uses bytecode for any source of the same size and second: two quick saves would be one.
        for file in (file for file in folder.stamp(name) if file.endswith(".py")):
            with suppress(OSError, NotImplementedError):
                Path(cache_from_source(file)).unlink(missing_ok=True)
        invalidate_caches()
        return own

    def stamp(self, name: str) -> Stamp:
        """Return a value that changes when a file of the app changes."""
        return self._folder_of(name).stamp(name)

    def compare_environments(self) -> None:
        """Report the variables that the `.env` files of several apps set differently."""
        apps = [each for each in self.scan() if not each.problem]
        self._environments.compare_files((each.name, each.path) for each in apps if each.path)

    def allows_threads(self, name: str) -> bool:
        """Return whether an app's tools may run in threads."""
        return self._environments.allows_threads(name)

    def _as_app(self, name: str) -> App:
        folder = self._folder_of(name)
        loaded = self._loaders[folder.path].load_agent(folder.module_of(name))
        return loaded if isinstance(loaded, App) else App(name=name, root_agent=loaded)
