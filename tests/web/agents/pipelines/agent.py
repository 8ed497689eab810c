"""Two sequences side by side: in each, one agent speaks after the other."""

from __future__ import annotations

from google.adk.agents import LlmAgent, ParallelAgent, SequentialAgent

from adk_prism.models import ScriptedModel, say


def _speaker(name: str) -> LlmAgent:
    model = ScriptedModel(model="pipelines-offline", script=lambda _: say(f"This is {name}."))
    return LlmAgent(name=name, model=model)


def _sequence(name: str, *speakers: str) -> SequentialAgent:
    return SequentialAgent(name=name, sub_agents=[_speaker(one) for one in speakers])


root_agent = ParallelAgent(
    name="pipelines",
    sub_agents=[
        _sequence("left", "left_draft", "left_review"),
        _sequence("right", "right_draft", "right_review"),
    ],
)
