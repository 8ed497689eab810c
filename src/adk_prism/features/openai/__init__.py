"""OpenAI's API: any client of Chat Completions or Responses talks to the apps as to models.

`GET /v1/models` lists the apps. `chat.py` and `responses.py` project runs, `requests.py` reads bodies,
`matching.py` finds the conversation of a client that sends its whole history and no id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from adk_prism.extension import Extension, Served
from adk_prism.options import FeatureSettings, choice

if TYPE_CHECKING:
    from adk_prism.server.context import Context


@dataclass(frozen=True, kw_only=True)
class OpenAiSettings(FeatureSettings):
    """How runs are shown to OpenAI's clients."""

    title: ClassVar[str] = "OpenAI's API"
    openai_tools: str = choice(Literal["tools", "answer"]).option(
        "what Chat Completions show besides the answer: the agents' own tool calls, as reasoning, or"
        " nothing",
        default="tools",
    )


def _serve(context: Context) -> Served:
    from adk_prism.features.openai import routes

    shown = context.settings.of(OpenAiSettings).openai_tools
    return Served(routers=[routes.router(context, shown)], upload_paths=routes.LARGE_BODIES)


EXTENSION = Extension(
    name="openai",
    summary="OpenAI's API: /v1/models, /v1/chat/completions, /v1/responses",
    requires=("usage",),
    serve=_serve,
    settings=lambda: OpenAiSettings,
)
