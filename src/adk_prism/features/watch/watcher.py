"""`GET /api/watch/{app}/{chat}`: what a conversation does with the code that was saved last.

Whoever shows a conversation asks for it, and is answered when there is something new. As long as somebody
asks, the files of the app are looked at. When they change, the app is loaded, and the conversation is run
again from its recording (`rerun.rehearsal`): nothing live is called, nothing is stored. A save while that
happens begins it anew. Only for `adk-prism serve` on a loopback address, where apps are reloaded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query, Request
from msgspec import Struct, structs

from adk_prism.adk.apps import Apps
from adk_prism.errors import AppFailed, Conflict, Forbidden, NotFound, PrismError, TooMany
from adk_prism.features.rerun.recorded_requests import LONGEST_RULE, MOST_RULES, Rules
from adk_prism.features.rerun.rehearsal import (
    CheckedConversation,
    check_conversation,
    load_saved,
)
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import Origin
from adk_prism.server.identity.caller import Guest, may_operate
from adk_prism.server.identity.identity import LARGEST_NUMBER, CallerOf, Chat
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.problems import ErrorTexts
from adk_prism.server.request_bodies import StrictRoute

EVERY = 0.15
"""Seconds between two looks at the files: a look takes a millisecond or so, and a person waits for it."""

SETTLING = 0.1
"""Seconds for an editor to write all files of a save."""

LONGEST_WAIT = 25.0
"""Seconds after which a request is answered without anything new: below what proxies wait."""

SLICE = 0.5
"""Seconds after which a waiting request looks whether the server stops."""

ATTENTION = 60.0
"""Seconds after the last request for which a conversation is watched."""

MOST_WATCHED = 20
"""Conversations at once: one developer's pages."""

State = Literal["unchanged", "checking", "same", "differs", "failed", "broken"]


class Checked(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a conversation."""

    number: int
    """Grows with everything new."""
    state: State
    """`unchanged`: nothing was saved yet; `checking`: it is being run; `same`; `differs`; `failed`: it cannot
    be run again; `broken`: the new code cannot be loaded."""
    detail: str = ""
    """For a person."""
    conversation: CheckedConversation | None = None


class _Watched:
    """A conversation that somebody looks at."""

    def __init__(self) -> None:
        self.checked = Checked(number=0, state="unchanged")
        self.rules: tuple[str, ...] = ()
        self.asked = time.monotonic()


class _Seen(Struct, frozen=True):
    """What was seen of an app last."""

    reloads: int
    failure: str


class Watcher:
    """Watches the conversations that are asked for."""

    def __init__(self, apps: Apps, log: RunLog, lifecycle: Lifecycle) -> None:
        self._apps = apps
        self._log = log
        self._lifecycle = lifecycle
        self._watched: dict[Origin, _Watched] = {}
        self._seen: dict[str, _Seen] = {}
        self._checks: dict[str, asyncio.Task[None]] = {}
        """By app."""
        self._looking: asyncio.Task[None] | None = None
        self._warming: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Stop watching when the server stops."""
        try:
            yield
        finally:
            others = (self._looking, self._warming)
            tasks = [*self._checks.values(), *(task for task in others if task is not None)]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def next(self, origin: Origin, after: int, rules: tuple[str, ...]) -> Checked:
        """Return what is known of a conversation, as soon as its number is another than `after`.

        Raise `NotFound` for an unknown app, `TooMany` if too many conversations are watched.
        """
        watched = await self._watch(origin)
        watched.rules = rules
        until = time.monotonic() + LONGEST_WAIT
        while watched.checked.number == after and not self._lifecycle.draining:
            left = until - time.monotonic()
            if left <= 0:
                break
            watched.asked = time.monotonic()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, SLICE)), self._news:
                    await self._news.wait()
        watched.asked = time.monotonic()
        return watched.checked

    async def _watch(self, origin: Origin) -> _Watched:
        known = self._watched.get(origin)
        if known is not None:
            return known
        if len(self._watched) >= MOST_WATCHED:
            raise TooMany(f"{MOST_WATCHED} conversations are watched already.", ATTENTION)
        self._apps.check(origin.app)
        if origin.app not in self._seen:
            with suppress(AppFailed):  # It is seen as broken until it is corrected.
                await self._apps.load(origin.app)
            self._seen[origin.app] = self._see(origin.app)
        watched = self._watched[origin] = _Watched()
        if self._warming is None:
            self._warming = asyncio.create_task(self._warm_up(origin))
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        return watched

    async def _warm_up(self, origin: Origin) -> None:
        """Run a conversation once for nothing: what is imported by it takes a second, also after a save."""
        with suppress(PrismError):
            await check_conversation(await self._apps.load(origin.app), self._log, origin)

    def _see(self, app: str) -> _Seen:
        failure = self._apps.failure(app)
        return _Seen(self._apps.reloads(app), failure.detail if failure is not None else "")

    async def _look(self) -> None:
        """Look at the files of apps until nobody asks any more."""
        while self._watched:
            await asyncio.sleep(EVERY)
            late = time.monotonic() - ATTENTION
            self._watched = {k: each for k, each in self._watched.items() if each.asked > late}
            apps = {origin.app for origin in self._watched}
            self._seen = {app: seen for app, seen in self._seen.items() if app in apps}
            for app in apps:
                if await asyncio.to_thread(self._has_changed, app):
                    self._begin(app)

    def _has_changed(self, app: str) -> bool:
        """Return whether there is new code that was not tried yet, or somebody else has loaded it."""
        now = self._see(app)
        if now == self._seen[app]:
            return not now.failure and self._apps.has_new_code(app)
        # A failure that is gone means that the files have changed: the new ones are to be loaded.
        self._seen[app] = now
        return True

    def _begin(self, app: str) -> None:
        running = self._checks.get(app)
        if running is not None:
            running.cancel()
        self._checks[app] = asyncio.create_task(self._check(app))

    async def _check(self, app: str) -> None:
        await asyncio.sleep(SETTLING)
        failure: AppFailed | None = None
        try:
            runner = await load_saved(self._apps, app)
        except AppFailed as error:
            failure = error
        self._seen[app] = self._see(app)
        for origin, watched in list(self._watched.items()):
            if origin.app != app:
                continue
            if failure is not None:
                await self._tell(watched, "broken", failure.detail)
                continue
            await self._tell(watched, "checking")
            try:
                found = await check_conversation(
                    runner, self._log, origin, ignore_rules=watched.rules
                )
            except PrismError as error:
                await self._tell(watched, "failed", error.detail)
            else:
                await self._tell(watched, found.status, found.detail, found)

    async def _tell(
        self,
        watched: _Watched,
        state: State,
        detail: str = "",
        conversation: CheckedConversation | None = None,
    ) -> None:
        number = watched.checked.number + 1
        watched.checked = Checked(
            number=number, state=state, detail=detail, conversation=conversation
        )
        async with self._news:
            self._news.notify_all()


# ---------------------------------------------------------------------- the route

_Rule = Annotated[str, Query(max_length=LONGEST_RULE)]


def routes(watcher: Watcher | None, errors: ErrorTexts) -> APIRouter:
    """Return the router; without a watcher it says why there is none."""
    router = APIRouter(prefix="/api/watch", route_class=StrictRoute, tags=["runs"])

    @router.get("/{app_name}/{chat_id}")
    async def watch(
        request: Request,
        caller: CallerOf,
        chat: Chat,
        after: Annotated[
            int, Query(ge=-1, le=LARGEST_NUMBER, description="the `number` that is known already")
        ] = -1,
        ignore: Annotated[list[str], Query(max_length=MOST_RULES)] = [],  # noqa: B006 # FastAPI copies it
    ) -> dict[str, Any]:
        """Say what a conversation does with the code that was saved last, when there is something new."""
        if isinstance(caller, Guest):
            raise NotFound("A share link does not run anything.")
        if not may_operate(caller):
            raise Forbidden("To run conversations again is for administrators.")
        if watcher is None:
            raise Conflict(
                "Conversations are run again after a save by `adk-prism serve` on a loopback address,"
                " where apps are reloaded."
            )
        Rules(ignore)  # refuses what cannot be used, before anything is watched
        found = await watcher.next(chat, after, tuple(ignore))
        if found.state == "broken":
            found = structs.replace(found, detail=errors.text(request.scope, found.detail))
        shown: dict[str, Any] = msgspec.to_builtins(found)
        return shown

    return router
