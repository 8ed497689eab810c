"""Runs whose process dies in the middle, and that another one goes on with.

The process is played: what it had is dropped without a word, and the takeover is the server's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools import ToolContext
from tests.recordings.shapes import Takes, agent, app_of, calling

from adk_prism.models import Call, Pause, Say, Think, Turn, say

if TYPE_CHECKING:
    from tests.recordings.record import RecordingStage

MakeStage = Callable[..., "RecordingStage"]


def _cut(first: Turn, again: Turn) -> Callable[[LlmRequest], Turn]:
    """Return the script that says one thing at first, and another when it is asked again."""
    turns = [first, again]
    return lambda _: turns.pop(0)


async def text(stage: MakeStage) -> Takes:
    """The model says the same again, and goes on."""
    first = Turn((Think("Let me see. "), Say("Once upon a "), Pause(60), Say("time.")))
    again = Turn((Think("Let me see. "), Say("Once upon a time there was an end.")))
    staged = stage(app_of(agent("teller", _cut(first, again)), resumable=True))
    return {"": await staged.die_at("tell me", '{"text":"a "}')}


async def other_text(stage: MakeStage) -> Takes:
    """The model says something else the second time."""
    first = Turn((Say("Once upon a "), Pause(60), Say("time.")))
    again = say("There is nothing to tell.")
    staged = stage(app_of(agent("teller", _cut(first, again)), resumable=True))
    return {"": await staged.die_at("tell me", '{"text":"a "}')}


async def tool(stage: MakeStage) -> Takes:
    """A call is under way: it is in doubt, and run again."""
    attempts: list[str] = []

    async def pay(tool_context: ToolContext) -> dict[str, int]:
        """Pay."""
        attempts.append(tool_context.function_call_id or "")
        if len(attempts) == 1:
            await asyncio.sleep(60)
        return {"attempts": len(attempts)}

    root = agent("clerk", calling(Call("pay"), then="Paid."), tools=[pay])
    staged = stage(app_of(root, resumable=True))
    return {"": await staged.die_at("pay", '"kind":"tool"')}


async def children(stage: MakeStage) -> Takes:
    """A specialist has answered, its sister has not: both run again."""
    slow = [Turn((Say("I think "), Pause(60), Say("so."))), say("I think so too.")]
    yes = agent("yes", "Yes.", mode="single_turn", description="Says yes.")
    also = LlmAgent(
        name="also",
        model=agent("model", lambda _: slow.pop(0)).model,
        mode="single_turn",
        description="Agrees.",
    )
    script = calling(
        Call("yes", {"request": "?"}), Call("also", {"request": "?"}), then="Both agree."
    )
    staged = stage(app_of(agent("chair", script, sub_agents=[yes, also]), resumable=True))
    return {"": await staged.die_at("vote", '{"text":"think "}')}


TAKEOVER_SHAPES = {
    "x_takeover_text": text,
    "x_takeover_other_text": other_text,
    "x_takeover_tool": tool,
    "x_takeover_children": children,
}
