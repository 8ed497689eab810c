"""Evaluations: the cases of an eval set as recorded runs, and their scores.

Each message of a case is a run like any other, in a session of its own, so that it can be opened, compared
and forked. Scores are those of ADK's evaluators (`source.evaluation`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec
from msgspec import Raw, Struct

from adk_prism import errors
from adk_prism.adk.app_folder import is_bundled
from adk_prism.adk.request import Variant
from adk_prism.commands import Answer, Command, Submit, ToolAnswer
from adk_prism.facts.pending import Pending
from adk_prism.facts.state import read_object
from adk_prism.features.evaluation import evaluation as evals
from adk_prism.features.evaluation.eval_cases import without_questions
from adk_prism.features.model_calls.calls import ModelCalls
from adk_prism.log import entry as records
from adk_prism.runs.chats import EVALUATION_SESSIONS
from adk_prism.runs.conversations import Start
from adk_prism.server.context import Context

AT_ONCE = 4
"""Cases that run at the same time, as with ADK."""
WAITS = (
    "A run waits for an answer, which a case does not give unless recorded answers are asked for."
)
MOST_MESSAGES = 200
"""Of one case: a simulated user must end somewhere."""


class EvaluatedCase(Struct, frozen=True, kw_only=True):
    """A case that was evaluated."""

    case: evals.Case
    score: evals.CaseScore
    runs: list[str]


Began = Callable[[str, str], None]
"""Told of each run: the case's id, and the run's."""


class _Turn(NamedTuple):
    said: evals.SaidTurn
    runs: list[records.RunId]
    error: str
    waits: bool


def answers_to(pending: Pending, recorded: list[evals.RecordedReply]) -> list[ToolAnswer]:
    """Take the recorded answers to what is pending out of a list, by the tools that ask."""
    given: list[ToolAnswer] = []
    for asked in pending.approvals.values():
        answer = _take(recorded, asked.call.name, is_approval=True)
        if answer is not None:
            decision = records.Decision(
                approval=asked.approval,
                approved=bool(answer.approved),
                reason=answer.reason,
                payload=records.NOTHING
                if answer.payload is None
                else records.to_raw(answer.payload),
            )
            given.append(ToolAnswer(call=asked.call.call, decision=decision))
    for call in {**pending.client_calls, **pending.late_calls}.values():
        answer = _take(recorded, call.name, is_approval=False)
        if answer is not None:
            given.append(ToolAnswer(call=call.call, output=records.to_raw(answer.output)))
    return given


def _take(
    recorded: list[evals.RecordedReply], tool: str, *, is_approval: bool
) -> evals.RecordedReply | None:
    for place, answer in enumerate(recorded):
        if answer.tool == tool and (answer.approved is not None) is is_approval:
            return recorded.pop(place)
    return None


def _outcome(entries: Sequence[records.Entry]) -> str:
    end = entries[-1].record
    return end.outcome if isinstance(end, records.RunEnded) else ""


def _error(run: records.RunId, last: records.Entry) -> str:
    end = last.record
    if not isinstance(end, records.RunEnded) or end.outcome in ("finished", "waiting"):
        return ""
    return f"The run {run} {_ENDED[end.outcome]}" + (f" ({end.code})." if end.code else ".")


_ENDED = {"failed": "failed", "cancelled": "was cancelled", "incomplete": "is incomplete"}


def _text(message: Raw) -> str:
    parts = read_object(message).get("parts") or []
    return " ".join(part["text"] for part in parts if part.get("text"))


# ---------------------------------------------------------------------------
# Eval sets of the served apps: where they and their results are, and the evaluations that run here.
#
# An evaluation is a task of the server, like its runs: whoever asked for it may leave. What is known
# of those that run, and of the last ones, is in the memory of this process; results are ADK's files.

OWN_FOLDER = "evals"
"""In the data folder: sets and results of apps that have no folder of their own to write to."""
MOST_RUNNING = 2
"""Evaluations at the same time: each runs several cases."""
MOST_KEPT = 20
"""Evaluations that are remembered after their end; their results stay on disk."""

Json = dict[str, Any]


class Evaluator:
    """Evaluates the apps of one server."""

    def __init__(self, context: Context) -> None:
        self._apps = context.apps
        self._conversations = context.conversations
        self._log = context.log
        self._chats = context.chats
        self._calls = ModelCalls(context.log)
        self._data_dir = Path(context.settings.data_dir).absolute()
        self._report = context.report
        self._jobs: dict[str, Job] = {}

    def folder(self, app: str) -> Path:
        """Return the folder in which ADK looks for `{app}/*.evalset.json`. Raise `NotFound`."""
        self._apps.check(app)
        found = self._apps.find(app)
        path = found.path if found is not None else None
        if path is None or not path.is_dir() or path.name != app or is_bundled(path):
            return self._data_dir / OWN_FOLDER
        return path.parent

    def start(self, evaluation: evals.Evaluation) -> Job:
        """Begin to evaluate a set. Raise `TooMany`."""
        if sum(not job.is_over for job in self._jobs.values()) >= MOST_RUNNING:
            raise errors.TooMany(f"{MOST_RUNNING} evaluations are running, the limit.", 10)
        job = Job(evaluation, self._report)
        self._jobs[job.id] = job
        job.begin(self)
        over = [name for name, each in self._jobs.items() if each.is_over]
        for name in over[: max(0, len(over) - MOST_KEPT)]:
            del self._jobs[name]
        return job

    def jobs(self, app: str) -> list[Job]:
        """Return the evaluations of an app that run, or ran last, the newest first."""
        return [job for job in reversed(self._jobs.values()) if job.evaluation.app == app]

    def job(self, app: str, name: str) -> Job:
        """Return one of them. Raise `NotFound`."""
        job = self._jobs.get(name)
        if job is None or job.evaluation.app != app:
            raise errors.NotFound(
                "There is no such evaluation in this process; its results may be stored."
            )
        return job

    @asynccontextmanager
    async def evaluating(self) -> AsyncIterator[None]:
        """Let evaluations run; stop them at the end."""
        try:
            yield
        finally:
            for job in self._jobs.values():
                job.stop()

    # -------------------------------------------------------------- cases

    async def run(
        self, evaluation: evals.Evaluation, began: Began = lambda *_: None
    ) -> list[EvaluatedCase]:
        """Run the cases and evaluate them; store the result in the folder of the app, as ADK does.

        A case that cannot be run fails alone. Raise `NotFound` or `AppFailed` for the app.
        """
        results = self.folder(evaluation.app) if evaluation.trial is None else None
        await self._apps.open(evaluation.app)
        variant = evaluation.trial.variant if evaluation.trial is not None else None
        places = asyncio.Semaphore(AT_ONCE)

        async def infer(case: evals.Case) -> evals.Inference:
            async with places:
                return await self._infer(evaluation, case, began, variant)

        inferences = await asyncio.gather(*(infer(case) for case in evaluation.cases))
        cases = {case.id: case for case in evaluation.cases}
        sessions = {}
        for each in inferences:
            user = cases[each.case].user
            origin = records.Origin(app=evaluation.app, user=user, session=each.session)
            with suppress(errors.NotFound):
                sessions[each.session] = await self._apps.sessions(evaluation.app).get(origin)
        scores = await asyncio.to_thread(
            lambda: asyncio.run(evaluation.score(inferences, sessions, results))
        )
        runs = {each.case: each.runs for each in inferences}
        return [
            EvaluatedCase(case=cases[score.id], score=score, runs=runs[score.id])
            for score in scores
        ]

    async def _infer(
        self, evaluation: evals.Evaluation, case: evals.Case, began: Began, variant: Variant | None
    ) -> evals.Inference:
        session = case.session or f"{EVALUATION_SESSIONS[0]}{uuid4()}"
        origin = records.Origin(app=evaluation.app, user=case.user, session=session)
        turns: list[_Turn] = []
        error = ""
        try:
            await self._apps.sessions(evaluation.app).ensure(origin, case.state)
            user = evaluation.user(case.id)
            while not error:
                message = await user.next([turn.said for turn in turns])
                if message is None:
                    break
                if len(turns) == MOST_MESSAGES:
                    error = f"The user said more than {MOST_MESSAGES} messages."
                    break
                given = [each for each in case.answers if each.message == len(turns)]
                answers = given if evaluation.answers else []
                # Not streamed, as with ADK: a model may answer otherwise where it streams.
                start = Start(origin=origin, policy="wait", streaming=False, variant=variant)
                turns.append(await self._turn(start, message, answers, partial(began, case.id)))
                error = turns[-1].error
        except errors.PrismError as failed:
            error = failed.detail
        return evals.Inference(
            case=case.id,
            session=session,
            turns=[turn.said for turn in turns],
            runs=[run for turn in turns for run in turn.runs],
            error=error,
            note=WAITS if any(turn.waits for turn in turns) else "",
        )

    async def _turn(
        self,
        start: Start,
        message: Raw,
        answers: list[evals.RecordedReply],
        began: Callable[[str], None],
    ) -> _Turn:
        """Send a message, and answer what was answered before."""
        command: Command = Submit(content=message, text=_text(message))
        runs: list[records.RunId] = []
        entries: list[list[records.Entry]] = []
        while True:
            runs.append(await self._conversations.perform(start, command))
            began(runs[-1])
            entries.append([e async for e in self._followed(runs[-1])])
            given = []
            if _outcome(entries[-1]) == "waiting" and answers:
                pending = await self._chats.pending((await self._chats.turns(start.origin))[-1])
                given = answers_to(pending, answers)
            if not given:
                return await self._read(runs, entries, message)
            command = Answer(answers=given)

    async def _followed(self, run: records.RunId) -> AsyncIterator[records.Entry]:
        async with aclosing(self._log.read(run, follow=True)) as batches:
            async for batch in batches:
                for entry in batch:
                    yield entry

    async def _read(
        self, runs: Sequence[records.RunId], entries: Sequence[list[records.Entry]], message: Raw
    ) -> _Turn:
        """Return what the runs of a message did."""
        asked = [evals.asked_model(call) for run in runs for call in await self._calls.of_run(run)]
        stored = [entry.record for each in entries for entry in each]
        events = [record.event for record in stored if isinstance(record, records.AgentEvent)]
        # Where nothing is answered, the events are those that ADK would evaluate.
        shown = events if len(runs) == 1 else [without_questions(event) for event in events]
        said = evals.SaidTurn(
            message=message,
            invocation=runs[0],
            events=shown,
            started=entries[0][0].time,
            seconds=sum(each[-1].time - each[0].time for each in entries),
            asked=[each for each in asked if each is not None],
        )
        waits = _outcome(entries[-1]) == "waiting"
        return _Turn(said, list(runs), _error(runs[-1], entries[-1][-1]), waits)


class Job:
    """One evaluation, running or over."""

    def __init__(self, evaluation: evals.Evaluation, report: errors.Report) -> None:
        self.id = f"eval-{uuid4().hex}"
        self.evaluation = evaluation
        self._report = report
        self._runs: dict[str, list[str]] = {case.id: [] for case in evaluation.cases}
        self._task: asyncio.Task[list[EvaluatedCase]] | None = None
        self._error = ""

    def begin(self, evaluator: Evaluator) -> None:
        """Run the cases in a task."""
        self._task = asyncio.create_task(evaluator.run(self.evaluation, self._began))
        self._task.add_done_callback(self._ended)

    def _began(self, case: str, run: str) -> None:
        self._runs[case].append(run)

    def _ended(self, task: asyncio.Task[list[EvaluatedCase]]) -> None:
        if task.cancelled():
            self._error = "The evaluation was stopped."
            return
        error = task.exception()
        if isinstance(error, errors.PrismError):
            self._error = error.detail
        elif error is not None:
            correlation, app = errors.new_correlation(), self.evaluation.app
            self._error = f"The evaluation failed. Reference: {correlation}."
            self._report(
                errors.Diagnostic(
                    kind="evaluation failed",
                    correlation=correlation,
                    app=app,
                    cause=errors.cause_of(error),
                )
            )

    def stop(self) -> None:
        """Stop it; runs that began go on."""
        if self._task is not None:
            self._task.cancel()

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or could not begin."""
        return self._task is None or self._task.done()

    def shown(self) -> Json:
        """Return it as it is answered."""
        shown: Json = {"id": self.id, "evalSetId": self.evaluation.set_id}
        if not self.is_over:
            cases = [{"id": name, "runs": runs} for name, runs in self._runs.items()]
            return shown | {"status": "running", "cases": cases}
        if self._error or self._task is None:
            return shown | {"status": "failed", "error": self._error, "cases": []}
        return shown | {"status": "finished", **shown_cases(self._task.result())}


def shown_cases(found: Sequence[EvaluatedCase]) -> Json:
    """Return evaluated cases as they are answered."""
    cases = [
        {
            **msgspec.to_builtins(each.score),
            "text": each.case.text,
            "runs": each.runs,
            "expectedRun": each.case.expected_run or None,
        }
        for each in found
    ]
    return {"passed": sum(each.score.verdict == "passed" for each in found), "cases": cases}
