"""Eval sets of the served apps: where they and their results are, and one evaluation after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from adk_prism.pipeline.evaluations import Began, EvaluatedCase, Evaluations
from adk_prism.pipeline.model_calls import ModelCalls
from adk_prism.server.context import Context
from adk_prism.source.bundled_apps import is_bundled
from adk_prism.source.evaluation.criteria import Criteria
from adk_prism.source.evaluation.evaluation import CaseScore, Evaluation

if TYPE_CHECKING:
    from google.adk.evaluation.eval_set import EvalSet

OWN_FOLDER = "evals"
"""In the data folder: sets and results of apps that have no folder of their own to write to."""


class Evaluator:
    """Evaluates the apps of one server."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._evaluations = Evaluations(
            context.apps, context.conversations, context.log, ModelCalls(context.log)
        )

    def folder(self, app: str) -> Path:
        """Return the folder in which ADK looks for `{app}/*.evalset.json`. Raise `NotFound`."""
        self._context.apps.check(app)
        found = self._context.apps.find(app)
        path = found.path if found is not None else None
        if path is None or not path.is_dir() or path.name != app or is_bundled(path):
            return Path(self._context.settings.data_dir) / OWN_FOLDER
        return path.parent

    async def run(
        self,
        app: str,
        eval_set: EvalSet,
        criteria: Criteria,
        cases: Sequence[str] = (),
        began: Began = lambda *_: None,
    ) -> dict[str, Any]:
        """Evaluate a set; return the results. Raise `PrismError` if it cannot be run."""
        evaluation = Evaluation(app, eval_set, criteria, cases)
        found = await self._evaluations.perform(evaluation, self.folder(app), began)
        return {
            "app": app,
            "evalSetId": evaluation.set_id,
            "cases": [shown_case(each) for each in found],
        }


def shown_case(evaluated: EvaluatedCase) -> dict[str, Any]:
    """Return a case as it is answered."""
    case = evaluated.case
    return {
        **shown_score(evaluated.score),
        "text": case.text,
        "runs": evaluated.runs,
        "expectedRun": case.expected_run or None,
    }


def shown_score(score: CaseScore) -> dict[str, Any]:
    """Return the scores of a case as they are answered."""
    shown: dict[str, Any] = msgspec.to_builtins(score)
    return shown
