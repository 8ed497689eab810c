"""What was sent to models and what they answered, with tokens, times and prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.adk.request import CallRecorder, Detail
    from adk_prism.errors import Report
    from adk_prism.features.model_calls.calls import ModelCalls
    from adk_prism.log.contract import RunLog
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.model_calls import routes

    calls = model_calls(context)
    return Served(routers=[routes.routes(calls, context.log)], describe_run=calls.usage)


def model_calls(context: Context) -> ModelCalls:
    """Return what reads the model calls of a server's runs, with the prices of its settings."""
    from adk_prism.features.model_calls.calls import ModelCalls
    from adk_prism.features.usage import UsageSettings

    return ModelCalls(context.log, context.settings.of(UsageSettings).read())


def _record(log: RunLog, detail: Detail, report: Report) -> CallRecorder:
    from adk_prism.features.model_calls.writer import ModelCallWriter

    return ModelCallWriter(log, detail, report)


EXTENSION = Extension(
    name="model_calls",
    summary="requests, responses, tokens and cost of model calls",
    requires=("usage",),
    serve=_serve,
    call_recorder=_record,
)
