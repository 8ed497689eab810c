"""Makes follow-ups after a run has ended, keeps them beside it, and gives them out.

Never on the way of an answer: the run's end is committed before anything begins. The process that stored
the end makes them, one of a conversation at a time, and drops what it makes when the next message comes. What
fails is reported to the operator; for a client there are no suggestions then.

They are a note of the run, so a regenerated answer has none of the old one's. A title is a note of the
session (`features/conversations`). What the model uses for them is in no run, and in no budget.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import Context as Variables
from typing import Annotated, Any, NamedTuple

import msgspec
from fastapi import APIRouter, Query, Response
from google.adk.runners import Runner
from msgspec import Struct

from adk_prism.adk.app_environment import AppEnvironment
from adk_prism.adk.errors import message_of
from adk_prism.adk.request import REPEATS
from adk_prism.errors import Diagnostic, Gone, NotFound, UsageError, cause_of
from adk_prism.features.conversations.listing import keep_made_title, wants_title
from adk_prism.features.follow_ups import sources
from adk_prism.features.follow_ups.sources import DeclaredSource, FollowUpRequest, FollowUps, Said
from adk_prism.features.forks.history import COPIED_FROM
from adk_prism.log import entry as records
from adk_prism.log.contract import RunSummary
from adk_prism.log.entry import Entry, Origin, RunId, RunStarted
from adk_prism.log.private_files import Recent
from adk_prism.protocols.ag_ui.history import ThreadMessages
from adk_prism.protocols.contract import Options
from adk_prism.runs.chats import EVALUATION_SESSIONS, Turn, build_history, stored_bytes
from adk_prism.runs.recorder import FORKED_FROM
from adk_prism.server.context import Context
from adk_prism.server.identity.identity import Chat
from adk_prism.server.problems import CHAT_PATH, TEXT_RESPONSES
from adk_prism.server.request_bodies import StrictRoute

PATIENCE = 20.0
"""Seconds for a source: a person has mostly written the next message by then."""
MOST_AT_ONCE = 4
"""Sources that are asked at once: a model's limits are for its runs."""
MOST_WAITING = 100
"""Ended runs that wait for that; of later ones there are no suggestions."""
MOST_GOING = 10_000
"""Runs that go on here and are remembered."""
MOST_TURNS = 4
"""Turns of a conversation that a source is given, the last ones, and each text of so many characters."""
LONGEST_TEXT = 2000
LARGEST = 32 * 1024**2
"""Stored bytes of a turn that is read for it: more is mostly files, and takes long."""
LONGEST_WAIT = 30.0
"""Seconds for which a client may wait: below what proxies allow."""
EVERY = 0.5
"""Seconds between two looks for what another process makes."""

_SPACE = "follow_ups"


class _Job(Struct, frozen=True, eq=False):
    origin: Origin
    task: asyncio.Task[None]


class ChatFollowUps(NamedTuple):
    """The follow-ups of the last answer of a conversation; empty if there are none."""

    run: str = ""
    message: str = ""
    suggestions: Sequence[str] = ()
    title: str = ""


class FollowUpMaker:
    """Makes and keeps the follow-ups of one server."""

    def __init__(self, context: Context, mode: str) -> None:
        """`mode`: `off`, `model`, or empty where apps decide."""
        self._context = context
        self._mode = mode
        self._going: Recent[RunId, Origin | None] = Recent(MOST_GOING)
        """Runs of which there may be follow-ups; None of one that another process began."""
        self._jobs: dict[RunId, _Job] = {}
        self._slots = asyncio.Semaphore(MOST_AT_ONCE)
        self._threads = sources.FunctionThreads()
        self._told: set[str] = set()
        """Apps of which the operator knows that they have no usable source."""

    # ------------------------------------------------------------------ when

    def stored(self, run: RunId, entries: Sequence[Entry]) -> None:
        """Note a run that begins, and drop what is made for the message before it."""
        first, last = entries[0].record, entries[-1].record
        if self._mode == "off" or records.is_recorded(run):
            return
        if isinstance(first, RunStarted):
            if _is_answered_live(first):
                self._going[run] = first.origin
            if first.kind != "state":
                self._drop(first.origin)
        elif isinstance(first, records.RunTakenOver) and first.epoch:
            self._going[run] = None
        if isinstance(last, records.RunEnded) and last.outcome != "finished":
            self._going.pop(run, None)

    def _drop(self, origin: Origin) -> None:
        for job in [each for each in self._jobs.values() if each.origin == origin]:
            job.task.cancel()

    def ended(self, run: RunId) -> None:
        """Begin to make the follow-ups of a run, if there may be any."""
        if run not in self._going:
            return
        origin = self._going.pop(run)
        if self._context.draining or (origin is not None and self._source(origin.app) is None):
            return
        if len(self._jobs) >= MOST_WAITING:
            self._tell(run, "", "Too many wait to be made.")
            return
        # Not in the context of the request that began the run: nothing of it is about this.
        task = asyncio.create_task(self._make(run), name=f"follow-ups {run}", context=Variables())
        self._jobs[run] = _Job(origin or Origin(app="", user="", session=""), task)
        task.add_done_callback(lambda _: self._jobs.pop(run, None))

    def changed(self, run: RunId) -> None:
        """Do nothing: what is stored beside a run suggests nothing."""

    async def drain(self, patience: float) -> None:
        """Make no more: the server goes down, and nobody should wait for a suggestion."""
        del patience
        tasks = [job.task for job in self._jobs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Make none after the block."""
        try:
            yield
        finally:
            await self.drain(0.0)

    # ------------------------------------------------------------------ from whom

    def _source(self, app: str) -> DeclaredSource | None:
        """Return who is asked for an app's follow-ups; None: nobody."""
        apps = self._context.apps
        if self._mode == "off" or not apps.is_loaded(app) or apps.app(app).root is None:
            return None  # The code of an app on another server is not here.
        try:
            declared = sources.declared_source(apps.runner(app), apps.module_of(app))
            source = declared or ("model" if self._mode == "model" else None)
            if source == "model":
                sources.model_of_root(apps.runner(app).agent)
        except UsageError as error:
            if app not in self._told:
                self._told.add(app)
                self._tell("", app, error.detail)
            return None
        return None if source == "off" else source

    async def _ask(self, source: DeclaredSource, request: FollowUpRequest) -> FollowUps:
        runner: Runner = self._context.apps.runner(request.app)
        for plugin in runner.plugin_manager.plugins:
            if isinstance(plugin, AppEnvironment):
                await plugin.use()
        if callable(source):
            threads = self._threads if self._context.apps.threads_of(request.app) else None
            found = await sources.ask_function(source, request, threads)
        else:
            found = await sources.ask_model(sources.model_of_root(runner.agent), request)
        return sources.read_follow_ups(found)

    # ------------------------------------------------------------------ how

    async def _make(self, run: RunId) -> None:
        app = ""
        try:
            async with self._slots, asyncio.timeout(PATIENCE):
                origin = (await self._context.log.summary(run)).origin
                app, source = origin.app, self._source(origin.app)
                request = await self._request(run, origin) if source is not None else None
                if source is None or request is None:
                    return
                found = await self._ask(source, request)
                if await self._turns(run, origin):
                    await self._keep(run, origin, found, with_title=request.needs_title)
        except (NotFound, Gone):
            pass  # The conversation was deleted meanwhile.
        except TimeoutError:
            self._tell(run, app, f"They took longer than {PATIENCE:g} seconds.")
        except asyncio.CancelledError:
            raise
        except (
            BaseException
        ) as error:  # An app's code may even exit: the answer stands, and the server.
            self._tell(run, app, "", error)

    def _tell(self, run: str, app: str, detail: str, error: BaseException | None = None) -> None:
        said = {"cause": cause_of(error), "message": message_of(error)} if error else {}
        kind = "no follow-ups"
        self._context.report(Diagnostic(kind=kind, run=run, app=app, detail=detail, **said))

    async def _turns(self, run: RunId, origin: Origin) -> Sequence[Turn]:
        """Return the turns of a conversation; none if something was said since the run."""
        turns = await self._context.chats.turns(origin)
        return turns if turns and turns[-1].last.summary.run == run else ()

    async def _request(self, run: RunId, origin: Origin) -> FollowUpRequest | None:
        """Return what the source is asked; None if there is nothing to go on from."""
        turns = await self._turns(run, origin)
        # How a run began that another process began is known only now.
        if not turns or not _is_answered_live(turns[-1].last.head):
            return None
        read: list[Turn] = []
        for turn in reversed(turns[-MOST_TURNS:]):
            if turn.first.head.live or stored_bytes([*read, turn]) > LARGEST:
                break
            read.insert(0, turn)
        history = ThreadMessages(Options())
        await build_history(self._context.chats, read, history)
        messages = [
            Said(each["role"], _cut(text))
            for each in history.messages()
            if each["role"] in ("user", "assistant") and (text := _text(each.get("content")))
        ]
        if not messages or messages[-1].role != "assistant":
            return None
        notes = (await self._context.log.side.list([origin])).get(origin, ())
        forked_from = FORKED_FROM.read(turns[0].first.head)  # A fork is named after the other.
        return FollowUpRequest(
            app=origin.app,
            user_id=origin.user,
            session_id=origin.session,
            messages=messages,
            needs_title=forked_from is None and wants_title(notes),
        )

    async def _keep(
        self, run: RunId, origin: Origin, found: FollowUps, *, with_title: bool
    ) -> None:
        title = found.title if with_title else ""
        log = self._context.recording.log
        if title:
            await keep_made_title(log, origin, title)
        kept = msgspec.json.encode(FollowUps(found.suggestions, title))
        await log.side.put(run, _SPACE, _SPACE, kept)

    # ------------------------------------------------------------------ for whom

    async def of_chat(self, origin: Origin, wait: float, run: str = "") -> ChatFollowUps:
        """Return the follow-ups of the last answer of a conversation, if it is finished and of this run.

        Without a run, of any. Wait so many seconds for those that are being made.
        """
        turns = await self._context.chats.turns(origin)
        last = turns[-1].last.summary if turns else None
        if last is None or last.outcome != "finished" or last.run.startswith(records.SESSION_RUN):
            return ChatFollowUps()
        if run not in ("", last.run):
            return ChatFollowUps()
        found = await self._of(last, wait)
        return ChatFollowUps(last.run, last.message, found.suggestions, found.title)

    async def _of(self, summary: RunSummary, wait: float) -> FollowUps:
        """Return the follow-ups of a finished run; wait so many seconds for those that are being made."""
        run, job = summary.run, self._jobs.get(summary.run)
        if job is not None:
            await asyncio.wait([job.task], timeout=wait)
        found = await self._read(run)
        if found is not None or job is not None or self._mode == "off":
            return found or FollowUps()
        # Those of a run that another process ended are made there.
        app, leases = summary.origin.app, self._context.recording.leases
        is_known = self._context.apps.is_loaded(app) and self._source(app) is None
        if is_known or summary.ended is None or not await leases.has_others():
            return FollowUps()
        until = min(time.time() + wait, summary.ended + PATIENCE)
        while found is None and time.time() < until and not self._context.draining:
            await asyncio.sleep(EVERY)
            found = await self._read(run)
        return found or FollowUps()

    async def _read(self, run: RunId) -> FollowUps | None:
        notes = (await self._context.log.side.list([run])).get(run, ())
        kept = next((note.value for note in notes if note.space == _SPACE), None)
        return msgspec.json.decode(kept, type=FollowUps) if kept is not None else None


def _is_answered_live(head: RunStarted) -> bool:
    """Return whether a run answers a person here and now: no copy, repetition, voice or change of state."""
    point, continues = FORKED_FROM.read(head), head.continues
    is_repeated = REPEATS.read(head) is not None or (point is not None and point.rerun)
    is_stored = (
        COPIED_FROM.read(head) is not None
        or records.DERIVED.read(head)
        or records.is_untrusted(head)
    )
    is_held = continues is not None and (continues.held or continues.unasked)
    is_evaluated = head.origin.session.startswith(EVALUATION_SESSIONS)
    return head.kind == "turn" and not (
        head.live or is_repeated or is_stored or is_held or is_evaluated
    )


def _text(content: Any) -> str:
    if isinstance(content, list):
        content = " ".join(part.get("text", "") for part in content)
    return content.strip() if isinstance(content, str) else ""


def _cut(text: str) -> str:
    """Return the beginning and the end of a long text: what is asked next is often in the end."""
    half = LONGEST_TEXT // 2
    return text if len(text) <= LONGEST_TEXT else f"{text[:half]} … {text[-half:]}"


# --------------------------------------------------------------------------- route


def routes(context: Context, made: FollowUpMaker) -> APIRouter:
    """Return the router of follow-ups."""
    router = APIRouter(
        prefix=CHAT_PATH, route_class=StrictRoute, tags=["AI SDK"], responses=TEXT_RESPONSES
    )

    @router.get(
        "/{app_name}/{chat_id}/suggestions",
        response_model=None,
        responses={204: {"description": "There are none"}},
    )
    async def suggestions(
        chat: Chat, wait: Annotated[float, Query(ge=0, le=LONGEST_WAIT)] = PATIENCE
    ) -> dict[str, Any] | Response:
        """Return what the person may say next; 204 when there is nothing.

        Of the last answer of the conversation, as soon as it is finished; `wait`: for so many seconds, for
        suggestions that are being made. `title`: that of the conversation, if it was made with them.
        """
        found = await made.of_chat(chat, wait)
        if not found.suggestions and not found.title:
            if not await context.chats.turns(chat):
                context.apps.check(chat.app)  # What was recorded elsewhere needs no app here.
            return Response(status_code=204)
        about = {"runId": found.run, "messageId": found.message}
        return {**about, "suggestions": list(found.suggestions), "title": found.title or None}

    return router
