"""Whether an answer was good, as its reader says: kept with the run, and found by search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.feedback import feedback
    from adk_prism.features.feedback.feedback import Feedbacks

    feedbacks = Feedbacks(context.log, context.recording.observers.changed)
    return Served(routers=[feedback.routes(context.apps, context.log, context.chats, feedbacks)])


EXTENSION = Extension(
    name="feedback", summary="thumbs up and down with comments", requires=("search",), serve=_serve
)
