"""The agents that help the root agent. Each has a small script of its own for the offline model.

Sub-agents in `single_turn` mode run as tools of the root and their words are streamed; the
translator is an `AgentTool`, whose words are not; the guide takes the conversation over.
"""

from __future__ import annotations

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools import FunctionTool
from google.adk.tools.agent_tool import AgentTool

from adk_prism.models import (
    Call,
    Say,
    Script,
    ScriptedModel,
    Turn,
    model_from_environment,
    read_conversation,
    say,
)

from .tools import get_weather, issue_refund

GUIDE = "guide"
CLERK = "clerk"
TRANSLATOR = "translator"
TRIP_SPECIALISTS = ("weather_specialist", "food_specialist", "budget_specialist")


def sub_agents(delay: float) -> list[LlmAgent]:
    """Return the root's sub-agents, new ones on every call."""
    return [_guide(delay), _clerk(delay), *_trip_specialists(delay)]


def translator_tool(delay: float) -> AgentTool:
    """Return the translator as a tool."""
    translator = LlmAgent(
        name=TRANSLATOR,
        description="Translates a short text into Portuguese.",
        instruction="Translate the request into Portuguese. Answer with the translation only.",
        model=model_from_environment(saying("Bom dia (synthetic)", delay)),
    )
    return AgentTool(translator)


def saying(text: str, delay: float) -> ScriptedModel:
    """Return an offline model that always says the same."""
    return scripted(lambda request: say(text), delay)


def scripted(script: Script, delay: float) -> ScriptedModel:
    """Return an offline model of the tour."""
    return ScriptedModel(model="tour-offline", script=script, delay=delay)


def _guide(delay: float) -> LlmAgent:
    words = "Hello, I am the guide. Your next message goes back to the tour."
    return LlmAgent(
        name=GUIDE,
        description="Greets the person when the conversation is handed over.",
        instruction="Greet the person in one sentence.",
        model=model_from_environment(saying(words, delay)),
        # An agent that may not hand back does not keep the conversation: ADK gives the next message
        # to the root, so that every prompt of the tour works at any time.
        disallow_transfer_to_parent=True,
        disallow_transfer_to_peers=True,
    )


def _clerk(delay: float) -> LlmAgent:
    return LlmAgent(
        name=CLERK,
        mode="single_turn",
        description="Pays money back; each refund has to be approved.",
        instruction="Issue the refund that was asked for, then say what happened.",
        model=model_from_environment(scripted(_clerk_script, delay)),
        tools=[FunctionTool(issue_refund, require_confirmation=True)],
    )


def _clerk_script(request: LlmRequest) -> Turn:
    answer = read_conversation(request).answer("issue_refund")
    if answer is None:
        return Turn(
            (Say("I prepare the refund."), Call("issue_refund", {"order": 7, "amount": 19.9}))
        )
    return say("The refund was not approved." if "error" in answer else "The refund is paid.")


def _trip_specialists(delay: float) -> list[LlmAgent]:
    scripts: tuple[Script, ...] = (
        _weather_script,
        lambda request: say("Try the small places by the river, early in the evening (synthetic)."),
        lambda request: say(
            "Two hundred euros are enough for two days, with the train (synthetic)."
        ),
    )
    topics = ("the weather", "food", "money")
    return [
        LlmAgent(
            name=name,
            mode="single_turn",
            description=f"Knows about {topic} on a trip.",
            instruction=f"Say in two sentences what matters about {topic}.",
            model=model_from_environment(scripted(script, delay)),
            tools=[get_weather] if topic == "the weather" else [],
        )
        for name, topic, script in zip(TRIP_SPECIALISTS, topics, scripts, strict=True)
    ]


def _weather_script(request: LlmRequest) -> Turn:
    if read_conversation(request).answer("get_weather") is None:
        return Turn((Say("I look first."), Call("get_weather", {"city": "Porto"})))
    return say("Take a light coat, for the evenings are cool (synthetic).")
