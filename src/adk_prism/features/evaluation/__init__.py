"""Eval sets of ADK, made from recorded runs and run as recorded runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Command, Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.evaluation.eval_cases import EvalCases
    from adk_prism.features.evaluation.evaluations import Evaluator
    from adk_prism.features.evaluation.routes import EvalRoutes, routes

    cases, evaluator = EvalCases(context.log, context.chats), Evaluator(context)
    context.lifecycle.hold(evaluator.evaluating)
    eval_routes = EvalRoutes(context, evaluator, cases)
    return Served(routers=[routes(context, cases), eval_routes.router()])


EXTENSION = Extension(
    name="evaluation",
    summary="make eval sets from runs, and run them",
    requires=("captures", "compare", "model_calls", "page", "rerun", "usage"),
    commands=(
        Command(
            "eval-set",
            "write recorded runs as an eval set of ADK",
            "adk_prism.features.evaluation.eval_cases",
        ),
        Command(
            "eval",
            "run an eval set; fail in CI if a case fails",
            "adk_prism.features.evaluation.command",
        ),
        Command(
            "shrink",
            "find the smallest conversation that still fails",
            "adk_prism.features.evaluation.shrink_command",
        ),
    ),
    serve=_serve,
)
