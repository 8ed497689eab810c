"""A conversation run again from its recording, as after a save, beside reading it and ADK's Runner.

Ten model calls and forty events in five messages of one agent with a tool. *Reading* is each form in which a
client can have it, once: the film, the outline, the transcript, the model calls, and a stream in each
protocol. The *Runner* answers the same messages from a model that needs no time, with nothing around it: a
replay can never be cheaper, since it is a Runner that says what the saved code does. CPU time of the thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from functools import partial
from typing import Any

import msgspec
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner, Runner
from google.genai import types

from adk_prism import Prism, Settings
from adk_prism.features.mcp.transcript import Steps, transcript
from adk_prism.features.model_calls.calls import ModelCalls
from adk_prism.features.page.film import encode, fold
from adk_prism.features.page.outline import outline
from adk_prism.features.rerun.rehearsal import check_conversation
from adk_prism.log.contract import LogReader
from adk_prism.log.entry import AgentEvent, Entry, Origin, RunId
from adk_prism.protocols.registry import protocols
from adk_prism.protocols.sse import encode as frame
from benchmarks.rounds import Measured, cpu_per_item, take_turns
from benchmarks.table import Row, millis

MOST_OF_A_RUNNER = 2.2
"""Half of a replay is the Runner; the rest finds recorded answers, records what happens, and compares."""

MESSAGES = ("milk", "bread", "an apple", "tea", "a very long word")
CALLS, EVENTS = 10, 40
_USAGE = types.GenerateContentResponseUsageMetadata(prompt_token_count=10, total_token_count=20)


class Clerk(BaseLlm):
    """Asks for the price of what was said, and names it in five pieces."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer."""
        last = (llm_request.contents[-1].parts or [])[0]
        if last.function_response:
            words = "It costs four euros today."
            for word in words.split(" ") if stream else ():
                yield LlmResponse(content=types.ModelContent(f"{word} "), partial=True)
            part = types.Part(text=words)
        else:
            call = types.FunctionCall(name="price", args={"of": last.text}, id="c")
            part = types.Part(function_call=call)
        yield LlmResponse(
            content=types.ModelContent(part),
            finish_reason=types.FinishReason.STOP,
            usage_metadata=_USAGE,
        )


def price(of: str) -> dict[str, int]:
    """Look up a price."""
    return {"price": len(of)}


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    agent = LlmAgent(name="shop", model=Clerk(model="m"), instruction="Be brief.", tools=[price])
    settings = Settings(log="memory:", sessions="memory://", model_calls="full")
    prism = Prism(apps={"shop": agent}, settings=settings)
    origin = Origin(app="shop", user="u", session="s")
    with asyncio.Runner() as loop:
        loop.run(prism.__aenter__())
        runs = loop.run(_record(prism, origin))
        log, runner = prism.context.log, prism.context.apps.runner("shop", "rerun")
        work: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
            "replay": lambda: _replay(runner, log, origin),
            "read": lambda: _read(log, runs),
            "runner": lambda: _run(agent),
        }
        measures = {n: cpu_per_item(partial(_once, loop, do), 1) for n, do in work.items()}
        measured = take_turns(measures, 5 if quick else 40)
        loop.run(prism.__aexit__())
    name = f"a conversation of {CALLS} model calls run again"
    return [
        _row(f"{name}, against reading it in every form", measured, "read", None),
        _row(f"{name}, against ADK's Runner alone", measured, "runner", MOST_OF_A_RUNNER),
    ]


def _row(name: str, measured: Measured, reference: str, target: float | None) -> Row:
    costs = millis(measured.cost("replay")), millis(measured.cost(reference))
    return Row(name, *costs, measured.ratio("replay", reference), target)


def _once(loop: asyncio.Runner, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    loop.run(work())


async def _record(prism: Prism, origin: Origin) -> list[RunId]:
    runs = []
    for said in MESSAGES:
        begun = await prism.start("shop", said, user=origin.user, session=origin.session)
        runs.append(RunId((await prism.runs.wait(begun)).id))
    entries = [entry for run in runs for entry in await _entries(prism.context.log, run)]
    assert sum(type(each.record) is AgentEvent for each in entries) == EVENTS
    return runs


async def _entries(log: LogReader, run: RunId) -> list[Entry]:
    return [entry async for batch in log.read(run) for entry in batch]


async def _replay(runner: Runner, log: LogReader, origin: Origin) -> None:
    found = await check_conversation(runner, log, origin)
    assert found.status == "same", found.detail
    assert sum(each.calls for each in found.messages) == CALLS


async def _read(log: LogReader, runs: Sequence[RunId]) -> None:
    calls = ModelCalls(log)
    for run in runs:
        entries = await calls.filled(run, await _entries(log, run))
        encode(fold(entries))
        outline(entries)
        steps = Steps()
        for entry in entries:
            steps.feed(entry)
        transcript(steps.rows)
        msgspec.json.encode(await calls.of_run(run))
        for spec in protocols().specs.values():
            read = spec.format().reader().feed
            for entry in entries:
                frame(run, entry.cursor, read(entry))


async def _run(agent: LlmAgent) -> None:
    runner = InMemoryRunner(agent, app_name="shop")
    await runner.session_service.create_session(app_name="shop", user_id="u", session_id="s")
    for said in MESSAGES:
        message, config = types.UserContent(said), RunConfig()
        async for _ in runner.run_async(
            user_id="u", session_id="s", new_message=message, run_config=config
        ):
            pass
