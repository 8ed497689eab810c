"""Eval sets of the served apps: where they and their results are, and the evaluations that run here.

An evaluation is a task of the server, like its runs: whoever asked for it may leave. What is known of those
that run, and of the last ones, is in the memory of this process; results are ADK's files.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from adk_prism.diagnostics import Diagnostic, Report, cause_of, new_correlation
from adk_prism.errors import NotFound, PrismError, TooMany
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.conversation import Conversations
from adk_prism.pipeline.evaluations import Began, EvaluatedCase, Evaluations
from adk_prism.pipeline.model_calls import ModelCalls
from adk_prism.runlog.contract import RunLog
from adk_prism.source.apps import Apps
from adk_prism.source.bundled_apps import is_bundled
from adk_prism.source.evaluation.evaluation import CaseScore, Evaluation

OWN_FOLDER = "evals"
"""In the data folder: sets and results of apps that have no folder of their own to write to."""
MOST_RUNNING = 2
"""Evaluations at the same time: each runs several cases."""
MOST_KEPT = 20
"""Evaluations that are remembered after their end; their results stay on disk."""

Json = dict[str, Any]


class Evaluator:
    """Evaluates the apps of one server."""

    def __init__(
        self,
        apps: Apps,
        conversations: Conversations,
        log: RunLog,
        chats: Chats,
        data_dir: Path,
        report: Report,
    ) -> None:
        self._apps = apps
        self._data_dir = data_dir
        self._report = report
        self._evaluations = Evaluations(apps, conversations, log, chats, ModelCalls(log))
        self._jobs: dict[str, Job] = {}

    def folder(self, app: str) -> Path:
        """Return the folder in which ADK looks for `{app}/*.evalset.json`. Raise `NotFound`."""
        self._apps.check(app)
        found = self._apps.find(app)
        path = found.path if found is not None else None
        if path is None or not path.is_dir() or path.name != app or is_bundled(path):
            return self._data_dir / OWN_FOLDER
        return path.parent

    async def run(
        self, evaluation: Evaluation, began: Began = lambda *_: None
    ) -> list[EvaluatedCase]:
        """Evaluate a set. Raise `PrismError` if it cannot be run."""
        folder = self.folder(evaluation.app)
        return await self._evaluations.perform(evaluation, folder, began)

    def start(self, evaluation: Evaluation) -> Job:
        """Begin to evaluate a set. Raise `TooMany`."""
        if sum(not job.is_over for job in self._jobs.values()) >= MOST_RUNNING:
            raise TooMany(f"{MOST_RUNNING} evaluations are running, the limit.", 10)
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
            raise NotFound(
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


class Job:
    """One evaluation, running or over."""

    def __init__(self, evaluation: Evaluation, report: Report) -> None:
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
        if isinstance(error, PrismError):
            self._error = error.detail
        elif error is not None:
            correlation, app = new_correlation(), self.evaluation.app
            self._error = f"The evaluation failed. Reference: {correlation}."
            self._report(
                Diagnostic(
                    kind="evaluation failed",
                    correlation=correlation,
                    app=app,
                    cause=cause_of(error),
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
            **shown_score(each.score),
            "text": each.case.text,
            "runs": each.runs,
            "expectedRun": each.case.expected_run or None,
        }
        for each in found
    ]
    return {"passed": sum(each.score.verdict == "passed" for each in found), "cases": cases}


def shown_score(score: CaseScore) -> Json:
    """Return the scores of a case as they are answered."""
    shown: Json = msgspec.to_builtins(score)
    return shown
