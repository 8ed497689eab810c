"""An app that misbehaves as its message says: *long 200* says words, anything else calls a tool of that name.

The model's turns follow from the conversation alone, so that any process goes on alike.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import AsyncGenerator
from typing import Any, NoReturn

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import BaseTool, ToolContext
from google.genai import types

PACE = float(os.environ.get("ADK_PRISM_OFFLINE_DELAY", "0.01"))
BLOCKED = float(os.environ.get("PRISM_TEST_BLOCKED", "3"))
"""Seconds that a synchronous tool holds its thread."""
FOREVER = 3600.0
AFTER = float(os.environ.get("PRISM_TEST_AFTER", "0"))
"""Seconds between an agent's answer and its end."""
BEGUN = os.path.join(os.environ.get("PRISM_TEST_FOLDER", ""), "begun.txt")
"""Gets the id of each call that a tool begins with, where the tests have a folder."""

_kept: list[object] = []
"""What a leaking tool leaves behind: nothing may collect it."""


class Panic(BaseException):
    """Not an `Exception`."""


def block() -> str:
    """Hold the thread for a while."""
    time.sleep(BLOCKED)
    return "unblocked"


def leave() -> NoReturn:
    """Do what argparse does with a wrong argument."""
    sys.exit(2)


async def leave_later() -> NoReturn:
    """The same, after the event loop had a turn."""
    await asyncio.sleep(0.01)
    raise SystemExit(2)


def panic() -> NoReturn:
    """Raise what no `except Exception` catches."""
    raise Panic("panic")


async def interrupt() -> NoReturn:
    """Raise a group that holds a keyboard interrupt."""
    raise BaseExceptionGroup("group", [KeyboardInterrupt(), ValueError("other")])


async def cancelled() -> NoReturn:
    """Raise a cancellation that nobody asked for."""
    raise asyncio.CancelledError


async def leak() -> str:
    """Leave a task behind that exits later, and a thread that never ends."""

    async def later() -> NoReturn:
        await asyncio.sleep(0.2)
        sys.exit(3)

    thread = threading.Thread(target=time.sleep, args=(FOREVER,), daemon=True)
    thread.start()
    _kept.extend([asyncio.create_task(later()), thread])
    return "leaked"


async def hang() -> NoReturn:
    """Swallow every cancellation, and never return."""
    while True:
        try:
            await asyncio.sleep(FOREVER)
        except asyncio.CancelledError:
            continue


async def note(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> None:
    """Write down which call begins."""
    del tool, args
    if os.path.dirname(BEGUN):
        with open(BEGUN, "a") as file:
            file.write(f"{tool_context.function_call_id}\n")


async def linger(callback_context: CallbackContext) -> None:
    """Take a while after the answer."""
    del callback_context
    await asyncio.sleep(AFTER)


TOOLS = [block, leave, leave_later, panic, interrupt, cancelled, leak, hang]


class Script(BaseLlm):
    """Says words, or calls the tool that the message names and then says what came of it."""

    model: str = "script"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        asked, *rest = next(part.text for part in parts if part.text).split()
        if asked != "long" and not any(part.function_response for part in parts):
            yield _whole(types.Part(function_call=types.FunctionCall(name=asked, args={})))
            return
        words = [f"word{at + 1} " for at in range(int(rest[0]) if rest else 20)]
        for word in words if stream else ():
            await asyncio.sleep(PACE)
            said = types.Content(role="model", parts=[types.Part(text=word)])
            yield LlmResponse(content=said, partial=True)
        yield _whole(types.Part(text="".join(words)))


def _whole(part: types.Part) -> LlmResponse:
    return LlmResponse(
        content=types.Content(role="model", parts=[part]), finish_reason=types.FinishReason.STOP
    )


app = App(
    name="hostile",
    root_agent=LlmAgent(
        name="hostile",
        model=Script(),
        tools=list(TOOLS),
        before_tool_callback=note,
        after_agent_callback=linger,
    ),
    resumability_config=ResumabilityConfig(is_resumable=True),
)
