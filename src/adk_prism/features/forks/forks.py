"""A conversation that continues elsewhere from a cursor: a new session, its history, and a run.

The original is only read. The fork is built under its own name, step by step, and taken away again if a
step fails, so that no half fork remains. How it continues:
- *turn*: with a new message. What the cut run had not finished is there as a turn that was stopped;
- *resume*: without one, the cut run itself continues. Its log begins with what had happened, and its
  invocation is resumed by ADK's means;
- *again*: nothing of the run had happened, so it is started again with the same message or answers;
- *nothing*: nothing was left to do. The run is a state-only update, and no model is called.

A history that this server did not see happen (`labels.is_untrusted`), or that has such a part, is never
resumed or started again: without a message there is nothing left to do. What it asked is asked no more.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Annotated, Any, Literal
from uuid import uuid4

import msgspec
from fastapi import APIRouter, Request, Response
from msgspec import Raw, Struct, structs
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from adk_prism.adk import request as adk_request
from adk_prism.adk.redaction import serialise, state_json
from adk_prism.commands import ChangeState, RunAgent, Submit
from adk_prism.errors import Conflict, Unprocessable, UsageError
from adk_prism.facts.state import read_object, read_stored
from adk_prism.features.forks import past as cutting
from adk_prism.features.forks.history import ForkHistories, ForkHistory, ForkTarget, as_copy
from adk_prism.features.forks.truncated_run import HowToContinue
from adk_prism.log import entry as log_entry
from adk_prism.log.contract import RunLog, SideValue
from adk_prism.runs.conversations import Start
from adk_prism.runs.recorder import REQUEST_DIGEST, ForkPoint, PreparedSource
from adk_prism.runs.runs import new_run
from adk_prism.runs.session_log import AuditedAction
from adk_prism.server.context import Context
from adk_prism.server.identity.identity import Run
from adk_prism.server.request_bodies import AppName, SessionId, StrictRoute
from adk_prism.server.run_starter import Key
from adk_prism.server.run_streams import RUN_HEADER

# ---------------------------------------------------------------------------
# The forks of a conversation, as notes on its session: a fork names its origin, and this is the way back.

KIND = "fork"
MOST_FORKS = 32
"""Forks that a conversation lists, the newest ones: a session has room for some notes of all kinds."""


class ForkLink(Struct, frozen=True):
    """A fork of a conversation, and where it begins."""

    app: str
    session: str
    run: str
    at: int


async def link_fork(
    log: RunLog, origin: log_entry.Origin, fork: log_entry.Origin, at: int, run: str
) -> None:
    """Let a conversation know of a fork at a cursor of a run; the oldest that it knows of makes room."""
    known = [note for note in (await log.side.list([origin])).get(origin, ()) if note.space == KIND]
    for note in sorted(known, key=lambda each: each.time)[: len(known) + 1 - MOST_FORKS]:
        await log.side.delete(origin, KIND, note.key)
    link = ForkLink(fork.app, fork.session, run, at)
    with suppress(Conflict):  # No room for one more note: the fork names its origin all the same.
        await log.side.put(origin, KIND, fork.session, msgspec.json.encode(link))


def read_links(notes: Sequence[SideValue]) -> list[ForkLink]:
    """Return the forks that notes of a session name, oldest first; without those that cannot be read."""
    links: list[ForkLink] = []
    for note in sorted((note for note in notes if note.space == KIND), key=lambda note: note.time):
        with suppress(
            msgspec.MsgspecError
        ):  # Redacted, or of another version: the list goes on without.
            links.append(msgspec.json.decode(note.value, type=ForkLink))
    return links


# ---------------------------------------------------------------------------

_SHARED = ("user:", "app:")


class ForkRequest(Struct, frozen=True, kw_only=True):
    """What a client wants."""

    run: log_entry.RunId
    at: int
    message: Raw
    """Empty: none."""
    state_delta: Mapping[str, Any] = {}
    remove_state: Collection[str] = ()
    """Keys of the session's state that the fork does not have."""
    session: str = ""
    """Empty: one is drawn."""
    app: str = ""
    """The app that continues an uploaded run; empty: the one that it names."""
    streaming: bool = True
    variant: adk_request.Variant | None = None
    """The app as it is run, where that is not as it is served."""
    text: str = ""
    """What a message that is said again says instead; empty: the same."""


class Forked(Struct, frozen=True, kw_only=True):
    """What became of it."""

    run: log_entry.RunId
    origin: log_entry.Origin
    goes_on: Literal["turn", "resume", "again", "nothing"]
    differing: Sequence[str]
    """Keys of the user's and the app's state that have another value today."""
    missing: Sequence[str]
    """Artifacts that the history mentions, and that cannot be found any more."""
    withheld: Sequence[str]
    """Keys of the session's state that the history is not trusted to set."""


class _Fork(Struct, frozen=True):
    """A fork on its way."""

    history: ForkHistory
    start: Start
    run: log_entry.RunId
    wanted: ForkRequest
    target: ForkTarget

    @property
    def goes_on(self) -> Literal["turn"] | HowToContinue:
        return self.history.cut.further if log_entry.is_absent(self.wanted.message) else "turn"


class Forks:
    """Makes forks."""

    def __init__(self, context: Context) -> None:
        self._log = context.log
        self._apps = context.apps
        self._runs = context.runs
        self._locks = context.runs.locks
        self._conversations = context.conversations
        self._attached = context.starter.attached
        self._report = context.report
        refused = context.starter.client_state.refused_keys
        self._histories = ForkHistories(context.log, context.chats, refused)

    async def fork(
        self, wanted: ForkRequest, run: log_entry.RunId | None = None, digest: str = ""
    ) -> Forked:
        """Make a fork and start its run.

        Raise `NotFound` for a run or an app that is not there, `Gone`, `BadPosition` for the cursor,
        `Conflict` for a session that already exists or an app that cannot continue without a message.
        """
        speaks = not log_entry.is_absent(wanted.message)
        if speaks:
            adk_request.checked_message(adk_request.read_content(wanted.message))
        origin = (await self._log.summary(wanted.run)).origin
        app = await self._apps.open(wanted.app or origin.app)
        app.check("fork")
        history = await self._histories.of(
            wanted.run, wanted.at, wanted.app, new_turn=speaks, as_text=app.plants_text
        )
        fork = self._planned(wanted, history, run or new_run(), digest)
        if wanted.variant is not None and fork.goes_on != "again":
            raise Unprocessable(
                "This run follows messages that were recorded elsewhere, so that it cannot be run again."
            )
        target = fork.start.origin
        if wanted.session:
            await self._check_free(target)
        async with self._locks.held(target):
            missing = await self._build(fork)
        try:
            differing = await self._differing(history, target)
            await self._begin(fork)
        except Exception:
            await self._discard(target)
            raise
        if wanted.variant is None:  # A run that is run again is no fork of somebody's.
            await link_fork(self._log, origin, target, wanted.at, wanted.run)
        return Forked(
            run=fork.run,
            origin=target,
            goes_on=fork.goes_on,
            differing=differing,
            missing=missing,
            withheld=history.withheld,
        )

    def _planned(
        self, wanted: ForkRequest, history: ForkHistory, run: log_entry.RunId, digest: str
    ) -> _Fork:
        target = structs.replace(history.origin, session=wanted.session or str(uuid4()))
        point = ForkPoint(
            run=wanted.run,
            at=wanted.at,
            session=history.origin.session,
            rerun=wanted.variant is not None,
        )
        start = Start(
            origin=target,
            forked_from=point,
            policy="wait",
            run=run,
            digest=digest,
            streaming=wanted.streaming,
            state_delta=wanted.state_delta,
            variant=wanted.variant,
        )
        fork = _Fork(history, start, run, wanted, ForkTarget(target, {}, point))
        is_same_run = fork.goes_on in ("resume", "again")
        ids = history.new_ids(run if is_same_run else None)
        return structs.replace(fork, target=ForkTarget(target, ids, point))

    async def _check_free(self, target: log_entry.Origin) -> None:
        """Raise `Conflict` for a session that is there, or of which the log still has runs."""
        runs = await self._log.list(app=target.app, user=target.user, session=target.session)
        if runs or await self._apps.sessions(target.app).exists(target):
            raise Conflict(f"The session {target.session[:60]!r} already exists.")

    async def _differing(self, history: ForkHistory, target: log_entry.Origin) -> list[str]:
        """Return the shared keys whose value is not what it was at the cursor."""
        recorded = history.recorded if history.untrusted else history.cut.state()
        now = state_json(await self._apps.sessions(target.app).state(target))
        known = (
            recorded.keys()
            if log_entry.DERIVED.read(history.cut.head)
            else recorded.keys() | now.keys()
        )
        return sorted(
            key
            for key in known
            if key.startswith(_SHARED) and _value(recorded.get(key)) != _value(now.get(key))
        )

    # -------------------------------------------------------------- building

    async def _build(self, fork: _Fork) -> list[str]:
        """Make the session with its artifacts and its runs; return which artifacts are missing."""
        target = fork.start.origin
        app = self._apps.app(target.app)
        said = fork.goes_on != "again"
        past = await self._histories.past(fork.history, said=said)
        cuttings = await self._cuttings(fork.history, past, said)
        events = cutting.without_state(cuttings.events, fork.wanted.remove_state)
        await app.plant(target, events, resumes=fork.goes_on == "resume")
        try:
            artifacts = self._artifacts(fork)
            missing = await artifacts.copy(cuttings, past.until) if artifacts is not None else []
            ends = fork.goes_on in ("turn", "nothing")
            await self._histories.copy(fork.history, fork.target, with_cut=ends)
        except BaseException:
            await self._discard(target)
            raise
        return missing

    async def _cuttings(
        self, history: ForkHistory, past: cutting.Past, said: bool
    ) -> cutting.Cuttings:
        """Return the history: from the session if it is there, else from the log."""
        sessions = self._apps.sessions(history.origin.app)
        if not history.untrusted and await sessions.exists(history.origin):
            found = cutting.cut_session(await sessions.get(history.origin), past)
            if found is not None:
                return found
        rebuilt = cutting.rebuild(await self._histories.chapters(history, said=said))
        if history.untrusted:
            return structs.replace(rebuilt, events=cutting.restored(rebuilt.events))
        return rebuilt

    def _artifacts(self, fork: _Fork) -> cutting.ArtifactCopies | None:
        target = fork.start.origin
        service = self._apps.artifact_service(target.app)
        if service is None:
            return None
        source = None if fork.history.is_upload else fork.history.origin
        return cutting.ArtifactCopies(service, source, target)

    async def _discard(self, target: log_entry.Origin) -> None:
        """Take a fork away that did not come to be: each part, whatever becomes of the others."""
        service = self._apps.artifact_service(target.app)
        try:
            await self._apps.sessions(target.app).delete(target)
        finally:
            try:
                await self._log.delete(target)
            finally:
                if service is not None:
                    await cutting.ArtifactCopies(service, None, target).discard()

    # -------------------------------------------------------------- going on

    async def _begin(self, fork: _Fork) -> None:
        head = fork.history.cut.head
        match fork.goes_on:
            case "turn":
                content = await self._attached(fork.wanted.message, fork.start.origin, "")
                await self._conversations.perform(fork.start, RunAgent(content=content))
            case "nothing":
                await self._conversations.perform(fork.start, ChangeState())
            case "resume":
                await self._resume(fork)
            case "again" if head.continues is not None:
                await self._answer_again(fork)
            case "again":
                await self._say_again(fork)

    async def _say_again(self, fork: _Fork) -> None:
        head = fork.history.cut.head
        start = structs.replace(fork.start, client_tools=head.client_tools)
        await self._conversations.perform(start, said_again(head, fork.wanted.text))

    async def _answer_again(self, fork: _Fork) -> None:
        head = as_copy(fork.history.cut.head, fork.target)
        results, decisions = (
            adk_request.answers_of(head.continues) if head.continues is not None else ([], [])
        )
        request = adk_request.RunRequest(
            run=fork.run,
            origin=fork.start.origin,
            continues=head.continues,
            answers=results,
            decisions=decisions,
            streaming=fork.start.streaming,
            state_delta=fork.start.state_delta,
        )

        def make(_: log_entry.RunId) -> adk_request.EventSource:
            source = self._conversations.source(request)
            start = fork.start
            return PreparedSource(source, digest=start.digest, forked_from=start.forked_from)

        await self._runs.start(fork.start.origin, "wait", make, fork.run)

    async def _resume(self, fork: _Fork) -> None:
        target = fork.start.origin
        past: list[log_entry.Record | log_entry.Entry] = [
            *self._past(fork),
            *await self._state_change(fork),
        ]
        request = adk_request.RunRequest(
            run=fork.run,
            origin=target,
            invocation=fork.history.cut.invocation,
            streaming=fork.start.streaming,
        )

        def make(_: log_entry.RunId) -> adk_request.EventSource:
            return ContinuedSource(self._conversations.source(request), past)

        await self._runs.start(target, "wait", make, fork.run)

    def _past(self, fork: _Fork) -> list[log_entry.Entry]:
        """Return the beginning of the cut run as that of the new one."""
        target = fork.start.origin
        first, *rest = fork.history.cut.continued(time.time())
        copy = as_copy(fork.history.cut.head, fork.target)
        # It goes on with the app as it is served, so it repeats no run.
        head = log_entry.relabelled(
            structs.replace(copy, agents=self._apps.agents(target.app)),
            REQUEST_DIGEST(fork.start.digest),
            adk_request.REPEATS(None),
        )
        return [log_entry.Entry(1, first.time, head), *_without(rest, fork.wanted.remove_state)]

    async def _state_change(self, fork: _Fork) -> list[log_entry.AgentEvent]:
        """Change the state between past and future: an event of the session, and of the run."""
        delta = fork.start.state_delta
        if not delta:
            return []
        sessions = self._apps.sessions(fork.start.origin.app)
        event = await sessions.append_state(fork.start.origin, delta)
        return [log_entry.AgentEvent(serialise(event, self._report))]


def said_again(head: log_entry.RunStarted, text: str = "") -> Submit:
    """Return the message of a run once more; with another text, if one is given. Raise `Unprocessable`."""
    if log_entry.is_absent(head.message):
        raise Unprocessable("There is no message yet at this cursor; send `newMessage`.")
    content = with_text(head.message, text) if text else head.message
    given = log_entry.RESPONSES.read(head)
    return Submit(
        message_id=head.message_id,
        content=content,
        text=_text(content),
        responses={
            name: each.response
            for name, each in given.items()
            if not each.typed and not log_entry.is_absent(each.response)
        },
        confirmed=[each.decision for each in given.values() if each.decision is not None],
    )


def with_text(message: Raw, text: str) -> Raw:
    """Return a message that says something else; its files stay."""
    content = read_object(message)
    files = [part for part in content.get("parts") or [] if "text" not in part]
    return log_entry.to_raw(content | {"parts": [{"text": text}, *files]})


def _without(past: Sequence[log_entry.Entry], keys: Collection[str]) -> list[log_entry.Entry]:
    """Return a past at whose end the state has not these keys: its last node took them along."""
    ends = [i for i, entry in enumerate(past) if isinstance(entry.record, log_entry.NodeEnded)]
    entries = list(past)
    if keys and ends:
        entry = entries[ends[-1]]
        assert isinstance(entry.record, log_entry.NodeEnded)
        gone = sorted({*entry.record.gone, *keys})
        entries[ends[-1]] = structs.replace(entry, record=structs.replace(entry.record, gone=gone))
    return entries


def _value(raw: Raw | None) -> Any:
    return None if raw is None else read_stored(raw)


def _text(message: Raw) -> str:
    parts = read_object(message).get("parts") or []
    return "".join(part.get("text") or "" for part in parts)


class ContinuedSource:
    """A source that continues a run of the past: its log begins with what happened there."""

    def __init__(
        self, inner: adk_request.EventSource, past: Sequence[log_entry.Record | log_entry.Entry]
    ) -> None:
        """`past` begins with the run's `RunStarted`, which takes the place of the source's own."""
        self._inner = inner
        self._past = past

    async def records(
        self, emit: adk_request.Emit | None = None
    ) -> AsyncGenerator[log_entry.Record | log_entry.Entry, None]:
        """Yield the past, then what the source yields. Raise before that what keeps it from going on."""
        async with aclosing(self._inner.records(emit)) as records:
            await anext(records)
            for entry in self._past:
                yield entry
            async for record in records:
                yield record

    def cancel(self) -> None:
        self._inner.cancel()

    @property
    def correlation(self) -> str:
        return self._inner.correlation


# ---------------------------------------------------------------------- routes
#
# Forks: a conversation goes on elsewhere from any cursor of one of its runs.
#
# Body: `at`, a cursor; `newMessage` to say something there, without it the run goes on by itself;
# `stateDelta` to change the session's state first, `removeState` to take keys out of it; `sessionId` to name
# the new session; `appName`, of an uploaded run, the app that continues it. The answer names the new session
# and run; the run is streamed as any other.


MOST_REMOVED = 1000
"""Keys that one request takes away: more than a person would."""

_DrawnIfEmpty = Annotated[SessionId | None, BeforeValidator(lambda value: value or None)]


class ForkRun(BaseModel):
    """Where a run is forked, and how it goes on."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    at: Annotated[int, Field(strict=True, description="A cursor of the run.")]
    app_name: AppName | None = Field(
        default=None, description="The app that continues an uploaded run; else the run's own."
    )
    new_message: dict[str, Any] | None = Field(
        default=None, description="A genai Content; without it the run goes on by itself."
    )
    state_delta: dict[str, Any] | None = None
    remove_state: list[str] = Field(
        default=[], max_length=MOST_REMOVED, description="Keys of the state to leave out."
    )
    session_id: _DrawnIfEmpty = Field(default=None, description="Without: one is drawn.")
    streaming: bool = True


class ForkRoutes:
    """The route of forks."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._forks = Forks(context)

    def router(self) -> APIRouter:
        """Return the router of forks."""
        router = APIRouter(prefix="/api/runs", route_class=StrictRoute, tags=["runs"])
        router.post("/{run}/fork")(self.fork)
        return router

    async def fork(
        self, request: Request, response: Response, run: Run, asked: ForkRun, key: Key = ""
    ) -> dict[str, Any]:
        """Fork a run at a cursor: a new session with the history, state and artifacts of that moment."""
        self._context.lifecycle.check_open()
        origin = (await self._context.log.summary(run)).origin
        app = asked.app_name or origin.app
        delta, message = asked.state_delta or {}, asked.new_message or {}
        await self._context.apps.open(app)
        if both := delta.keys() & set(asked.remove_state):
            raise UsageError(f"{min(both)[:60]!r} is in `stateDelta` and in `removeState`.")
        await self._context.starter.client_state.check(
            app, dict.fromkeys(asked.remove_state) | delta
        )
        fork = ForkRequest(
            run=run,
            at=asked.at,
            app=asked.app_name or "",
            message=log_entry.to_raw(message) if message.get("parts") else log_entry.NOTHING,
            state_delta=delta,
            remove_state=asked.remove_state,
            session=asked.session_id or "",
            streaming=asked.streaming,
        )
        made: list[Forked] = []

        async def begin(new: log_entry.RunId | None, digest: str) -> log_entry.RunId:
            made.append(await self._forks.fork(fork, new, digest))
            return made[0].run

        body = await request.body()
        new = await self._context.starter.idempotency.once(key, f"fork {run}", body, begin)
        response.headers[RUN_HEADER] = new
        for forked in made:
            action = AuditedAction(action="run forked", origin=origin, run=run, about=forked.run)
            await self._context.audit.note(action)
        return await self._answer(new, made)

    async def _answer(self, run: log_entry.RunId, made: list[Forked]) -> dict[str, Any]:
        """Say what was made; of a fork that a repeated request finds, where it is."""
        origin = (await self._context.log.summary(run)).origin
        answer: dict[str, Any] = {
            "run": run,
            "app": origin.app,
            "user": origin.user,
            "session": origin.session,
            "warnings": [],
        }
        for forked in made:
            answer |= {
                "goesOn": forked.goes_on,
                "warnings": forked.differing,
                "missingArtifacts": forked.missing,
                "withheldState": forked.withheld,
            }
        return answer
