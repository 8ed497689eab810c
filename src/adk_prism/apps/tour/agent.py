"""The tour's agent: one root that can show everything, each thing on one prompt.

Without a key the models are scripted (`script.py`), and every prompt of `scenarios.py` shows what
it says, always in the same way. With a real model set, the same tools, sub-agents and workflows are
there, and the instruction tells the model which prompt is for which; what only a model itself can
produce (an image, a filter, a quota error) then depends on the model.

The root is an `LlmAgent`, not a workflow: approvals, transfer, client tools and rewinds then work
as in any chat, and the workflows are among its tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.adk.agents import LlmAgent
from google.adk.agents.context_cache_config import ContextCacheConfig
from google.adk.apps import App, ResumabilityConfig

from adk_prism.models import model_from_environment, offline_delay

from .scenarios import asks_for_suggestions, help_text, tour_script
from .specialists import book_table, look_up, plan_trip, scripted, sub_agents, translator_tool
from .tools import tour_tools

if TYPE_CHECKING:
    from adk_prism import FollowUpRequest

_INSTRUCTION = """\
You lead a tour through what an agent can do. The person names one thing to see; show it with the
tool, sub-agent or workflow made for it, with made-up arguments, and then say in one sentence what
happened. Call several tools in one turn when the list says "at once" or "in one batch". The things:

"""


def tour_app(delay: float) -> App:
    """Build the tour; `delay` is the time between two words of the offline model, in seconds."""
    root = LlmAgent(
        name="tour",
        description="Shows what an ADK run can contain, one prompt at a time.",
        instruction=_INSTRUCTION + help_text(),
        model=model_from_environment(scripted(tour_script, delay)),
        tools=[*tour_tools(), translator_tool(delay), *_workflow_tools(delay)],
        sub_agents=[*sub_agents(delay)],
    )
    # Without it ADK 2.13 calls the model after the first of several answers (two approvals, or a
    # client tool beside an approval), and a run whose process died could not go on.
    resumable = ResumabilityConfig(is_resumable=True)
    # Offline it changes nothing; with Gemini, each agent keeps its own cached prefix over transfers.
    cached = ContextCacheConfig()
    return App(
        name="tour", root_agent=root, resumability_config=resumable, context_cache_config=cached
    )


def _workflow_tools(delay: float) -> list[Any]:
    # Any: ADK wraps a workflow that it finds among the tools, but the field's type does not say so.
    return [plan_trip(delay), book_table(), look_up()]


app = tour_app(offline_delay())


def follow_ups(request: FollowUpRequest) -> dict[str, Any] | None:
    """Suggest what to say next, and name the conversation: scripted, after one prompt."""
    if not asks_for_suggestions(request.question):
        return None
    return {"suggestions": ["tool", "approval", "What can you show me? help"], "title": "A tour"}
