"""Evaluations: the cases of an eval set as recorded runs, and their scores.

Each message of a case is a run like any other, in a session of its own, so that it can be opened, compared
and forked. Scores are those of ADK's evaluators (`source.evaluation`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from pathlib import Path
from uuid import uuid4

import msgspec
from msgspec import Raw, Struct

from adk_prism.commands import Submit
from adk_prism.errors import NotFound, PrismError
from adk_prism.pipeline.conversation import Conversations, Start
from adk_prism.pipeline.model_calls import ModelCalls
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import AgentEvent, Entry, Origin, RunEnded, RunId
from adk_prism.source.apps import Apps
from adk_prism.source.evaluation.evaluation import Case, CaseScore, Evaluation
from adk_prism.source.evaluation.inference import Inference, SaidTurn, asked_model

EVALUATION_SESSIONS = ("adk-eval-session-", "___eval___session___")
"""How ADK's names of the sessions of evaluations begin, now and in older versions. Lists of chats leave them
out."""
AT_ONCE = 4
"""Cases that run at the same time, as with ADK."""
MOST_MESSAGES = 200
"""Of one case: a simulated user must end somewhere."""


class EvaluatedCase(Struct, frozen=True, kw_only=True):
    """A case that was evaluated."""

    case: Case
    score: CaseScore
    runs: list[str]


Began = Callable[[str, str], None]
"""Told of each run: the case's id, and the run's."""


class Evaluations:
    """Runs eval sets on the apps of a server."""

    def __init__(
        self, apps: Apps, conversations: Conversations, log: RunLog, calls: ModelCalls
    ) -> None:
        self._apps = apps
        self._conversations = conversations
        self._log = log
        self._calls = calls

    async def perform(
        self, evaluation: Evaluation, results: Path | None, began: Began = lambda *_: None
    ) -> list[EvaluatedCase]:
        """Run the cases and evaluate them; store the result in a folder of apps, as ADK does.

        A case that cannot be run fails alone. Raise `NotFound` or `AppFailed` for the app.
        """
        await self._apps.open(evaluation.app)
        places = asyncio.Semaphore(AT_ONCE)

        async def infer(case: Case) -> Inference:
            async with places:
                return await self._infer(evaluation, case, began)

        inferences = await asyncio.gather(*(infer(case) for case in evaluation.cases))
        cases = {case.id: case for case in evaluation.cases}
        sessions = {}
        for each in inferences:
            user = cases[each.case].user
            origin = Origin(app=evaluation.app, user=user, session=each.session)
            with suppress(NotFound):
                sessions[each.session] = await self._apps.sessions(evaluation.app).get(origin)
        scores = await asyncio.to_thread(
            lambda: asyncio.run(evaluation.score(inferences, sessions, results))
        )
        runs = {each.case: each.runs for each in inferences}
        return [
            EvaluatedCase(case=cases[score.id], score=score, runs=runs[score.id])
            for score in scores
        ]

    async def _infer(self, evaluation: Evaluation, case: Case, began: Began) -> Inference:
        session = case.session or f"{EVALUATION_SESSIONS[0]}{uuid4()}"
        origin = Origin(app=evaluation.app, user=case.user, session=session)
        turns: list[SaidTurn] = []
        runs: list[str] = []
        error = ""
        try:
            await self._apps.sessions(evaluation.app).ensure(origin, case.state)
            user = evaluation.user(case.id)
            while not error and (message := await user.next(turns)) is not None:
                if len(turns) == MOST_MESSAGES:
                    error = f"The user said more than {MOST_MESSAGES} messages."
                    break
                run = await self._say(origin, message)
                runs.append(run)
                began(case.id, run)
                turn, error = await self._turn(run, message)
                turns.append(turn)
        except PrismError as failed:
            error = failed.detail
        return Inference(case=case.id, session=session, turns=turns, runs=runs, error=error)

    async def _say(self, origin: Origin, message: Raw) -> RunId:
        # Not streamed, as with ADK: a model may answer otherwise where it streams.
        start = Start(origin=origin, policy="wait", streaming=False)
        return await self._conversations.perform(
            start, Submit(content=message, text=_text(message))
        )

    async def _turn(self, run: RunId, message: Raw) -> tuple[SaidTurn, str]:
        """Return what a run did when it is over, and its error."""
        entries: list[Entry] = []
        async with aclosing(self._log.read(run, follow=True)) as batches:
            async for batch in batches:
                entries += batch
        asked = map(asked_model, await self._calls.of_run(run))
        turn = SaidTurn(
            message=message,
            invocation=run,
            events=[e.record.event for e in entries if isinstance(e.record, AgentEvent)],
            started=entries[0].time,
            seconds=entries[-1].time - entries[0].time,
            asked=[each for each in asked if each is not None],
        )
        return turn, _error(run, entries[-1])


def _error(run: RunId, last: Entry) -> str:
    end = last.record
    if not isinstance(end, RunEnded) or end.outcome in ("finished", "waiting"):
        return ""
    return f"The run {run} {_ENDED[end.outcome]}" + (f" ({end.code})." if end.code else ".")


_ENDED = {"failed": "failed", "cancelled": "was cancelled", "incomplete": "is incomplete"}


class _Part(Struct):
    text: str | None = None


class _Said(Struct):
    parts: list[_Part] | None = None


def _text(message: Raw) -> str:
    said = msgspec.json.decode(message, type=_Said)
    return " ".join(part.text for part in said.parts or [] if part.text)
