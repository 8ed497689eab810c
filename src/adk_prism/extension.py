"""What a feature can add to adk-prism: the one seam between the kernel and its features.

A feature is a folder below `features/`, or another package. It declares an `Extension` and names it under
the entry point group `adk_prism.extensions`; nothing else knows it. Declaring one must be cheap: every
command loads all of them, so `serve` and the modules of commands import what they need when they are used.

An extension that does not load, needs one that is missing, or claims a command, an option or a route that is
taken is left out with one line that says why. The rest works.
"""

from __future__ import annotations

import re
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from adk_prism.errors import UsageError

if TYPE_CHECKING:
    from fastapi import APIRouter
    from starlette.routing import BaseRoute
    from starlette.types import Receive, Scope, Send

    from adk_prism.adk.apps import Apps
    from adk_prism.adk.request import CallRecorder, Detail
    from adk_prism.adk.secrets import Secrets
    from adk_prism.adk.served_app import AppElsewhere
    from adk_prism.adk.session_store import SessionStore
    from adk_prism.errors import Report
    from adk_prism.facts.run_reader import MakeAnnotator
    from adk_prism.log.contract import RunLog, RunSummary, TrimmedRun
    from adk_prism.log.coordination import Coordination
    from adk_prism.log.entry import Entry, Origin, RunId
    from adk_prism.options import FeatureSettings
    from adk_prism.runs.session_log import ReadableLog
    from adk_prism.server.context import Context
    from adk_prism.server.identity.methods import Method
    from adk_prism.server.lifecycle import Lifecycle
    from adk_prism.server.observability import Meter, Observability
    from adk_prism.server.request_bodies import PathLimit
    from adk_prism.server.settings import Settings

GROUP = "adk_prism.extensions"

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


class Command(NamedTuple):
    """A subcommand of `adk-prism`."""

    name: str
    summary: str
    """One line for `adk-prism --help`."""
    module: str
    """Has `register(parser)`, which adds arguments, and `execute(args) -> int`. Imported when it is used."""


Warn = Callable[[str], None]
"""Takes a text for the operator."""


class LogKind(NamedTuple):
    """A kind of run log, which URLs of some schemes name."""

    form: str
    """How such a URL looks, for error messages."""
    open: Callable[[str, Warn], RunLog]
    """Returns the log of a URL, which is opened later. Raises `UsageError` for a URL that cannot be used."""
    coordinate: Callable[[str], Coordination] | None = None
    """Returns what the processes that use the log coordinate by; None where only one can use it."""
    dump: Callable[[str, Path], Coroutine[Any, Any, None]] | None = None
    """Writes the log into a file, for a backup. Raises `UsageError` if there is none, `LogError`."""
    load: Callable[[str, Path], AbstractAsyncContextManager[None]] | None = None
    """Writes such a file into an empty store, which servers refuse until the context has ended."""


class RunObserver(Protocol):
    """Sees every run that this process records, off the path of its deltas."""

    def stored(self, run: RunId, entries: Sequence[Entry]) -> None:
        """Take entries that were committed: each once, in order. Must not block or raise."""

    def ended(self, run: RunId) -> None:
        """Note that the end of a run was committed. Must not block or raise."""

    def changed(self, run: RunId) -> None:
        """Note that what is stored beside a run has changed. Must not block or raise."""


class Observers(list[RunObserver]):
    """The observers of one server, as one."""

    def __init__(self) -> None:
        super().__init__()
        self.removals: list[Callable[[TrimmedRun], None]] = []
        """Take runs that the log has removed by itself. Must not block or raise."""

    def removed(self, run: TrimmedRun) -> None:
        """Pass a run on that was removed."""
        for take in self.removals:
            take(run)

    def stored(self, run: RunId, entries: Sequence[Entry]) -> None:
        """Pass entries on that were committed."""
        for each in self:
            each.stored(run, entries)

    def ended(self, run: RunId) -> None:
        """Tell all of them that a run has ended."""
        for each in self:
            each.ended(run)

    def changed(self, run: RunId) -> None:
        """Tell all of them that what is stored beside a run has changed."""
        for each in self:
            each.changed(run)


Stop = Callable[[str], None]
"""Stops a run; takes the code with which it fails."""


class Limiter:
    """Limits nothing: base of what limits callers and their runs."""

    @asynccontextmanager
    async def counting(
        self, scope: Scope, receive: Receive, send: Send
    ) -> AsyncIterator[tuple[Receive, Send]]:
        """Count a request or socket while the block serves it. Raise `TooMany`."""
        del scope
        yield receive, send

    @asynccontextmanager
    async def entering(
        self, origin: Origin, *, must: bool = False, runs_agent: bool = True
    ) -> AsyncIterator[None]:
        """Note that a session is about to have a run; forget it if the block fails.

        Raise `TooMany` for a run that is one too many, unless it `must` be taken: another process began it.
        """
        del origin, must, runs_agent
        yield

    async def leave(self, origin: Origin) -> None:
        """Note that a run of a session is over here."""

    def begin(self, run: RunId, stop: Stop) -> None:
        """Start a run's clocks; `stop` stops the run."""

    def end(self, run: RunId) -> None:
        """Forget a run's clocks."""

    def following(self, run: RunId) -> None:
        """Count a client that follows a run."""

    def left(self, run: RunId) -> None:
        """Count one less."""


class Limiters(list[Limiter], Limiter):
    """The limiters of one server, as one."""

    @asynccontextmanager
    async def counting(
        self, scope: Scope, receive: Receive, send: Send
    ) -> AsyncIterator[tuple[Receive, Send]]:
        """Count a request or socket by all of them."""
        async with AsyncExitStack() as counted:
            for each in self:
                receive, send = await counted.enter_async_context(
                    each.counting(scope, receive, send)
                )
            yield receive, send

    @asynccontextmanager
    async def entering(
        self, origin: Origin, *, must: bool = False, runs_agent: bool = True
    ) -> AsyncIterator[None]:
        """Let a run in if all of them do."""
        async with AsyncExitStack() as entered:
            for each in self:
                entry = each.entering(origin, must=must, runs_agent=runs_agent)
                await entered.enter_async_context(entry)
            yield

    async def leave(self, origin: Origin) -> None:
        """Tell all of them that a run of a session is over here."""
        for each in self:
            await each.leave(origin)

    def begin(self, run: RunId, stop: Stop) -> None:
        """Start a run's clocks."""
        for each in self:
            each.begin(run, stop)

    def end(self, run: RunId) -> None:
        """Forget a run's clocks."""
        for each in self:
            each.end(run)

    def following(self, run: RunId) -> None:
        """Tell all of them that a client follows a run."""
        for each in self:
            each.following(run)

    def left(self, run: RunId) -> None:
        """Tell all of them that one follows it no more."""
        for each in self:
            each.left(run)


class LimiterParts(NamedTuple):
    """What a limiter is made of: parts of a server that has no `Context` yet."""

    settings: Settings
    known: bool
    """Whether callers have to authenticate."""
    log: RunLog
    coordination: Coordination
    lifecycle: Lifecycle
    observability: Observability


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """What a feature adds to one server."""

    routers: Sequence[APIRouter] = ()
    observer: RunObserver | None = None
    describe_run: Callable[[RunSummary], Awaitable[Mapping[str, Any]]] | None = None
    """Returns what the feature adds to `GET /api/runs/{run}`."""
    describe_log: Callable[[], Mapping[str, Any]] | None = None
    """Returns what the feature adds to `log` in `GET /api/setup`."""
    upload_paths: Sequence[str] = ()
    """Paths whose request bodies may be as large as `--upload-limit`."""
    body_limits: Sequence[PathLimit] = ()
    """Limits of the request bodies of other paths."""
    change_routes: Callable[[Sequence[BaseRoute]], None] = lambda _: None
    """Changes the routes of the server, when all of them are there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Extension:
    """A feature, as it declares itself."""

    name: str
    """Also its entry point, its folder, and what `--without` takes."""
    summary: str
    """One line for `adk-prism doctor`."""
    requires: tuple[str, ...] = ()
    """Features without which it cannot work."""
    commands: tuple[Command, ...] = ()
    serve: Callable[[Context], Served] | None = None
    """Makes what the feature needs from the parts of a server, and registers what has to be opened and
    closed with their lifecycle. Called once for each server."""
    settings: Callable[[], type[FeatureSettings]] | None = None
    """Returns the class of its settings: options of `serve`, variables, keys of `[tool.adk-prism]`."""
    annotators: Callable[[Settings | None], Sequence[MakeAnnotator]] | None = None
    """Returns what adds annotations to the facts of runs, for protocols and views; takes the settings of a
    server, None outside of one."""
    apps: Callable[[Settings, Report], Sequence[AppElsewhere]] | None = None
    """Returns apps that are served beside those of the folder."""
    call_recorder: Callable[[RunLog, Detail, Report], CallRecorder] | None = None
    """Returns what watches and stores the model calls of runs."""
    meter: Callable[[], Meter] | None = None
    """Returns what counts what happens in a server. Called once for each server, before `serve`."""
    authentication: Callable[[Settings], Method | None] | None = None
    """Returns a further method of authentication; None if its settings ask for none."""
    limiter: Callable[[LimiterParts], Limiter | None] | None = None
    """Returns what limits callers and their runs; None if its settings ask for nothing."""
    logs: Mapping[str, LogKind] = field(default_factory=dict)
    """Kinds of run logs, by the scheme of their URLs."""
    session_store: Callable[[SessionStore], SessionStore] | None = None
    """Returns what takes the place of the store of ADK's sessions. Called once for each session service."""
    readable_log: Callable[[ReadableLog, Apps, Secrets, Report], ReadableLog] | None = None
    """Returns what takes the place of the run log for its readers."""


class Extensions(NamedTuple):
    """The extensions that are used."""

    used: dict[str, Extension]
    """By name; each after those that it requires."""
    faults: tuple[str, ...]
    """Why others are left out, a sentence each."""

    def annotators(self, settings: Settings | None = None) -> tuple[MakeAnnotator, ...]:
        """Return the annotators of all of them, for a server with its settings."""
        makers = (each.annotators for each in self.used.values())
        found = (make(settings) for make in makers if make is not None)
        return tuple(make for makers in found for make in makers)

    def call_recorder(self, log: RunLog, detail: Detail, report: Report) -> CallRecorder | None:
        """Return what watches and stores the model calls of runs; None if nothing does."""
        makers = (each.call_recorder for each in self.used.values())
        return next((make(log, detail, report) for make in makers if make is not None), None)

    def meter(self) -> Meter | None:
        """Return what counts what happens in a server; None if nothing does."""
        return next((each.meter() for each in self.used.values() if each.meter is not None), None)

    def limiters(self, parts: LimiterParts) -> list[Limiter]:
        """Return what limits callers and their runs."""
        found = (each.limiter(parts) for each in self.used.values() if each.limiter is not None)
        return [limiter for limiter in found if limiter is not None]

    def logs(self) -> dict[str, LogKind]:
        """Return the kinds of run logs that all of them bring, by the scheme of their URLs."""
        return {scheme: kind for each in self.used.values() for scheme, kind in each.logs.items()}

    def change_store(self, store: SessionStore) -> SessionStore:
        """Return the store of sessions as all of them change it."""
        for each in self.used.values():
            store = each.session_store(store) if each.session_store is not None else store
        return store

    def readable_log(
        self, log: ReadableLog, apps: Apps, secrets: Secrets, report: Report
    ) -> ReadableLog:
        """Return the run log as all of them change it for its readers."""
        for each in self.used.values():
            if each.readable_log is not None:
                log = each.readable_log(log, apps, secrets, report)
        return log

    def commands(self) -> dict[str, Command]:
        """Return the commands of all of them, by name."""
        return {each.name: each for found in self.used.values() for each in found.commands}


@cache
def installed() -> Extensions:
    """Return every extension that is installed and can be used."""
    found: dict[str, Extension] = {}
    faults: list[str] = []
    points = entry_points(group=GROUP)
    own = "adk_prism.features."
    for point in sorted(points, key=lambda each: (not each.value.startswith(own), each.name)):
        try:
            extension = _checked(point, point.load())
            _check_unclaimed(extension, found.values())
            found[extension.name] = extension
        except (Exception, SystemExit) as error:  # another package's code: the rest has to work
            why = " ".join(str(error).split()) or type(error).__name__
            faults.append(f"The extension {point.name!r} ({point.value}) is left out: {why}.")
    return _ordered(found, faults)


def chosen(without: Collection[str]) -> Extensions:
    """Return the extensions that are used `without` some of them.

    Raise `UsageError` for a name that is not installed, or that one which stays requires.
    """
    every = installed()
    for name in without:
        if name not in every.used:
            known = ", ".join(sorted(every.used)) or "none"
            raise UsageError(f"--without {name[:40]}: there is no such feature; known: {known}.")
    used = {name: each for name, each in every.used.items() if name not in without}
    for name, each in used.items():
        for needed in each.requires:
            if needed in without:
                raise UsageError(
                    f"--without {needed}: feature {name!r} needs it; add --without {name}."
                )
    return every._replace(used=used)


def _checked(point: EntryPoint, found: Any) -> Extension:
    if not isinstance(found, Extension):
        raise TypeError(f"it must name an Extension, not {type(found).__name__}")
    if not _NAME.fullmatch(found.name):
        raise ValueError("its `name` must be lower-case letters, digits and underscores")
    if found.name != point.name:
        raise ValueError(f"its `name` is {found.name!r}, but the entry point is {point.name!r}")
    return found


def _check_unclaimed(extension: Extension, others: Iterable[Extension]) -> None:
    for other in others:
        if other.name == extension.name:
            raise ValueError("its name is taken")
        taken = {command.name for command in other.commands}
        for command in extension.commands:
            if command.name in taken or command.name in KERNEL_COMMANDS:
                owner = other.name if command.name in taken else "adk-prism itself"
                raise ValueError(f"its command {command.name!r} belongs to {owner}")
        for scheme in extension.logs:
            if scheme in other.logs or scheme in KERNEL_LOGS:
                owner = other.name if scheme in other.logs else "adk-prism itself"
                raise ValueError(f"run logs of {scheme}: belong to {owner}")


def _ordered(found: dict[str, Extension], faults: list[str]) -> Extensions:
    """Order extensions by what they require; leave out those that require what is not there."""
    used: dict[str, Extension] = {}
    left = dict(found)
    while left:
        ready = [each for each in left.values() if used.keys() >= set(each.requires)]
        if not ready:
            break
        for each in ready:
            used[each.name] = left.pop(each.name)
    for name, each in left.items():
        missing = ", ".join(repr(needed) for needed in each.requires if needed not in used)
        faults.append(f"The extension {name!r} is left out: it needs {missing}.")
    return Extensions(used, tuple(faults))


KERNEL_COMMANDS = {
    "serve": Command("serve", "serve ADK apps in every protocol", "adk_prism.cli.serve"),
}
"""The commands that need no feature, by name."""

KERNEL_LOGS = ("memory", "sqlite")
"""The schemes of run logs that need no feature."""
