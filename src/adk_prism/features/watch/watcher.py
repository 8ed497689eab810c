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

from adk_prism.adk.app_folder import Stamp
from adk_prism.adk.apps import Apps
from adk_prism.errors import AppFailed, NotFound, PrismError
from adk_prism.features.rerun.recorded_requests import MOST_RULES, Rules
from adk_prism.features.rerun.rehearsal import CheckedConversation, check_conversation, load_saved
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import Origin
from adk_prism.server.identity.caller import Guest, may_operate
from adk_prism.server.identity.identity import LARGEST_NUMBER, CallerOf, Chat
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.problems import ErrorTexts
from adk_prism.server.request_bodies import StrictRoute

EVERY = 0.1
"""Seconds between two looks at the files: a look takes a millisecond or so, and a person waits for it."""

SETTLING = 0.15
"""Seconds without a change, after which a save is over: an editor writes several files, and a formatter after
it."""

LONGEST_WAIT = 25.0
"""Seconds after which a request is answered without anything new: below what proxies wait."""

SLICE = 0.5
"""Seconds after which a waiting request looks whether the server stops."""

ATTENTION = 150.0
"""Seconds after the last request for which a conversation is watched: a page in the background asks each
minute."""

MOST_WATCHED = 20
"""Conversations at once, those that were asked for last: one developer's pages."""

State = Literal["off", "unchanged", "checking", "same", "differs", "failed", "broken"]


class Checked(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a conversation."""

    number: int
    """Grows with everything new."""
    state: State
    """`off`: it is not watched, and will not be; `unchanged`: nothing was saved yet; `checking`: it is being
    run; `same`; `differs`; `failed`: it cannot be run again; `broken`: the new code cannot be loaded."""
    detail: str = ""
    """For a person."""
    conversation: CheckedConversation | None = None


class _Watched:
    """A conversation that somebody looks at."""

    def __init__(self) -> None:
        self.checked = Checked(number=0, state="unchanged")
        self.rules: tuple[str, ...] = ()
        self.asked = time.monotonic()


class _Seen:
    """What was seen of an app's code."""

    def __init__(self, code: Stamp) -> None:
        self.code = code
        self.changed: float | None = None
        """When it changed, until it is tried."""


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

    def has_code(self, app: str) -> bool:
        """Return whether the code of an app is on this server."""
        return self._apps.keeps_sessions(app)

    async def next(self, origin: Origin, after: int, rules: tuple[str, ...]) -> Checked:
        """Return what is known of a conversation, as soon as its number is another than `after`.

        Raise `NotFound` for an unknown app.
        """
        watched = await self._watch(origin)
        self._add_rules(origin, watched, rules)
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

    def _add_rules(self, origin: Origin, watched: _Watched, rules: tuple[str, ...]) -> None:
        """Leave more out of comparisons; what was checked already is checked again.

        Nothing is taken back: two pages of one conversation may ask with other rules, in turns.
        """
        every = tuple(dict.fromkeys((*watched.rules, *rules)))[:MOST_RULES]
        seen = self._seen.get(origin.app)
        if every != watched.rules and watched.checked.number and seen is not None:
            seen.changed = seen.changed or time.monotonic()
        watched.rules = every

    async def _watch(self, origin: Origin) -> _Watched:
        known = self._watched.get(origin)
        if known is not None:
            return known
        self._apps.check(origin.app)
        code = await asyncio.to_thread(self._apps.code, origin.app)
        with suppress(AppFailed):  # It is shown as broken until it is corrected.
            await self._apps.load(origin.app)
        self._seen.setdefault(origin.app, _Seen(code))
        watched = self._watched.setdefault(origin, _Watched())
        while len(self._watched) > MOST_WATCHED:
            del self._watched[min(self._watched, key=lambda each: self._watched[each].asked)]
        failure = await asyncio.to_thread(self._apps.failure, origin.app)
        if failure is not None:
            await self._tell(watched, "broken", failure.detail)
        if self._warming is None:
            self._warming = asyncio.create_task(self._warm_up(origin))
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        return watched

    async def _warm_up(self, origin: Origin) -> None:
        """Run a conversation once for nothing: what is imported by it takes a second, also after a save."""
        with suppress(PrismError):
            await check_conversation(await self._apps.load(origin.app), self._log, origin)

    async def _look(self) -> None:
        """Look at the files of apps until nobody asks any more."""
        while self._watched:
            await asyncio.sleep(EVERY)
            late = time.monotonic() - ATTENTION
            self._watched = {k: each for k, each in self._watched.items() if each.asked > late}
            apps = {origin.app for origin in self._watched}
            self._seen = {app: seen for app, seen in self._seen.items() if app in apps}
            for app, seen in self._seen.items():
                self._compare(app, seen, await asyncio.to_thread(self._apps.code, app))

    def _compare(self, app: str, seen: _Seen, code: Stamp) -> None:
        """Stop what is being run of code that has changed; run it when the new code has settled."""
        now = time.monotonic()
        if code != seen.code:
            seen.code, seen.changed = code, now
            if (running := self._checks.pop(app, None)) is not None:
                running.cancel()
        elif seen.changed is not None and now - seen.changed >= SETTLING:
            seen.changed = None
            self._checks[app] = asyncio.create_task(self._check(app))

    async def _check(self, app: str) -> None:
        failure: AppFailed | None = None
        try:
            runner = await load_saved(self._apps, app)
        except AppFailed as error:
            failure = error
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

_NOT_LOCAL = (
    "Conversations are run again after a save by `adk-prism serve` on a loopback address, where apps are"
    " reloaded."
)
_NOT_YOURS = "To run conversations again is for administrators."
_NOT_HERE = "The code of this app is on another server."


def routes(watcher: Watcher | None, errors: ErrorTexts) -> APIRouter:
    """Return the router. Where nothing is watched it says so, since a page can only find out by asking."""
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
        reason = _NOT_LOCAL if watcher is None else "" if may_operate(caller) else _NOT_YOURS
        if watcher is not None and not watcher.has_code(chat.app):
            reason = _NOT_HERE
        if watcher is None or reason:
            return {"number": 0, "state": "off", "detail": reason}
        Rules(ignore)  # refuses what cannot be used, before anything is watched
        found = await watcher.next(chat, after, tuple(ignore))
        if found.state == "broken":
            found = structs.replace(found, detail=errors.text(request.scope, found.detail))
        shown: dict[str, Any] = msgspec.to_builtins(found)
        return shown

    return router
