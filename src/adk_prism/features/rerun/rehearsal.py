"""A recorded conversation run again with the current code, beside the server: what is different?

Models and tools are answered from the recording. It happens in a server of its own, in memory, around a copy
of the app's Runner with services of its own: nothing is listed, nothing is stored, and nothing live is
called. Each message begins with the history that was recorded, so that a difference in one does not hide the
next: as long as all are the same, that is what the replay itself has made.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from copy import copy
from typing import Any, Literal

import msgspec
from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from msgspec import Struct

from adk_prism.adk.apps import Apps
from adk_prism.adk.request import REPEATS
from adk_prism.errors import PrismError, ignore
from adk_prism.extension import installed
from adk_prism.features.compare.comparison import Comparison, Side, compare
from adk_prism.features.model_calls.calls import ModelCalls
from adk_prism.features.model_calls.writer import ModelCallWriter, append_foreign
from adk_prism.features.page.outline import Outline, Step, outline
from adk_prism.features.rerun.changed_app import Changes
from adk_prism.features.rerun.recorded_models import Difference
from adk_prism.features.rerun.recorded_requests import MOST_SHOWN, ChangedPart
from adk_prism.features.rerun.reruns import Reruns
from adk_prism.log import entry as records
from adk_prism.log.contract import LogReader, RunLog
from adk_prism.log.memory import MemoryLog
from adk_prism.runs.chats import EVALUATION_SESSIONS, Chats, Turn
from adk_prism.runs.recorder import FORKED_FROM, REQUEST_DIGEST
from adk_prism.server.context import Context, make_context
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.observability import open_observability, secrets_of
from adk_prism.server.settings import Settings

MOST_ARTIFACTS = 100
"""Artifacts of a conversation that are there when it is run again; more would take too long to copy."""

BATCH = 512
"""Entries that are copied at once."""

LAST_SECONDS = 0.1
"""For runs to end that nobody waits for any more: the code has changed again."""

_COUNTS = ("answer", "tools", "results", "nodes", "state", "outcome")
"""What counts as different in what follows a message; requests are compared by themselves."""

Status = Literal["same", "differs", "failed"]


class CheckedMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one message."""

    run: str
    """The first recorded run of it."""
    status: Status
    """`failed`: it cannot be run again."""
    calls: int = 0
    """Model calls that were as recorded."""
    difference: Difference | None = None
    """The first model call that is not."""
    differs: list[str] = []
    """What is different in what followed: `answer`, `tools`, `state`, …"""
    follows: list[ChangedPart] = []
    """The same in words, where all requests are as recorded: answers, calls of tools, keys of the state."""
    detail: str = ""
    """For a person; empty if it is the same."""


class CheckedConversation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a conversation."""

    app: str
    user: str
    session: str
    status: Status
    messages: list[CheckedMessage]
    seconds: float
    detail: str = ""
    """Of the first message that is not the same."""
    skipped: int = 0
    """Messages after the first that differs, which were not run."""


async def load_saved(apps: Apps, app: str) -> Runner:
    """Return the Runner of the code that is saved now. Raise `AppFailed` if it cannot be loaded."""
    while True:
        await apps.load(app)
        if (failure := apps.failure(app)) is not None:
            raise failure
        # It may be the old one, where somebody else had looked at the files a moment ago.
        if not await asyncio.to_thread(apps.has_new_code, app):
            return apps.runner(app, "rerun")


async def last_conversations(
    log: LogReader, app: str, count: int, sessions: Sequence[str] = ()
) -> list[records.Origin]:
    """Return the newest conversations of an app, or those of some names. Without reruns and evaluations."""
    chats = Chats(log)
    found: dict[records.Origin, None] = {}
    for summary in reversed(await log.list(app=app)):
        origin = summary.origin
        if origin in found or origin.session.startswith(EVALUATION_SESSIONS):
            continue
        if sessions and origin.session not in sessions:
            continue
        point = FORKED_FROM.read(await chats.beginning(summary.run))
        if point is None or not point.rerun:
            found[origin] = None
        if len(found) >= count and not sessions:
            break
    return list(found)


async def check_conversation(
    runner: Runner,
    log: LogReader,
    origin: records.Origin,
    *,
    ignore_rules: Sequence[str] = (),
    is_whole: bool = False,
) -> CheckedConversation:
    """Run a conversation again; end with the first message that differs, unless it `is_whole`."""
    began = time.perf_counter()
    every = await Chats(log).turns(origin)
    count = sum(map(_is_own, every))
    done: list[CheckedMessage] = []
    async with _server(runner, log, origin, every) as place:
        changes = Changes(models="recorded", ignore=ignore_rules, is_streamed=False)
        for turn in every:
            if not _is_own(turn):
                place.leave()
                continue
            done.append(await place.check(turn, changes))
            if done[-1].status != "same" and not is_whole:
                break
    other = next((each for each in done if each.status != "same"), None)
    return CheckedConversation(
        app=origin.app,
        user=origin.user,
        session=origin.session,
        status=other.status if other is not None else "same",
        messages=done,
        seconds=round(time.perf_counter() - began, 3),
        detail=other.detail if other is not None else "",
        skipped=count - len(done),
    )


def _is_own(turn: Turn) -> bool:
    """Return whether a message was answered by the app itself, and can be run again."""
    head = turn.first.head
    return not turn.live and not head.live and REPEATS.read(head) is None


class _Place:
    """A server in memory with copies of a conversation's runs."""

    def __init__(self, reruns: Reruns, log: LogReader, *, has_artifacts: bool) -> None:
        self._reruns = reruns
        self._log = log
        self._has_artifacts = has_artifacts
        """A session is made for each message, with those that were there."""
        self._session = ""
        """Where all messages before were the same when they were run again: it has their history."""

    def leave(self) -> None:
        """Take the history of the next message from the recording."""
        self._session = ""

    async def check(self, turn: Turn, changes: Changes) -> CheckedMessage:
        """Run a message again, and compare."""
        run = turn.first.summary.run
        # Answers to earlier calls name them by the ids that they had.
        session = "" if records.RESPONSES.read(turn.first.head) else self._session
        self.leave()
        try:
            new = await self._reruns.start(run, changes, session=session)
            await self._reruns.wait(new)
            done = await self._reruns.result(new)
        except PrismError as error:
            return CheckedMessage(run=run, status="failed", detail=error.detail)
        models = done.models
        difference = models.difference if models is not None else None
        before = [await self._outline(each) for each in done.recorded]
        after = [await self._outline(each) for each in done.runs]
        found = [compare(a, b) for (a, _), (b, _) in zip(before, after, strict=False)]
        differs = _aspects(found, is_whole=len(done.recorded) == len(done.runs))
        is_same = difference is None and not differs
        # The recorded history has what tools said by themselves, and not how a failure was given again.
        has_other = any(some or a.outcome not in ("finished", "waiting") for a, some in before)
        if is_same and not has_other and not self._has_artifacts:
            self._session = done.origin.session
        return CheckedMessage(
            run=run,
            status="same" if is_same else "differs",
            calls=models.recorded if models is not None else 0,
            difference=difference,
            differs=differs,
            follows=_follows(found) if difference is None else [],
            detail="" if is_same else _detail(difference, done.warnings, differs),
        )

    async def _outline(self, run: records.RunId) -> tuple[Outline, bool]:
        """Return a run without what tools said by themselves, and whether any did."""
        found = outline([entry async for batch in self._log.read(run) for entry in batch])
        if found.outcome == "failed":
            _end_as_failed(found.steps, found.code)
        return found, _leave_out_progress(found.steps)


def _end_as_failed(steps: Sequence[Step], code: str) -> None:
    """Let all that ended with a failed run have its end: a failure that is given again stops the rest."""
    for step in steps:
        if step.status in ("failed", "cancelled"):
            step.status, step.error = "failed", step.error or code
        _end_as_failed(step.steps, code)


def _leave_out_progress(steps: Sequence[Step]) -> bool:
    """Leave out what is in tools that are answered from the recording; return whether there was any."""
    has_some = False
    for step in steps:
        kept = [s for s in step.steps if step.kind != "tool" or s.kind in ("agent", "workflow")]
        has_some |= len(kept) < len(step.steps)
        step.steps = kept
        has_some |= _leave_out_progress(kept)
    return has_some


def _aspects(found: Sequence[Comparison], *, is_whole: bool) -> list[str]:
    differs: set[str] = {a for each in found for a in each.differs if a != "answer"}
    if any(map(_answers_otherwise, found)):
        differs.add("answer")
    if not is_whole:
        differs.add("outcome")
    return [aspect for aspect in _COUNTS if aspect in differs]


def _answers_otherwise(found: Comparison) -> bool:
    """Return whether an answer has other words: how a stream was cut decides about the spaces."""
    before, after = ("".join(found.answer[side].split()) for side in "ab")
    return before != after


def _follows(found: Sequence[Comparison]) -> list[ChangedPart]:
    """Return what differs between runs, each with what it was and what it is now."""
    parts: list[ChangedPart] = []
    for each in found:
        if _answers_otherwise(each):
            parts.append(ChangedPart("answer", each.answer["a"], each.answer["b"]))
        parts += [
            ChangedPart(f"tool {row.name}", _call(row.a), _call(row.b))
            for row in each.steps
            if row.kind == "tool" and row.change != "same"
        ]
        for key in each.state:
            before = _json(key.a) if key.change != "added" else ""
            after = _json(key.b) if key.change != "removed" else ""
            parts.append(ChangedPart(f"state {key.key}", before, after))
    return [part.shown() for part in parts if part.before != part.after][:MOST_SHOWN]


def _call(side: Side | None) -> str:
    return f"{_json(side.input)} → {_json(side.output)}" if side is not None else ""


def _json(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def _detail(difference: Difference | None, warnings: Sequence[str], differs: Sequence[str]) -> str:
    if difference is not None:
        return difference.detail
    said = next((text for text in warnings if text.startswith("Call not recorded")), "")
    return said or f"Every model call is as recorded; what differs: {', '.join(differs)}."


# ---------------------------------------------------------------------- the server in memory


@asynccontextmanager
async def memory_server(
    runner: Runner, origin: records.Origin, log: MemoryLog | None = None
) -> AsyncIterator[Context]:
    """Yield the parts of a server in memory, without routes, around a Runner with services of its own.

    What `log` has already is not redacted again, which would cost as much as to run it.
    """
    own = copy(runner)
    own.session_service = InMemorySessionService()
    own.artifact_service = await _copied_artifacts(runner.artifact_service, origin)
    settings = Settings(log="memory:", without=tuple(installed().used))
    lifecycle = Lifecycle(ignore)
    context = make_context(
        settings,
        Apps.of_runners({origin.app: own}),
        lifecycle,
        open_observability(settings, secrets_of(settings), ignore),
        MemoryLog() if log is None else log,
    )
    await lifecycle.start()
    try:
        yield context
    finally:
        await context.runs.drain(LAST_SECONDS)
        await lifecycle.stop()


@asynccontextmanager
async def _server(
    runner: Runner, log: LogReader, origin: records.Origin, turns: Sequence[Turn]
) -> AsyncIterator[_Place]:
    kept = MemoryLog()
    await kept.open()
    await _copy_runs(log, kept, turns)
    async with memory_server(runner, origin, kept) as context:
        artifacts = context.apps.artifact_service(origin.app)
        names = await artifacts.list_artifact_keys(**_where(origin)) if artifacts else []
        yield _Place(Reruns(context), context.log, has_artifacts=bool(names))


async def _copy_runs(log: LogReader, kept: RunLog, turns: Sequence[Turn]) -> None:
    calls = ModelCalls(log)
    runs = (run.summary for turn in turns for run in turn.runs)
    for run in (run.run for run in runs if run.outcome is not None):
        entries = [entry async for batch in log.read(run) for entry in batch]
        found = await calls.filled(run, entries)
        for part in (found[n : n + BATCH] for n in range(0, len(found), BATCH)):
            await kept.append(run, [_copied(e.record) for e in part], times=[e.time for e in part])


async def copy_run(
    log: RunLog, writer: ModelCallWriter, run: records.RunId, entries: Sequence[records.Entry]
) -> None:
    """Write a run, as files have it, to another log, so that it can be run again there."""
    copies = [records.Entry(each.cursor, each.time, _copied(each.record)) for each in entries]
    head = copies[0].record
    assert isinstance(head, records.RunStarted), "a run begins with its start"
    for start in range(0, len(copies), BATCH):
        await append_foreign(log, writer, run, head.origin, copies[start : start + BATCH])
    await log.commit(run)


def _copied(record: records.Record) -> records.Record:
    if isinstance(record, records.RunStarted):
        # The user trusts the file with a run of their own; a server trusts no upload.
        return records.relabelled(
            record, records.UPLOADED(False), records.FOREIGN(False), REQUEST_DIGEST("")
        )
    return record


async def _copied_artifacts(
    service: BaseArtifactService | None, origin: records.Origin
) -> InMemoryArtifactService:
    """Return the artifacts of a session, in memory: those that tools save must not reach the real ones."""
    made = InMemoryArtifactService()
    if service is None:
        return made
    where = _where(origin)
    names = await service.list_artifact_keys(**where)
    for name in names[:MOST_ARTIFACTS]:
        for version in await service.list_versions(filename=name, **where):
            found = await service.load_artifact(filename=name, version=version, **where)
            if found is not None:
                await made.save_artifact(filename=name, artifact=found, **where)
    return made


def _where(origin: records.Origin) -> dict[str, Any]:
    return {"app_name": origin.app, "user_id": origin.user, "session_id": origin.session}
