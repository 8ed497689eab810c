"""An agent that keeps a diary: what its model is asked and which tools run, in files a test reads.

The first word of a prompt says what happens (`_script`). A word in brackets, `[gate]`, is said again
in the answer and holds the model there until somebody opens that gate (`open gate`), so that a test
decides how far a run is.
The app is not resumable: that is ADK's default, and its weaker half.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import FunctionTool, ToolContext

from adk_prism import client_tool
from adk_prism.models import Call, Say, ScriptedModel, Turn, read_conversation, say

GATES: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
_GATE = re.compile(r"\[(\w+)\]")


def _write(kind: str, session: str, entry: dict[str, Any]) -> None:
    with Path(f"{kind}-{session}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def note_request(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
    """Write down what the model is asked, and the state that its agent sees."""
    contents = [c.model_dump(mode="json", exclude_none=True) for c in llm_request.contents]
    state = callback_context.state.to_dict()
    _write("requests", callback_context.session.id, {"contents": contents, "state": state})


def count(tool_context: ToolContext) -> dict[str, int]:
    """Count one further, in the session's state."""
    _write("ran", tool_context.session.id, {"tool": "count"})
    number = tool_context.state.get("count", 0) + 1
    tool_context.state["count"] = number
    tool_context.state[f"seen_{number}"] = True
    return {"count": number}


def erase(name: str, tool_context: ToolContext) -> dict[str, str]:
    """Erase a page. A person has to approve it."""
    _write("ran", tool_context.session.id, {"tool": "erase", "name": name})
    return {"erased": name}


async def wait(gate: str) -> dict[str, str]:
    """Wait until a gate is opened."""
    await GATES[gate].wait()
    return {"passed": gate}


def open_gate(gate: str) -> dict[str, str]:
    """Open a gate."""
    GATES[gate].set()
    return {"opened": gate}


class DiaryModel(ScriptedModel):
    """A scripted model that stops at gates."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Play the script; after a word in brackets wait for that gate."""
        async for response in super().generate_content_async(llm_request, stream):
            yield response
            parts = response.content.parts if response.content else None
            for part in parts or [] if response.partial else []:
                if part.text and (found := _GATE.search(part.text)):
                    await GATES[found[1]].wait()


def _script(request: LlmRequest) -> Turn:
    conversation = read_conversation(request)
    words = conversation.prompt.split()
    gates = [word for word in words if _GATE.fullmatch(word)]
    word, *names = [word for word in words if word not in gates]
    if conversation.answers:
        told = sorted(f"{a.name} {json.dumps(dict(a.response))}" for a in conversation.answers)
        return say(" ".join(["Done:", *gates, "; ".join(told)]))
    calls = {
        "count": [Call("count")],
        "erase": [Call("erase", {"name": name}) for name in names],
        "locate": [Call("locate")],
        "batch": [Call("locate"), Call("erase", {"name": "page"}), Call("count")],
        "wait": [Call("wait", {"gate": name}) for name in names],
        "open": [Call("open_gate", {"gate": name}) for name in names],
    }
    if word in calls:
        return Turn((Say("I do it."), *calls[word]))
    return say(f"You said: {conversation.prompt}")


root_agent = LlmAgent(
    name="diary",
    model=DiaryModel(model="diary", script=_script),
    instruction="Count so far: {count?}.",
    before_model_callback=note_request,
    tools=[
        count,
        FunctionTool(erase, require_confirmation=True),
        wait,
        open_gate,
        client_tool("locate", "Ask the device."),
    ],
)
