"""The lifecycle of a server: what is opened at the start, drained and closed at the end.

An application that is served by itself is started by its lifespan. One that is mounted in another
has no lifespan of its own (Starlette does not run it), so the first request starts it. Both lead
here, and starting happens once.

Going down has two steps: *drain* (no new work; what runs may finish, within the grace period) and
*stop* (everything that was opened is closed, last first).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Literal, Protocol

from adk_prism import errors
from adk_prism.adk.apps import HIDDEN, Apps
from adk_prism.adk.internals.capabilities import switched_off
from adk_prism.log.contract import RunLog
from adk_prism.log.coordination import Lease, Leases
from adk_prism.log.entry import Origin
from adk_prism.log.private_files import below, cancel_task, make_folder, tighten
from adk_prism.server.request_bodies import USER_SCOPE
from adk_prism.server.request_tracking import CURRENT_REQUEST
from adk_prism.server.setting_groups import DATA_DIR
from adk_prism.server.settings import Settings

Resource = Callable[[], AbstractAsyncContextManager[object]]
Hook = Callable[[float], Awaitable[None]]
"""Called with the seconds that running work has to end by itself."""
Phase = Literal["idle", "running", "draining", "stopped"]

LAST_RESORT = 7.0
"""Seconds of the grace period kept for what does not end by itself: five to be asked to end
(`runs.runs.CANCEL_GRACE`), one to write down that it did, and one for viewers to be sent it."""

SHORTEST_PATIENCE = 0.4
"""Share of a short grace period: as long again to be asked, and a fifth to write and to send."""


class Lifecycle:
    """The phases of one server, and what it holds while it runs."""

    def __init__(self, report: errors.Report) -> None:
        self._report = report
        self._phase: Phase = "idle"
        self._resources: list[Resource] = []
        self._drains: list[Hook] = []
        self._cuts: list[Callable[[], None]] = []
        self._held = AsyncExitStack()
        self._turn = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def draining(self) -> bool:
        """Whether new work is refused."""
        return self._phase in ("draining", "stopped")

    def hold(self, resource: Resource) -> None:
        """Open a resource at the start and close it at the stop, in reverse order."""
        self._resources.append(resource)

    def on_drain(self, hook: Hook) -> None:
        """Await a hook when the server goes down: to finish, hand over or end what runs."""
        self._drains.append(hook)

    def on_cut(self, hook: Callable[[], None]) -> None:
        """Call a hook when clients that wait or read are disconnected, because the server goes down."""
        self._cuts.append(hook)

    def cut(self) -> None:
        """Disconnect clients that still wait or read."""
        for hook in self._cuts:
            hook()

    def check_open(self) -> None:
        """Raise `Draining` if the server takes no new work."""
        if self.draining:
            raise errors.Draining("The server is shutting down; try again shortly.")

    async def start(self) -> None:
        """Open everything, once. Whatever fails to open is raised, and what was open is closed."""
        self._follow_loop()
        async with self._turn:
            if self._phase in ("running", "draining"):
                return
            async with AsyncExitStack() as opening:
                for resource in self._resources:
                    await opening.enter_async_context(resource())
                self._held = opening.pop_all()
            self._phase = "running"
        if off := switched_off():
            self._report(errors.Diagnostic(kind="capability off", detail=off))

    def _follow_loop(self) -> None:
        """Forget what was open on an event loop that has ended: it was closed with that loop."""
        loop = asyncio.get_running_loop()
        if self._loop is not None and self._loop is not loop and self._loop.is_closed():
            self._phase, self._held, self._turn = "idle", AsyncExitStack(), asyncio.Lock()
        self._loop = loop

    async def start_for_request(self) -> None:
        """Start before the first request, where no lifespan did."""
        if self.draining:
            return
        # What is started here outlives this request and does not belong to it.
        tokens = CURRENT_REQUEST.set(None), HIDDEN.set(None)
        try:
            await self.start()
        finally:
            CURRENT_REQUEST.reset(tokens[0])
            HIDDEN.reset(tokens[1])

    async def drain(self, grace: float) -> None:
        """Refuse new work and await the drain hooks, at most `grace` seconds."""
        self._phase = "draining"
        patience = max(grace - LAST_RESORT, grace * SHORTEST_PATIENCE)
        ends = [asyncio.wait_for(hook(patience), grace) for hook in self._drains]
        results = await asyncio.gather(*ends, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                self._report(
                    errors.Diagnostic(kind="drain incomplete", cause=errors.cause_of(result))
                )

    async def stop(self) -> None:
        """Close everything; repeating it changes nothing."""
        async with self._turn:
            self._phase = "stopped"
            await self._held.aclose()


class Openable(Protocol):
    """Something that is opened and closed."""

    async def open(self) -> None:
        """Get ready."""

    async def close(self) -> None:
        """Release what it holds."""


@asynccontextmanager
async def opened(part: Openable) -> AsyncIterator[None]:
    """Open a part, and close it at the end: a resource for `Lifecycle.hold`."""
    await part.open()
    try:
        yield
    finally:
        await part.close()


# ---------------------------------------------------------------------------
# What the server does unasked: jobs of features. One of the processes that share a log does them.

INTERVAL = 600.0
"""Seconds. Retention is in days, so ten minutes is soon."""

Job = Callable[[], Awaitable[None]]


@asynccontextmanager
async def housekeeping(
    jobs: Sequence[Job],
    leases: Leases,
    report: errors.Report,
    interval: float = INTERVAL,
    name: str = "housekeeping",
) -> AsyncIterator[None]:
    """Do some jobs now and then, while the block runs, in the one process that has the lease of this name."""
    task = asyncio.create_task(_keep_house(jobs, leases, report, interval, name))
    try:
        yield
    finally:
        await cancel_task(task)


async def _keep_house(
    jobs: Sequence[Job], leases: Leases, report: errors.Report, interval: float, name: str
) -> None:
    lease: Lease | None = None
    while True:
        if lease is None or not lease.is_sure:
            lease = await _claim(leases, report, name)
        if lease is not None:
            for job in jobs:
                await _attempt(job, report)
        await asyncio.sleep(interval)


async def _claim(leases: Leases, report: errors.Report, name: str) -> Lease | None:
    """Return the lease to do it; None while another process has it, or if that is unknown."""
    try:
        return await leases.hold(name)
    except errors.PrismError as error:
        report(errors.Diagnostic(kind="housekeeping failed", cause=errors.cause_of(error)))
        return None


async def _attempt(job: Job, report: errors.Report) -> None:
    try:
        await job()
    except Exception as error:  # The next attempt may succeed; the operator gets a report.
        report(errors.Diagnostic(kind="housekeeping failed", cause=errors.cause_of(error)))


# ---------------------------------------------------------------------------
# Removes sessions completely: artifacts, ADK's session, runs. What belongs to the user stays.
#
# `user:` artifacts and state are the user's: other sessions have them too.


async def remove_session(apps: Apps, log: RunLog, origin: Origin) -> None:
    """Remove a session that the caller has locked. Of an app that is gone, only the log has something."""
    with suppress(errors.NotFound):
        await _remove_artifacts(apps, origin)
        await apps.sessions(origin.app).delete(origin)
    await log.delete(origin)


async def _remove_artifacts(apps: Apps, origin: Origin) -> None:
    service = apps.artifact_service(origin.app)
    if service is None:
        return
    where = {"app_name": origin.app, "user_id": origin.user, "session_id": origin.session}
    for name in await service.list_artifact_keys(**where):
        if not name.startswith(USER_SCOPE):
            await service.delete_artifact(**where, filename=name)


# ---------------------------------------------------------------------------
# The data folder: holds the default files, readable for this user only.
#
# Decides which files in it are ours. The mode of a folder that also contains other files is not changed,
# because those may be shared: only our own files in it are tightened, and the operator gets a report.

_OURS = ("runs.db", "runs-links.db", "links.db", "sessions.db", "artifacts")
"""How the names of our files begin; SQLite's journals and the lock have the name of their database."""
_ANYONES = frozenset(("lost+found",))
"""What a file system puts into the root of a volume."""
_SHOWN = 5
"""Files that a diagnostic names."""


def open_data_folder(settings: Settings, report: errors.Report) -> Path:
    """Make the folder if a default needs it, close it to others, and return it. Raise `UsageError`."""
    folder = Path(settings.data_dir)
    if settings.keeps_files:
        try:
            make_folder(folder)
        except OSError as error:
            raise errors.UsageError(
                f"The data folder {str(folder)!r} cannot be created ({error.strerror}). Choose a writable "
                "folder with --data-dir, or a log, sessions and artifacts elsewhere."
            ) from None
    close_data_folder(folder, report)
    return folder


def close_data_folder(folder: Path, report: errors.Report) -> None:
    """Close a data folder to others, if it is there; say what had been open or stays so."""
    if not folder.is_dir():
        return
    paths = list(folder.iterdir())
    ours = [path for path in paths if path.name.startswith(_OURS)]
    others = {path.name for path in paths} - {path.name for path in ours} - _ANYONES
    is_ours = folder.name == DATA_DIR.name or not others
    files = [file for path in ours for file in below(path)]
    changed, failed = tighten([*([folder] if is_ours else []), *files])
    if changed:
        _tell(report, "file modes tightened", changed, "had been readable by others")
    if failed:
        _tell(
            report,
            "file modes too wide",
            failed,
            "can be read by others, and belong to another user",
        )
    if not is_ours and folder.stat().st_mode & 0o077:
        _tell(
            report,
            "file modes too wide",
            [folder],
            "holds other things, and is left open as it is: name a folder of its own with --data-dir",
        )


def _tell(report: errors.Report, kind: str, paths: list[Path], what: str) -> None:
    named = ", ".join(str(path) for path in paths[:_SHOWN])
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    report(errors.Diagnostic(kind=kind, detail=f"{named}{more} {what}."))


# ---------------------------------------------------------------------------
# The secrets that the settings name: the same for a server and for `adk-prism run`.
