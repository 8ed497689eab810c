"""The root agent's script: it plays the scenario that the latest prompt names."""

from __future__ import annotations

from google.adk.models.llm_request import LlmRequest

from adk_prism.models import Turn, read_conversation, say

from .scenario_input import ScenarioInput
from .scenarios import choose


def tour_script(request: LlmRequest) -> Turn:
    """Return what the root agent says to this request."""
    conversation = read_conversation(request)
    scenario = choose(conversation.prompt)
    if scenario is not None:
        return scenario.act(ScenarioInput(conversation))
    return say("Hello! I am the tour, and I know my prompts only. Say `help` to see them.")
