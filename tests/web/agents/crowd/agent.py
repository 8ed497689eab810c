"""An agent that does much: two hundred calls one after the other, sub-agents four levels deep, slow tools."""

from __future__ import annotations

import asyncio
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools import ToolContext

from adk_prism import report_progress
from adk_prism.models import Call, Script, ScriptedModel, Turn, read_conversation, say

CALLS = 200
AT_ONCE = 20


def look_up(number: int) -> dict[str, Any]:
    """Look up a number."""
    return {"number": number, "square": number * number}


async def index_papers(tool_context: ToolContext) -> dict[str, Any]:
    """Index papers, and say how far it is, until somebody stops it."""
    for number in range(1, 5):
        report_progress(tool_context, number, 5, f"Reading paper {number}")
        await asyncio.sleep(0.3)
    await asyncio.sleep(60)
    return {"papers": 5}


def _script(request: LlmRequest) -> Turn:
    conversation = read_conversation(request)
    if "index" in conversation.prompt:
        return Turn((Call("index_papers", {}),))
    if "deep" in conversation.prompt:
        found = conversation.answer("level_1")
        return Turn((Call("level_1", {"request": "go"}),)) if found is None else say("All the way.")
    done = len(conversation.answers)
    if done < CALLS:
        calls = tuple(Call("look_up", {"number": done + one}) for one in range(AT_ONCE))
        return Turn(calls)
    return say(f"Looked up {done} numbers.")


def _level(number: int) -> LlmAgent:
    below = f"level_{number + 1}"

    def script(request: LlmRequest) -> Turn:
        conversation = read_conversation(request)
        if number == LEVELS:
            found = conversation.answer("look_up")
            call = Call("look_up", {"number": number})
        else:
            found = conversation.answer(below)
            call = Call(below, {"request": "go"})
        return Turn((call,)) if found is None else say(f"Level {number} is done.")

    inner = [_level(number + 1)] if number < LEVELS else []
    tools = [look_up] if number == LEVELS else []
    name = f"level_{number}"
    return LlmAgent(
        name=name, mode="single_turn", model=_model(script), tools=tools, sub_agents=inner
    )


LEVELS = 4


def _model(script: Script) -> ScriptedModel:
    return ScriptedModel(model="crowd-offline", script=script)


root_agent = LlmAgent(
    name="crowd", model=_model(_script), tools=[look_up, index_papers], sub_agents=[_level(1)]
)
