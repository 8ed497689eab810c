"""Eval sets of ADK, made from recorded runs and run as recorded runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from adk_prism.extension import Command, Extension, Served

if TYPE_CHECKING:
    from adk_prism.features.evaluation.evaluations import Evaluator
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.evaluation import routes as eval_cases
    from adk_prism.features.evaluation import routes as evals
    from adk_prism.features.evaluation.eval_cases import EvalCases

    apps, log, lifecycle = context.apps, context.log, context.lifecycle
    cases, evaluator = EvalCases(log, context.chats), make_evaluator(context)
    lifecycle.hold(evaluator.evaluating)
    return Served(
        routers=[
            eval_cases.routes(log, cases, context.limits.heavy),
            evals.EvalRoutes(evaluator, cases, apps, log, lifecycle).router(),
        ]
    )


def make_evaluator(context: Context) -> Evaluator:
    """Return what evaluates the apps of a server."""
    from adk_prism.features.evaluation.evaluations import Evaluator

    data = Path(context.settings.data_dir).absolute()
    return Evaluator(
        context.apps, context.conversations, context.log, context.chats, data, context.report
    )


EXTENSION = Extension(
    name="evaluation",
    summary="make eval sets from runs, and run them",
    requires=("captures", "model_calls"),
    commands=(
        Command(
            "eval-set",
            "write recorded runs as an eval set of ADK",
            "adk_prism.features.evaluation.set_command",
        ),
        Command(
            "eval",
            "run an eval set; fail in CI if a case fails",
            "adk_prism.features.evaluation.command",
        ),
    ),
    serve=_serve,
)
