"""Runs of other agents than the tour's: the shapes of events that a reader has to know too.

Each function plays one small app and returns its runs by the suffix of their file. All models are
scripted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from google.adk.agents import Context, LlmAgent
from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App, ResumabilityConfig
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import FunctionTool, ToolContext
from google.adk.workflow import BaseNode
from google.genai import types
from pydantic import BaseModel
from tests.answers import decisions
from tests.app_runner import AppRun, AppRunner

from adk_prism.models import (
    Call,
    Fail,
    Pause,
    Say,
    Script,
    ScriptedModel,
    Think,
    Turn,
    read_conversation,
    say,
)

Takes = dict[str, AppRun]
Shape = Callable[[], Awaitable[Takes]]


def app_of(root: BaseNode, resumable: bool = False) -> App:
    """Return an app with that root."""
    config = ResumabilityConfig(is_resumable=True) if resumable else None
    return App(name="shapes", root_agent=root, resumability_config=config)


def agent(name: str, script: Script | str, **fields: Any) -> LlmAgent:
    """Return an agent that plays a script, or always says the same."""
    play: Script = script if not isinstance(script, str) else lambda request: say(script)
    return LlmAgent(name=name, model=ScriptedModel(script=play), **fields)


def calling(*calls: Call, then: str, before: str = "One moment.") -> Script:
    """Return the script that makes some calls and then says something."""

    def script(request: LlmRequest) -> Turn:
        answered = read_conversation(request).answers
        return say(then) if answered else Turn((Say(before), *calls))

    return script


async def one(root: BaseNode, prompt: str = "go", **stage: Any) -> Takes:
    """Play a single run."""
    return {"": await AppRunner(app_of(root), **stage).send(prompt)}


def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b}


async def failed_sub_agent() -> Takes:
    child = agent(
        "child",
        lambda request: Turn((Say("I try"), Fail(ValueError("synthetic")))),
        mode="single_turn",
        description="Fails.",
    )
    script = calling(Call("child", {"request": "try"}), then="The child failed, I go on.")
    return await one(agent("parent", script, sub_agents=[child]))


async def naive_ids() -> Takes:
    script = calling(Call("add", {"a": 1, "b": 2}), then="Three.")
    model = ScriptedModel(script=script, call_ids="dropped")
    return await one(LlmAgent(name="naive", model=model, tools=[add]))


async def overlapping_calls() -> Takes:
    turns = {"first": 3, "second": 1}

    async def wait(name: str) -> dict[str, str]:
        """Wait a little."""
        for _ in range(turns[name]):
            await asyncio.sleep(0)
        return {"waited": name}

    calls = (Call("wait", {"name": "first"}), Call("wait", {"name": "second"}))
    return await one(agent("twice", calling(*calls, then="Both are done."), tools=[wait]))


async def unary() -> Takes:
    script = calling(Call("add", {"a": 1, "b": 2}), then="Three.")
    return await one(agent("unary", script, tools=[add]), streaming=StreamingMode.NONE)


async def unary_max_tokens() -> Takes:
    cut = Turn((Say("Cut off in the mid"),), finish_reason=types.FinishReason.MAX_TOKENS)
    return await one(agent("cut", lambda request: cut), streaming=StreamingMode.NONE)


async def blocked_prompt() -> Takes:
    refused = Turn(blocked=types.BlockedReason.PROHIBITED_CONTENT)
    return await one(agent("strict", lambda request: refused))


async def unknown_tool() -> Takes:
    script = calling(Call("no_such_tool", {}), then="That tool does not exist.")
    return await one(agent("dreamer", script, tools=[add]))


async def rewritten() -> Takes:
    def rewrite(callback_context: Context, llm_response: LlmResponse) -> LlmResponse | None:
        if llm_response.partial:
            return None
        content = types.Content(role="model", parts=[types.Part(text="Something else entirely.")])
        return llm_response.model_copy(update={"content": content})

    return await one(agent("edited", "What was said first.", after_model_callback=rewrite))


async def thought_only_then_call() -> Takes:
    def script(request: LlmRequest) -> Turn:
        if read_conversation(request).answers:
            return Turn((Think("Now I know.", b"s2"), Say("Three.")))
        return Turn((Think("I need a tool.", b"s1"), Call("add", {"a": 1, "b": 2})))

    return await one(agent("thinker", script, tools=[add]))


async def structured_output() -> Takes:
    class Weather(BaseModel):
        sky: str
        celsius: int

    return await one(
        agent(
            "typed", '{"sky": "sunny", "celsius": 21}', output_schema=Weather, output_key="weather"
        )
    )


async def tool_media() -> Takes:
    def draw() -> dict[str, Any]:
        """Draw something."""
        blob = types.Blob(mime_type="image/gif", data=b"GIF89a\x01\x00\x01\x00\x00\x00\x00;")
        return {"title": "dot", "picture": types.Part(inline_data=blob)}

    return await one(agent("painter", calling(Call("draw"), then="A dot."), tools=[draw]))


async def generator_tool() -> Takes:
    async def progress(steps: int) -> AsyncGenerator[Any, None]:
        """Report progress."""
        for i in range(steps):
            yield Event(message=f"Step {i + 1}.")
        yield {"steps": steps}

    script = calling(Call("progress", {"steps": 2}), then="All steps are done.")
    return await one(agent("worker", script, tools=[progress]))


async def transfer_that_stays() -> Takes:
    def desk(request: LlmRequest) -> Turn:
        wants_back = "back" in read_conversation(request).prompt
        if wants_back:
            return Turn((Call("transfer_to_agent", {"agent_name": "front"}),))
        return say("The desk speaks.")

    def front(request: LlmRequest) -> Turn:
        if "back" in read_conversation(request).prompt:
            return say("You are at the front again.")
        return Turn((Call("transfer_to_agent", {"agent_name": "desk"}),))

    clerk = agent("desk", desk, description="A desk.")
    stage = AppRunner(app_of(agent("front", front, sub_agents=[clerk])))
    runs = [await stage.send(text) for text in ("the desk please", "still there?", "back please")]
    return {"": runs[0], "2": runs[1], "3": runs[2]}


async def task() -> Takes:
    def picker(request: LlmRequest) -> Turn:
        prompts = [p.text for c in request.contents for p in c.parts or [] if p.text]
        if "blue" in prompts:
            return Turn((Call("finish_task", {"result": "blue"}),))
        return say("Which colour?")

    def boss(request: LlmRequest) -> Turn:
        if read_conversation(request).answer("picker") is not None:
            return say("Blue it is.")
        return Turn((Say("I ask the picker."), Call("picker", {"request": "Find the colour"})))

    child = agent("picker", picker, mode="task", description="Picks a colour.")
    stage = AppRunner(app_of(agent("boss", boss, sub_agents=[child])))
    return {"": await stage.send("paint it"), "2": await stage.send("blue")}


async def waiting_cancels_siblings() -> Takes:
    def pay(amount: int) -> dict[str, int]:
        """Pay."""
        return {"paid": amount}

    payer = agent(
        "payer",
        calling(Call("pay", {"amount": 5}), then="Paid."),
        mode="single_turn",
        description="Pays.",
        tools=[FunctionTool(pay, require_confirmation=True)],
    )
    talker = agent(
        "talker",
        lambda request: Turn((Say("I talk "), Pause(0.3), Say("and talk."))),
        mode="single_turn",
        description="Talks.",
    )
    script = calling(
        Call("payer", {"request": "pay"}), Call("talker", {"request": "talk"}), then="All done."
    )
    root = agent("boss", script, sub_agents=[payer, talker])
    stage = AppRunner(app_of(root, resumable=True))
    first = await stage.send("go")
    return {"": first, "2": await stage.answer(*decisions(first, True))}


async def aborted_text() -> Takes:
    abort = asyncio.Event()

    def script(request: LlmRequest) -> Turn:
        if abort.is_set():
            return say("You stopped me.")
        asyncio.get_running_loop().call_later(0.05, abort.set)
        return Turn((Say("I talk until "), Pause(60), Say("you stop me.")))

    stage = AppRunner(app_of(agent("talker", script)))
    return {"": await stage.send("go", abort), "2": await stage.send("what happened?")}


async def aborted_tool() -> Takes:
    abort = asyncio.Event()

    async def hang(tool_context: ToolContext) -> None:
        """Hang."""
        abort.set()
        await asyncio.sleep(60)

    stage = AppRunner(app_of(agent("patient", calling(Call("hang"), then="Never."), tools=[hang])))
    return {"": await stage.send("go", abort)}


async def state_scopes() -> Takes:
    def remember(tool_context: ToolContext) -> dict[str, bool]:
        """Remember."""
        tool_context.state["plain"] = {"deep": {"deeper": [1, {"deepest": None}]}}
        tool_context.state["user:name"] = "Ada"
        tool_context.state["app:visits"] = 1
        tool_context.state["temp:secret"] = "never shown"
        return {"ok": True}

    script = calling(Call("remember"), then="Remembered.")
    return await one(agent("keeper", script, tools=[remember], output_key="last_words"))


async def same_specialist_twice() -> Takes:
    child = agent("echo", "I echo, I echo.", mode="single_turn", description="Echoes.")
    calls = (Call("echo", {"request": "first"}), Call("echo", {"request": "second"}))
    return await one(agent("caller", calling(*calls, then="Both echoed."), sub_agents=[child]))


async def thought_only() -> Takes:
    return await one(agent("mute", lambda request: Turn((Think("I say nothing.", b"s"),))))


async def unary_empty() -> Takes:
    return await one(agent("mute", lambda request: Turn()), streaming=StreamingMode.NONE)


async def answered_by_callback() -> Takes:
    def answer(callback_context: Context, llm_request: LlmRequest) -> LlmResponse:
        return LlmResponse(content=types.ModelContent("The model was not asked."))

    return await one(agent("guarded", "Never said.", before_model_callback=answer))


async def resumed() -> Takes:
    """A run that was cut off in a tool, as when its process dies, and then goes on."""
    reached = asyncio.Event()

    async def hang_once() -> dict[str, bool]:
        """Hang the first time."""
        if not reached.is_set():
            reached.set()
            await asyncio.sleep(60)
        return {"ok": True}

    root = agent("patient", calling(Call("hang_once"), then="It worked."), tools=[hang_once])
    stage = AppRunner(app_of(root, resumable=True))
    first = AppRun()
    run = asyncio.create_task(stage.run(types.UserContent("go"), take=first))
    await reached.wait()
    run.cancel()
    await asyncio.wait([run])
    return {"": first, "2": await stage.resume(first.events[0].invocation_id)}


async def resumed_after_error() -> Takes:
    """After an exception the resumed invocation ends without trying again."""
    attempts = []

    def fragile() -> dict[str, bool]:
        """Fail once."""
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError("synthetic")
        return {"ok": True}

    root = agent("patient", calling(Call("fragile"), then="It worked."), tools=[fragile])
    stage = AppRunner(app_of(root, resumable=True))
    first = await stage.send("go")
    return {"": first, "2": await stage.resume(first.events[0].invocation_id)}


SHAPES: dict[str, Shape] = {
    "same_specialist_twice": same_specialist_twice,
    "thought_only": thought_only,
    "unary_empty": unary_empty,
    "answered_by_callback": answered_by_callback,
    "resumed": resumed,
    "resumed_after_error": resumed_after_error,
    "failed_sub_agent": failed_sub_agent,
    "naive_ids": naive_ids,
    "overlapping_calls": overlapping_calls,
    "unary": unary,
    "unary_max_tokens": unary_max_tokens,
    "blocked_prompt": blocked_prompt,
    "unknown_tool": unknown_tool,
    "rewritten": rewritten,
    "thought_then_call": thought_only_then_call,
    "structured_output": structured_output,
    "tool_media": tool_media,
    "generator_tool": generator_tool,
    "transfer_that_stays": transfer_that_stays,
    "task": task,
    "waiting_cancels_siblings": waiting_cancels_siblings,
    "aborted_text": aborted_text,
    "aborted_tool": aborted_tool,
    "state_scopes": state_scopes,
}
