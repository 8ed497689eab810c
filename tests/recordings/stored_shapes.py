"""Runs in which ADK stores something else than what was streamed."""

from __future__ import annotations

from collections.abc import Callable

from google.adk.agents import Context
from google.adk.code_executors import UnsafeLocalCodeExecutor
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.planners import PlanReActPlanner
from google.genai import types
from tests.recordings.shapes import Shape, Takes, add, agent, one

from adk_prism.models import Call, Say, Think, Turn, read_conversation, say

SECRET = "swordfish"
"""Streamed in every run of this file, and stored in none."""

Rewrite = Callable[[Context, LlmResponse], LlmResponse | None]


def storing(**stored: object) -> Rewrite:
    """Return a callback that lets pieces pass, and stores something else than the whole."""

    def rewrite(callback_context: Context, llm_response: LlmResponse) -> LlmResponse | None:
        if llm_response.partial:
            return None
        return llm_response.model_copy(update=stored)

    return rewrite


def content(*parts: types.Part) -> types.Content:
    return types.Content(role="model", parts=list(parts))


_THINKS = Turn((Think(f"It is {SECRET}.", b"s"), Say(f"The password is {SECRET}, of course.")))


async def withheld() -> Takes:
    stored = storing(content=content(types.Part(text="[withheld]")))
    return await one(agent("guarded", lambda request: _THINKS, after_model_callback=stored))


async def withheld_text_of_a_thought() -> Takes:
    def keep_thoughts(callback_context: Context, llm_response: LlmResponse) -> LlmResponse | None:
        if llm_response.partial or llm_response.content is None:
            return None
        thoughts = [part for part in llm_response.content.parts or () if part.thought]
        answer = types.Part(text="[withheld]")
        return llm_response.model_copy(update={"content": content(*thoughts, answer)})

    turn = Turn((Think("May I tell? No.", b"s"), Say(f"The password is {SECRET}.")))
    return await one(agent("guarded", lambda request: turn, after_model_callback=keep_thoughts))


async def withheld_entirely() -> Takes:
    return await one(
        agent("guarded", lambda request: _THINKS, after_model_callback=storing(content=content()))
    )


async def withheld_by_an_error() -> Takes:
    def block(callback_context: Context, llm_response: LlmResponse) -> LlmResponse | None:
        if llm_response.partial:
            return None
        return LlmResponse(error_code="BLOCKED", error_message="The answer was blocked.")

    return await one(agent("guarded", lambda request: _THINKS, after_model_callback=block))


async def withheld_call() -> Takes:
    """The text and one of two calls are not stored: the other one runs."""

    def keep_second(callback_context: Context, llm_response: LlmResponse) -> LlmResponse | None:
        found = (llm_response.content.parts if llm_response.content is not None else None) or []
        calls = [part for part in found if part.function_call is not None]
        if llm_response.partial or not calls:
            return None
        return llm_response.model_copy(update={"content": content(*calls[1:])})

    def script(request: LlmRequest) -> Turn:
        if read_conversation(request).answers:
            return say("Three.")
        tell = Call("tell", {"whom": SECRET})
        return Turn((Say(f"I tell {SECRET}."), tell, Call("add", {"a": 1, "b": 2})))

    def tell(whom: str) -> dict[str, str]:
        """Tell somebody."""
        return {"told": whom}

    return await one(agent("caller", script, tools=[add, tell], after_model_callback=keep_second))


async def code_executor() -> Takes:
    def script(request: LlmRequest) -> Turn:
        parts = [part for held in request.contents for part in held.parts or ()]
        if any("Code execution result" in (part.text or "") for part in parts):
            return say("It is 42.")
        code = "```tool_code\nprint(6 * 7)\n```\n"
        return Turn((Say(f"Let me compute that.\n{code}It will be {SECRET}."),))

    return await one(agent("coder", script, code_executor=UnsafeLocalCodeExecutor()))


async def logprobs() -> Takes:
    """Every response gets an analysis, pieces too: there it has no figures."""

    def analyse(callback_context: Context, llm_response: LlmResponse) -> LlmResponse | None:
        if llm_response.content is None or not llm_response.content.parts:
            return None
        figures = f"none, {SECRET}" if llm_response.partial else "-0.31"
        analysis = types.Part(text=f"\n\n[log probabilities: {figures}]")
        llm_response.content.parts.append(analysis)
        return llm_response

    return await one(agent("measured", "It is Paris.", after_model_callback=analyse))


async def planner() -> Takes:
    """The planner makes a thought of what stands before the final answer."""
    said = f"/*PLANNING*/ Think of {SECRET}s. /*FINAL_ANSWER*/ A fish."
    return await one(
        agent(
            "planner",
            said,
            planner=PlanReActPlanner(),
            after_model_callback=_without_secret_thoughts,
        )
    )


def _without_secret_thoughts(
    callback_context: Context, llm_response: LlmResponse
) -> LlmResponse | None:
    found = llm_response.content
    if llm_response.partial or found is None:
        return None
    texts = [
        (part.text or "").replace(f"Think of {SECRET}s.", "Think.") for part in found.parts or ()
    ]
    return llm_response.model_copy(
        update={"content": content(*(types.Part(text=text) for text in texts))}
    )


STORED_SHAPES: dict[str, Shape] = {
    "withheld": withheld,
    "withheld_text_of_a_thought": withheld_text_of_a_thought,
    "withheld_entirely": withheld_entirely,
    "withheld_by_an_error": withheld_by_an_error,
    "withheld_call": withheld_call,
    "code_executor": code_executor,
    "logprobs": logprobs,
    "planner": planner,
}
