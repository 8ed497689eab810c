"""An app whose tools leave traces in a folder: who did what, and how often.

The model's turns follow from the conversation alone, so that any process goes on alike. The message says what
is done: *pay 3* calls a tool with an idempotency key three times, *stamp 3* one without; *dying* makes the
process die in the tool: in the first call before the effect, in the second after it, and after the third
when the model is asked again.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import ToolContext
from google.genai import types

from adk_prism import idempotency_key, idempotent

FOLDER = Path(os.environ["PRISM_TEST_FOLDER"])
WORK = 0.15
"""Seconds that a tool takes after its effect."""


def die_once(point: str) -> None:
    """Kill this process, the first time that it comes here in all processes."""
    mark = FOLDER / f"died-{point}"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def trace(kind: str, name: str) -> None:
    """Note a call of a tool."""
    with (FOLDER / "calls").open("a") as file:
        file.write(f"{kind} {name} {os.getpid()} {time.monotonic()}\n")


@idempotent
async def pay(number: int, dying: bool, tool_context: ToolContext) -> dict[str, Any]:
    """Pay once for each key."""
    key = idempotency_key(tool_context)
    trace("pay", str(number))
    if dying and number == 1:
        die_once("before")
    (FOLDER / f"paid-{hashlib.sha256(key.encode()).hexdigest()[:16]}").touch()
    if dying and number == 2:
        die_once("after")
    await asyncio.sleep(WORK)
    return {"paid": number}


async def stamp(number: int, dying: bool, held: bool = False) -> dict[str, Any]:
    """Stamp, each time anew."""
    trace("stamp", str(number))
    while held:
        held = not (FOLDER / f"go-{number}").exists()
        await asyncio.sleep(0.01)  # between two looks at what the test says
    if dying:
        die_once(f"stamp-{number}")
    await asyncio.sleep(WORK)
    return {"stamped": number}


class Steps(BaseLlm):
    """Calls the tool that the message names, as often as it says, and then says so."""

    model: str = "steps"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        del stream  # whole turns are enough
        parts = [part for content in llm_request.contents for part in content.parts or []]
        asked = next(part.text for part in parts if part.text).split()
        tool, times, dying = asked[0], int(asked[1]), "dying" in asked
        held = asked[asked.index("held") :] if "held" in asked else []
        done = sum(part.function_response is not None for part in parts)
        if dying and tool == "pay" and done == times:
            die_once("answered")
        if done < times:
            args: dict[str, Any] = {"number": done + 1, "dying": dying}
            if str(done + 1) in held:
                args["held"] = True
            call = types.FunctionCall(name=tool, args=args)
            said = types.Part(function_call=call)
        else:
            said = types.Part(text=f"Done {done} times.")
        yield LlmResponse(
            content=types.Content(role="model", parts=[said]),
            finish_reason=types.FinishReason.STOP,
        )


app = App(
    name="counting",
    root_agent=LlmAgent(name="counting", model=Steps(), tools=[pay, stamp]),
    resumability_config=ResumabilityConfig(is_resumable=True),
)
