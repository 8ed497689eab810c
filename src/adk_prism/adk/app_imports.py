"""Import apps: on first use, once, one at a time, and in a thread.

An app's module runs whatever its author wrote: it may sleep, use the network or load a model. So it is
imported in its own thread, and streams continue meanwhile. Imports of one process run one after the other:
they share `sys.modules` and the environment. One that takes longer than `LONGEST_TURN` does not keep the
others waiting, and is reported; whoever asks for its app is told to come back (`AppLoading`) after
`LONGEST_WAIT`.

An app that failed is tried again when its files have changed. With `reloads` so is one that was imported:
when it is used next, and its code has changed, it is imported again. Runs in progress keep the Runner that
they began with. If the new code cannot be imported, the app fails until its files change again. Only the
app's own modules are imported again, not those that it shares with other apps.

A module that needs the running event loop
(`asyncio.create_task`, or a client that asks for the loop when it is made) fails in a thread; it is then
imported on the loop, as google-adk 2.13 does with every app.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import NamedTuple

from google.adk.runners import Runner

from adk_prism.adk.app_folder import Stamp, code_of, stamp_of_import
from adk_prism.adk.served_folders import ServedFolders
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
            raise _again(error) from None

    async def _has_changed(self, name: str) -> bool:
        """Return whether an app that was imported has other code now, as far as was looked."""
        if self._replaced is None:
            return False
        now = time.monotonic()
        if now - self._checked.get(name, 0.0) < CHECK_EVERY:
            return name in self._failed
        self._checked[name] = now
        return not await asyncio.to_thread(self._is_current, name)

    def has_new_code(self, name: str) -> bool:
        """Return whether an app that was imported will be imported again. Reads the app's folder."""
        return name in self._loaded and not self._is_current(name)

    def _current(self, name: str) -> Runner | None:
        runner = self._loaded.get(name)
        return runner if runner is not None and self._is_current(name) else None

    def _is_current(self, name: str) -> bool:
        return self._replaced is None or code_of(self._apps.stamp(name)) == self._code[name]

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
        if self._failed.pop(name, None) is not None or old is not None:
            self._apps.forget(name)
        try:
            runner = self._built(name, loop)
        except BaseException as error:  # An app's module may raise anything, SystemExit too.
            failure = self._report_failure(name, error)
            seen = stamp_of_import(before, self._apps.stamp(name))
            self._failed[name] = _Failure(failure, seen)
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
