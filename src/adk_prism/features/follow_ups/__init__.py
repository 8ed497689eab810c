"""After a finished answer: what the person may want to say next, and a title for the conversation.

Both come from a function of the app, or from its own model where the operator or the app asks for that.
`sources.py` asks them, `follow_ups.py` decides when, keeps what they say and gives it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from adk_prism.extension import Extension, Served
from adk_prism.options import FeatureSettings, choice

if TYPE_CHECKING:
    from adk_prism.server.context import Context


@dataclass(frozen=True, kw_only=True)
class FollowUpSettings(FeatureSettings):
    """Who suggests what to say next."""

    title: ClassVar[str] = "Follow-ups"
    follow_ups: str = choice(Literal["off", "model"]).option(
        "suggestions for the next message, and titles of conversations: `model` asks the model of each app's"
        " root agent for them, one more request for each answer; `off` makes none, whatever apps declare"
        " (default: only for apps that declare `follow_ups`)"
    )


def _serve(context: Context) -> Served:
    from adk_prism.features.follow_ups.copilotkit import copilotkit_routes
    from adk_prism.features.follow_ups.follow_ups import FollowUpMaker, routes

    made = FollowUpMaker(context, context.settings.of(FollowUpSettings).follow_ups)
    context.lifecycle.hold(made.opened)
    context.lifecycle.on_drain(made.drain)
    routers = [routes(context, made)]
    if "copilotkit" not in context.settings.without:
        routers.append(copilotkit_routes(context, made))
    return Served(routers=routers, observer=made)


EXTENSION = Extension(
    name="follow_ups",
    summary="suggestions for the next message, and titles of conversations (--follow-ups)",
    requires=("conversations", "forks"),
    serve=_serve,
    settings=lambda: FollowUpSettings,
)
