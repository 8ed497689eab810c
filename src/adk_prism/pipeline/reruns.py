"""A message that is answered again, with another model, another instruction, or the code of now.

The new runs are in a session of their own, a fork from before the message: they see the history, state and
artifacts that the recorded ones saw. Where a recorded run waited for a person or for the client, the
recorded answer is given again if the same is asked. Whatever is asked besides has no answer: the message ends
waiting, and stays so, because its app was changed for it alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from adk_prism.diagnostics import Diagnostic, Report
from adk_prism.errors import Conflict, Gone, PrismError, Unprocessable
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.conversation import Conversations, Start
from adk_prism.pipeline.forks import ForkRequest, Forks
from adk_prism.pipeline.model_calls import ModelCalls
from adk_prism.pipeline.recorded_answers import RecordedAnswers
from adk_prism.pipeline.runs import Runs, new_run
from adk_prism.pipeline.turns import ChatRun, Turn
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import (
    NOTHING,
    Entry,
    ModelCalled,
    Origin,
    Repeats,
    RunId,
    RunStarted,
    is_absent,
)
from adk_prism.source.apps import Apps
from adk_prism.source.request import Variant
from adk_prism.source.rerun.changed_app import Changes, changed_runner
from adk_prism.source.rerun.recorded_calls import RecordedCalls
from adk_prism.source.rerun.recorded_memory import RecordedMemory, recorded_memory
from adk_prism.source.rerun.recorded_tools import RecordedTools, stored_artifacts

MOST_WARNED = 100
"""Messages whose warnings are kept until they are asked for."""


class Rerun(Struct, frozen=True, kw_only=True):
    """A message, and the same message answered again."""

    origin: Origin
    """The new session."""
    recorded: list[RunId]
    runs: list[RunId]
    """The new ones, as far as they have begun."""
    warnings: list[str]


class _Plan(Struct, frozen=True):
    """What is needed to answer a message again."""

    turn: Turn
    variant: Variant
    answers: RecordedAnswers


class Reruns:
    """Answers messages again."""

    def __init__(
        self,
        log: RunLog,
        apps: Apps,
        runs: Runs,
        chats: Chats,
        forks: Forks,
        conversations: Conversations,
        report: Report,
    ) -> None:
        self._log = log
        self._apps = apps
        self._runs = runs
        self._chats = chats
        self._forks = forks
        self._conversations = conversations
        self._report = report
        self._driving: dict[RunId, asyncio.Task[None]] = {}
        """By the first new run, while its message is not over."""
        self._warnings: dict[RunId, list[str]] = {}

    async def start(
        self, run: RunId, changes: Changes, new: RunId | None = None, digest: str = ""
    ) -> RunId:
        """Begin to answer the message of a run again; return the first new run.

        Raise `NotFound` or `Gone` for a run or an app that is not there (any more), `Conflict` for one that
        is not over, `Unprocessable` and `NotSupported` for one that cannot be run again.
        """
        plan = await self._plan(run, changes)
        first = plan.turn.first
        wanted = ForkRequest(
            run=first.summary.run,
            at=1,
            message=NOTHING,
            streaming=first.head.streaming,
            variant=plan.variant,
        )
        forked = await self._forks.fork(wanted, new or new_run(), digest)
        self._warn(forked.run, _missing(forked.missing))
        if plan.variant.tools is None:  # With recorded tools the run sees the recorded state.
            changed = [f"The state {key!r} has another value today." for key in forked.differing]
            self._warn(forked.run, changed)
        driving = asyncio.create_task(self._drive(forked.run, forked.origin, plan))
        self._driving[forked.run] = driving
        driving.add_done_callback(lambda _: self._driving.pop(forked.run, None))
        return forked.run

    async def wait(self, run: RunId) -> None:
        """Wait until the message that a run began is over; for one of another process, do not wait."""
        driving = self._driving.get(run)
        if driving is not None:
            await asyncio.wait([driving])

    async def result(self, run: RunId) -> Rerun:
        """Return what has become of a message that a run began."""
        head = await self._chats.beginning(run)
        assert head.repeats is not None, "the run is another one, run again"
        recorded = await self._turn(RunId(head.repeats.run))
        return Rerun(
            origin=head.origin,
            recorded=[each.summary.run for each in recorded.runs],
            runs=[each.summary.run for each in (await self._turn(run)).runs],
            warnings=self._warnings.pop(run, []),
        )

    # -------------------------------------------------------------- planning

    async def _plan(self, run: RunId, changes: Changes) -> _Plan:
        turn = await self._turn(run)
        _check(turn)
        origin = turn.first.head.origin
        await self._apps.open(origin.app)
        runner = changed_runner(self._apps.runner(origin.app, "rerun"), changes)
        runs = [await self._entries(each.summary.run) for each in turn.runs]
        repeats = Repeats(
            run=turn.first.summary.run,
            model=changes.model,
            instructions=sorted(changes.instructions),
            tools=changes.tools,
        )
        is_recorded = changes.tools == "recorded"
        if is_recorded and (memory := await self._memory(turn)) is not None:
            runner.memory_service = memory
        artifacts = stored_artifacts(self._apps.artifact_service(origin.app), origin)
        state = await self._chats.state_before(turn.first.summary.run)
        tools = RecordedTools(RecordedCalls(runs), artifacts, state)
        variant = Variant(runner=runner, repeats=repeats, tools=tools if is_recorded else None)
        return _Plan(turn, variant, RecordedAnswers(runs))

    async def _memory(self, turn: Turn) -> RecordedMemory | None:
        calls = ModelCalls(self._log)
        found = [await calls.of_run(each.summary.run) for each in turn.runs]
        runs: list[list[dict[str, Any]]] = msgspec.json.decode(msgspec.json.encode(found))
        return recorded_memory(call for each in runs for call in each)

    async def _turn(self, run: RunId) -> Turn:
        """Return the message that a run belongs to, also one that was taken back."""
        head = await self._chats.head(run)
        message = head.continues.message if head.continues is not None else head.run
        origin = (await self._log.summary(run)).origin
        found: list[ChatRun] = []
        for each in await self._log.list(app=origin.app, user=origin.user, session=origin.session):
            begun = await self._chats.beginning(each.run)
            continued = begun.continues.message if begun.continues is not None else ""
            if message in (begun.run, continued):
                found.append(ChatRun(each, begun))
        if not found or found[0].head.run != message:
            raise Gone("The first run of this message is not in the log any more.")
        return Turn(message, found)

    async def _entries(self, run: RunId) -> list[Entry]:
        return [entry async for entry in self._chats.entries(run)]

    # -------------------------------------------------------------- going on

    async def _drive(self, run: RunId, origin: Origin, plan: _Plan) -> None:
        """Give the recorded answers until nothing more is asked, or something that has none."""
        try:
            await self._runs.wait(run)
            while (next_run := await self._answer(run, origin, plan)) is not None:
                await self._runs.wait(next_run)
        except PrismError as error:
            self._report(Diagnostic(kind="rerun stopped", detail=error.detail, run=run))
            self._warn(run, [error.detail])
        if (tools := plan.variant.tools) is not None:
            self._warn(run, _missing(tools.missing))
            if tools.unanswered is not None:
                self._warn(run, [tools.unanswered.detail])
        if plan.variant.repeats.model:
            await self._warn_of_others(run)

    async def _warn_of_others(self, run: RunId) -> None:
        """Name the agents that an app makes while it runs: no change reaches them."""
        known, asked = set[str](), set[str]()
        for each in (await self._turn(run)).runs:
            for entry in await self._entries(each.summary.run):
                match entry.record:
                    case RunStarted(agents=agents):
                        known.update(agent.name for agent in agents)
                    case ModelCalled(agent=agent):
                        asked.add(agent)
                    case _:
                        pass  # says nothing of who asks models
        others = ", ".join(sorted(asked - known))
        if others:
            self._warn(run, [f"Made while the app runs, with a model of their own: {others}."])

    def _warn(self, run: RunId, warnings: list[str]) -> None:
        self._warnings.setdefault(run, []).extend(warnings)
        while len(self._warnings) > MOST_WARNED:
            self._warnings.pop(next(iter(self._warnings)))

    async def _answer(self, run: RunId, origin: Origin, plan: _Plan) -> RunId | None:
        """Give the next recorded answers; return the run that goes on with them."""
        turn = await self._turn(run)
        if turn.last.summary.outcome not in ("waiting", "finished"):
            return None
        answers = plan.answers.next(await self._chats.pending(turn))
        if answers is None:
            return None
        streaming = plan.turn.first.head.streaming
        start = Start(origin=origin, policy="wait", streaming=streaming, variant=plan.variant)
        return await self._conversations.perform(start, answers)


def _missing(artifacts: Iterable[str]) -> list[str]:
    return [f"The artifact {name!r} is missing." for name in dict.fromkeys(artifacts)]


def _check(turn: Turn) -> None:
    """Raise for a message that cannot be answered again."""
    head = turn.first.head
    if head.untrusted:
        raise Unprocessable(
            "This run was recorded elsewhere and imported here. Download its recording, and use "
            "`adk-prism rerun FILE`."
        )
    if head.live:
        raise Unprocessable("A live run cannot be run again: its audio is not in the log.")
    if head.kind != "turn" or (is_absent(head.message) and not head.responses):
        raise Unprocessable("This run does not answer a message, so it cannot be run again.")
    if turn.live:
        raise Conflict("The run is not over yet. Wait until it is, or stop it.")
