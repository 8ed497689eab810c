"""The four specialists: sub-agents in `single_turn` mode, so that they run at once and stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.adk.agents import LlmAgent

from adk_prism.models import Script, ScriptedModel, model_from_environment

from .agent_names import BURN_ANALYST, CRUISING_ASSISTANT, NEPA_ADVISOR, SPECIALISTS, TRAIL_ASSESSOR
from .instructions import DESCRIPTIONS, SPECIALIST_INSTRUCTIONS
from .library import Library
from .script.specialist import specialist_script
from .toolbox import BurnTools, CruisingTools, NepaTools, TrailTools

Tool = Callable[..., dict[str, Any]]


def specialists(library: Library, delay: float) -> list[LlmAgent]:
    """Return the specialists, new ones on every call."""
    tools = _tools(library)
    return [
        LlmAgent(
            name=name,
            mode="single_turn",
            description=DESCRIPTIONS[name],
            instruction=SPECIALIST_INSTRUCTIONS[name],
            model=model_from_environment(offline(specialist_script(name), delay)),
            tools=[*tools[name]],
            # A specialist answers; a real model would otherwise be offered to hand over instead.
            disallow_transfer_to_parent=True,
            disallow_transfer_to_peers=True,
        )
        for name in SPECIALISTS
    ]


def offline(script: Script, delay: float) -> ScriptedModel:
    """Return an offline model of this app."""
    return ScriptedModel(model="recovery-offline", script=script, delay=delay)


def _tools(library: Library) -> dict[str, list[Tool]]:
    burn, trail = BurnTools(library), TrailTools(library)
    cruising, nepa = CruisingTools(library), NepaTools(library)
    return {
        BURN_ANALYST: [
            burn.assess_severity,
            burn.examine_sector,
            burn.check_boundary,
            burn.baer_clock,
        ],
        TRAIL_ASSESSOR: [trail.classify_damage, trail.evaluate_closures, trail.rank_trails],
        CRUISING_ASSISTANT: [cruising.cruise_statistics, cruising.assess_salvage],
        NEPA_ADVISOR: [nepa.screen_nepa, nepa.check_citation],
    }
