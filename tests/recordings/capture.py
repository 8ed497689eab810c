"""Capture real runs as files under `raw/`.

    ADK_PRISM_MODEL=offline PYTHONHASHSEED=0 python -m tests.recordings.capture [NAME …]

Each line is one event, as ADK serialises it for a client. A run that raised ends with the error
object that ADK's `/run_sse` sends then. Ids and times are counted, so that a capture taken again is
the same file; ADK orders the inputs of a join by hash, hence PYTHONHASHSEED. Everything in them is
synthetic.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.answers import decisions, respond, sign_in
from tests.app_runner import AppRun, AppRunner
from tests.recordings.determinism import start_counting
from tests.recordings.gemini_shapes import GEMINI_SHAPES
from tests.recordings.live_shape import live
from tests.recordings.recovery_capture import recovery_capture
from tests.recordings.shapes import SHAPES, Shape, Takes
from tests.recordings.stored_shapes import STORED_SHAPES
from tests.recordings.workflow_shapes import WORKFLOW_SHAPES

from adk_prism.apps.tour.agent import tour_app
from adk_prism.apps.tour.scenarios import SCENARIOS, Scenario

RAW = Path(__file__).parent / "raw"

Continuation = Callable[[AppRunner, AppRun], Awaitable[AppRun]]

# A prompt that is quicker, or smaller, than the one that `help` shows.
_PROMPTS = {"slow": "slow 0", "long": "long 200"}


def _decide(approved: bool) -> Continuation:
    async def play(stage: AppRunner, first: AppRun) -> AppRun:
        return await stage.answer(*decisions(first, approved))

    return play


def _client(name: str, response: dict[str, object]) -> Continuation:
    async def play(stage: AppRunner, first: AppRun) -> AppRun:
        return await stage.answer(respond(first.call(name), response))

    return play


def _client_then_decide(approved: bool) -> Continuation:
    async def play(stage: AppRunner, first: AppRun) -> AppRun:
        await stage.answer(respond(first.call("get_location"), {"city": "Rome"}))
        return await stage.answer(*decisions(first, approved))

    return play


async def _sign_in(stage: AppRunner, first: AppRun) -> AppRun:
    return await stage.answer(sign_in(first.call("adk_request_credential")))


_APPROVALS = {"2": _decide(True), "denied": _decide(False)}
CONTINUATIONS: dict[str, dict[str, Continuation]] = {
    "approval": _APPROVALS,
    "two approvals": _APPROVALS,
    "sub-agent approval": _APPROVALS,
    "client tool": {"2": _client("get_location", {"city": "Rome"})},
    "mixed batch": {"2": _client_then_decide(True), "denied": _client_then_decide(False)},
    "long-running tool": {"2": _client("order_print", {"status": "done", "pages": 12})},
    "input request": {"2": _client("adk_request_input", {"result": {"guests": 4}})},
    "credential request": {"2": _sign_in},
}


def _file_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name)


def _scenario(scenario: Scenario) -> Shape:
    """Return the play of one scenario and of every way in which it goes on."""
    prompt = _PROMPTS.get(scenario.name, scenario.example)

    async def play() -> Takes:
        takes = {"": await AppRunner(tour_app(delay=0)).send(prompt)}
        for suffix, continuation in CONTINUATIONS.get(scenario.name, {}).items():
            # The same first run again, with the same ids.
            start_counting()
            stage = AppRunner(tour_app(delay=0))
            takes[suffix] = await continuation(stage, await stage.send(prompt))
        return takes

    return play


_OTHERS: dict[str, Shape] = {
    **SHAPES,
    **STORED_SHAPES,
    **WORKFLOW_SHAPES,
    **GEMINI_SHAPES,
    "live": live,
    "recovery_capture": recovery_capture,
}
CAPTURES: dict[str, Shape] = {
    **{_file_name(scenario.name): _scenario(scenario) for scenario in SCENARIOS},
    **{f"x_{name}": shape for name, shape in _OTHERS.items()},
}


async def capture(name: str) -> None:
    """Write the files of one capture."""
    start_counting()
    for suffix, take in (await CAPTURES[name]()).items():
        lines = [*take.lines, _error_line(take.error)] if take.error else take.lines
        path = RAW / f"{name}.{suffix}.jsonl" if suffix else RAW / f"{name}.jsonl"
        path.write_text("".join(f"{line}\n" for line in lines))


def _error_line(error: Exception) -> str:
    kind = type(error).__name__
    details = {"error_type": kind, "error_message": str(error), "timestamp": 0.0}
    return json.dumps({"error": f"{kind}: {error}", "error_details": details})


async def main(names: list[str]) -> None:
    """Make the named captures, or all."""
    for name in names or CAPTURES:
        # A task of its own: the counters live in its context.
        await asyncio.create_task(capture(name))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
