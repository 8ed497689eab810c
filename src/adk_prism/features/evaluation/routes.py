"""Eval sets of an app: list them, add runs to them, run them, and see the results over time.

For administrators where callers are known: sets are files beside the app's code, and a case names its user.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query, Response
from fastapi import Path as PathParameter
from google.genai.types import Content
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from adk_prism.errors import Conflict, NotFound, UsageError
from adk_prism.features.evaluation import criteria as eval_sets
from adk_prism.features.evaluation import evaluation as evaluating
from adk_prism.features.evaluation.eval_cases import EvalCases
from adk_prism.features.evaluation.evaluations import Evaluator
from adk_prism.features.evaluation.stored_trials import stored_trials
from adk_prism.log.entry import RunId
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import Guest
from adk_prism.server.identity.identity import Administrator, CallerOf, Run
from adk_prism.server.request_bodies import AppName, StrictRoute

SetId = Annotated[str, PathParameter(pattern=r"^[A-Za-z0-9_]{1,100}$")]
"""The id of a set in a path: ADK's rule for new ones, so that it is a file's name and nothing else."""
SetName = Annotated[str, Query(pattern=r"^[^/\\\x00]{0,200}$")]
"""The name of a set's file, whoever made it."""
RunOfCase = Annotated[str, Query(pattern=r"^[A-Za-z0-9_-]{1,640}$")]

MOST_SETS = 200
"""Files that are listed for an app."""
MOST_ROWS, MOST_COLUMNS = 200, 8
"""Of a grid: cases, and the newest evaluations."""

Json = dict[str, Any]


class AddRun(BaseModel):
    """A run that becomes a case."""

    run: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,640}$")]


class Evaluate(BaseModel):
    """What is to be evaluated: a set of the app, by its name, or a set that comes with the request."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    set: Annotated[str, Field(pattern=r"^[^/\\\x00]{0,200}$")] = ""
    eval_set: dict[str, Any] | list[Any] | None = Field(
        default=None, description="An eval set of ADK, as in its files."
    )
    config: dict[str, Any] | None = Field(
        default=None, description="Criteria, as in ADK's `test_config.json`."
    )
    cases: list[str] = Field(default=[], description="Ids of the cases to run; none: all.")
    answers: Literal["none", "recorded"] = Field(
        default="none",
        description="`recorded`: approvals and results of client tools are given again, so that tools run.",
    )


class EvalRoutes:
    """The routes of eval sets."""

    def __init__(self, context: Context, evaluator: Evaluator, cases: EvalCases) -> None:
        self._context = context
        self._evaluator = evaluator
        self._cases = cases

    def router(self) -> APIRouter:
        """Return the router of eval sets."""
        router = APIRouter(
            prefix="/api/evals",
            route_class=StrictRoute,
            tags=["evaluation"],
            dependencies=[Administrator],
        )
        router.get("/{app_name}")(self.list_sets)
        router.post("/{app_name}", status_code=202)(self.evaluate)
        router.get("/{app_name}/check")(self.check_run)
        router.get("/{app_name}/grid")(self.grid)
        router.get("/{app_name}/evaluations/{evaluation}")(self.evaluation)
        router.get("/{app_name}/results/{result}")(self.result)
        router.post("/{app_name}/sets/{set_id}/cases")(self.add_case)
        return router

    async def list_sets(self, app_name: AppName) -> Json:
        """Return the app's eval sets with their cases, the stored results and what is being evaluated."""
        folder = self._evaluator.folder(app_name)
        sets = await asyncio.to_thread(_sets, folder / app_name)
        results = await asyncio.to_thread(evaluating.stored_results, folder, app_name)
        running = [job.shown() for job in self._evaluator.jobs(app_name)]
        return {
            "sets": sets,
            "results": [_summary(each) for each in results],
            "evaluations": running,
        }

    async def evaluate(self, app_name: AppName, asked: Evaluate) -> Json:
        """Begin to evaluate a set of the app, or one that is sent; `evaluations/{id}` tells how it goes."""
        self._context.lifecycle.check_open()
        folder = self._evaluator.folder(app_name) / app_name
        evaluation = await asyncio.to_thread(_evaluation, app_name, folder, asked)
        await self._context.apps.open(app_name)
        return self._evaluator.start(evaluation).shown()

    async def evaluation(self, app_name: AppName, evaluation: str) -> Json:
        """Return how an evaluation goes: the runs of its cases, and at its end the scores."""
        self._context.apps.check(app_name)
        return self._evaluator.job(app_name, evaluation).shown()

    async def result(self, app_name: AppName, result: str) -> Json:
        """Return a stored result, with the runs of its cases as far as the log has them."""
        folder = self._evaluator.folder(app_name)
        stored = await asyncio.to_thread(evaluating.stored_results, folder, app_name)
        found = next((each for each in stored if each.id == result), None)
        if found is None:
            raise NotFound("There is no such result.")
        known = await asyncio.to_thread(_cases, folder / app_name, found.eval_set_id)
        shown = []
        for score in found.cases:
            runs = await self._context.log.list(
                app=app_name, user=score.user, session=score.session
            )
            case = known.get(score.id)
            about = {
                "text": case.text if case is not None else "",
                "runs": [each.run for each in runs],
                "expectedRun": (case.expected_run or None) if case is not None else None,
            }
            shown.append(msgspec.to_builtins(score) | about)
        return _summary(found) | {"cases": shown}

    async def check_run(self, app_name: AppName, run: RunOfCase, set: SetName = "") -> Json:
        """Return what the conversation up to a run would be as a case, and what it lacks to be evaluated.

        `problem`: it cannot be a case. `missing`: it can, but some metrics will say nothing, or cannot be
        computed on this server. `set` is the set that it would be added to, which need not be there.
        """
        path = self._evaluator.folder(app_name) / app_name / f"{set or 'new'}{eval_sets.SUFFIX}"
        if (await self._context.log.summary(RunId(run))).origin.app != app_name:
            raise Conflict("The run is of another app.")
        try:
            case = eval_sets.parse_case(await self._cases.of(RunId(run)))
        except Conflict as error:
            return {"messages": 0, "problem": error.detail, "missing": []}

        def missing() -> list[str]:
            metrics = eval_sets.metrics_of(path)
            return [*eval_sets.missing_of_case(case, metrics), *eval_sets.missing_of_set(metrics)]

        said = [_said(each.user_content) for each in case.conversation or []]
        return {"messages": len(said), "text": said[0] if said else ""} | {
            "missing": await asyncio.to_thread(missing)
        }

    async def grid(self, app_name: AppName, set: SetName) -> Json:
        """Return the cases of a set, each with its scores in the newest evaluations, the newest first.

        A cell has the last run of its case, as far as the log has it. Of the set: its newest trials, and what
        its metrics lack.
        """
        folder = self._evaluator.folder(app_name)
        path = folder / app_name / f"{set}{eval_sets.SUFFIX}"

        def read() -> tuple[str, list[Json], eval_sets.Metrics]:
            if not path.is_file():
                raise NotFound(f"The app has no eval set {set[:60]!r}.")
            found, metrics = eval_sets.read_eval_set(path), eval_sets.metrics_of(path)
            cases = [
                _shown_case(case) | {"missing": eval_sets.missing_of_case(whole, metrics)}
                for case, whole in zip(
                    evaluating.cases_of(found)[:MOST_ROWS], found.eval_cases, strict=False
                )
            ]
            return found.eval_set_id, cases, metrics

        set_id, cases, metrics = await asyncio.to_thread(read)
        stored = await asyncio.to_thread(evaluating.stored_results, folder, app_name)
        tried = await asyncio.to_thread(stored_trials, folder, app_name, set_id)
        results = [each for each in stored if each.eval_set_id == set_id][:MOST_COLUMNS]
        rows = {case["id"]: case | {"cells": {}} for case in cases}
        for result in results:
            for score in result.cases:
                if score.id in rows:
                    cell = await self._cell(app_name, score)
                    rows[score.id]["cells"][result.id] = cell
        return {
            "results": [_summary(each) for each in results],
            "cases": list(rows.values()),
            "trials": msgspec.to_builtins(tried),
            "missing": eval_sets.missing_of_set(metrics),
            "canEvaluate": not metrics.problem,
        }

    async def _cell(self, app: str, score: evaluating.CaseScore) -> Json:
        runs = await self._context.log.list(app=app, user=score.user, session=score.session)
        return {
            "verdict": score.verdict,
            "error": score.error,
            "metrics": msgspec.to_builtins(score.metrics),
            "run": runs[-1].run if runs else None,
        }

    async def add_case(self, app_name: AppName, set_id: SetId, asked: AddRun) -> Json:
        """Add the conversation up to a run to a set; begin the set if there is none."""
        folder = self._evaluator.folder(app_name) / app_name
        run = RunId(asked.run)
        if (await self._context.log.summary(run)).origin.app != app_name:
            raise Conflict("The run is of another app.")
        case = await self._cases.of(run)

        def add() -> list[str]:
            folder.mkdir(parents=True, exist_ok=True)
            written = [eval_sets.case_as_written(case)]
            return eval_sets.add_cases(
                folder / f"{set_id}{eval_sets.SUFFIX}", written, set_id, now=time.time()
            )

        added = await asyncio.to_thread(add)
        return {"evalSetId": set_id, "case": case["evalId"], "added": bool(added)}


def _sets(folder: Path) -> list[Json]:
    """Return the sets of an app, also those that cannot be read, with the reason."""
    found = []
    for path in sorted(folder.glob(f"*{eval_sets.SUFFIX}"))[:MOST_SETS]:
        shown: Json = {"id": path.name.removesuffix(eval_sets.SUFFIX), "cases": []}
        try:
            cases = evaluating.cases_of(eval_sets.read_eval_set(path))
            shown["cases"] = [_shown_case(case) for case in cases]
        except UsageError as error:
            shown["problem"] = error.detail
        found.append(shown)
    return found


def _shown_case(case: evaluating.Case) -> Json:
    return {
        "id": case.id,
        "text": case.text[:200],
        "messages": case.messages,
        "expectedRun": case.expected_run or None,
    }


def _said(content: Content) -> str:
    return " ".join(part.text for part in content.parts or [] if part.text)[:200]


def _cases(folder: Path, set_id: str) -> dict[str, evaluating.Case]:
    """Return the cases of a set, if it is still there."""
    for path in sorted(folder.glob(f"*{eval_sets.SUFFIX}"))[:MOST_SETS]:
        try:
            found = eval_sets.read_eval_set(path)
        except UsageError:
            continue
        if found.eval_set_id == set_id:
            return {case.id: case for case in evaluating.cases_of(found)}
    return {}


def _evaluation(app: str, folder: Path, asked: Evaluate) -> evaluating.Evaluation:
    """Read what is asked for; in a thread, since ADK's evaluators take seconds to import."""
    path = folder / f"{asked.set}{eval_sets.SUFFIX}"
    if asked.eval_set is not None:
        content = msgspec.json.encode(asked.eval_set)
        eval_set = eval_sets.parse_eval_set(content, asked.set or "sent", "The eval set")
    elif asked.set and path.is_file():
        eval_set = eval_sets.read_eval_set(path)
    else:
        raise NotFound(f"The app has no eval set {asked.set[:60]!r}.")
    if asked.eval_set is not None or asked.config is not None:
        criteria = _sent_criteria(asked)
    else:
        criteria = eval_sets.read_criteria(eval_sets.config_beside(path))
    answers = asked.answers == "recorded"
    return evaluating.Evaluation(app, eval_set, criteria, asked.cases, answers=answers)


def _sent_criteria(asked: Evaluate) -> eval_sets.Criteria:
    if asked.config is None:
        return eval_sets.criteria_of(None)
    if {"custom_metrics", "customMetrics"} & asked.config.keys():
        raise UsageError("A request cannot bring metrics of its own: they are code. Use a file.")
    return eval_sets.criteria_of(msgspec.json.encode(asked.config))


def _summary(result: evaluating.StoredResult) -> Json:
    return {
        "id": result.id,
        "evalSetId": result.eval_set_id,
        "time": result.time,
        "passed": sum(case.verdict == "passed" for case in result.cases),
        "count": len(result.cases),
    }


# ---------------------------------------------------------------------------
# `GET /api/runs/{run}/evalcase`: a run, with the conversation before it, as an eval case of ADK.


def routes(context: Context, cases: EvalCases) -> APIRouter:
    """Return the router of eval cases."""
    router = APIRouter(prefix="/api/runs", tags=["runs"])

    @router.get("/{run}/evalcase", response_class=Response)
    async def evalcase(caller: CallerOf, run: Run) -> Response:
        """Return the conversation up to this run as `EvalCase` of ADK, without messages that were replaced.

        A run that failed, waits, or has not ended is refused: it has no answer to expect.
        """
        if isinstance(caller, Guest):
            raise NotFound("A share link shows one run, not its conversation.")
        size = (await context.log.summary(run)).bytes
        async with context.limits.heavy.slot(caller, size):
            case = await cases.of(run)
            body = await asyncio.to_thread(msgspec.json.encode, case)
        return Response(body, media_type="application/json")

    return router
