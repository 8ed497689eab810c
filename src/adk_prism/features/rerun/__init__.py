"""A message answered again, with another model, instruction or code; tools answered from the recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Command, Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.rerun import reruns as rerun

    reruns = rerun.Reruns(context)
    idempotency = context.starter.idempotency
    return Served(
        routers=[rerun.routes(context.log, reruns, idempotency, context.audit, context.lifecycle)]
    )


EXTENSION = Extension(
    name="rerun",
    summary="run messages again with changes",
    requires=("captures", "compare", "forks", "model_calls", "page", "usage"),
    commands=(
        Command(
            "rerun",
            "run messages again with another model or instruction, tools answered from the recording",
            "adk_prism.features.rerun.command",
        ),
    ),
    serve=_serve,
)
