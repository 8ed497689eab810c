"""The recovery app: a coordinator, four specialists at once, follow-ups, one briefing with proof.

An ordinary ADK app. Without a key every model is scripted (`script/`): the script routes by words
and repeats what the tools computed. With a real model the same agents and tools run unchanged. The
data is the bundled scenario, or the folder that `ADK_PRISM_RECOVERY_DATA` names.

Imports are relative: ADK imports this folder as the package `recovery`, whatever folder it is in.
"""

from __future__ import annotations

from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.apps import App, ResumabilityConfig

from adk_prism.models import model_from_environment, offline_delay

from .agent_names import COORDINATOR
from .instructions import COORDINATOR_INSTRUCTION
from .library import Library, data_folder
from .script.coordinator import coordinator_script
from .specialist_proof import add_proof
from .specialists import offline, specialists
from .toolbox import CoordinatorTools

# A briefing has two thousand words, all specialists counted; at the tour's pace it would take long.
_PACE = 0.2


def recovery_app(delay: float, folder: Path | None = None) -> App:
    """Build the app on a folder of fires; `delay` is the seconds between two offline words."""
    library = Library(folder)
    tools = CoordinatorTools(library)
    root = LlmAgent(
        name=COORDINATOR,
        description="Coordinates recovery after a wildfire: severity, trails, timber, NEPA.",
        instruction=COORDINATOR_INSTRUCTION,
        model=model_from_environment(offline(coordinator_script, delay)),
        tools=[tools.find_fire, tools.compose_briefing],
        sub_agents=[*specialists(library, delay)],
        after_tool_callback=add_proof,
    )
    # So that a run whose process died can go on.
    resumable = ResumabilityConfig(is_resumable=True)
    return App(name="recovery", root_agent=root, resumability_config=resumable)


app = recovery_app(_PACE * offline_delay(), data_folder())
