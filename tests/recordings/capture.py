"""Capture real runs as files: `PYTHONHASHSEED=0 python -m tests.recordings.capture [NAME …]`.

From the root of the checkout, without a model's key in the environment.

Each line of `raw/*.jsonl` is one event, as ADK serialises it for a client. A run that raised ends
with the error object that ADK's `/run_sse` sends then. Ids and times are counted, so that a capture
taken again is the same file; ADK orders the inputs of a join by hash, hence the seed. Everything in
them is synthetic.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.answers import decisions, respond, sign_in
from tests.recordings.determinism import start_counting
from tests.recordings.gemini_shapes import GEMINI_SHAPES
from tests.recordings.live_shape import live
from tests.recordings.shapes import SHAPES, Shape
from tests.stage import Stage, Take

from adk_prism.apps.tour.agent import tour_app
from adk_prism.apps.tour.scenarios import SCENARIOS

RAW = Path(__file__).parent / "raw"

Continuation = Callable[[Stage, Take], Awaitable[Take]]

# A prompt that is quicker, or smaller, than the one that `help` shows.
_PROMPTS = {"slow": "slow 0", "long": "long 200"}


def _decide(approved: bool) -> Continuation:
    async def play(stage: Stage, first: Take) -> Take:
        return await stage.answer(*decisions(first, approved))

    return play


def _client(name: str, response: dict[str, object]) -> Continuation:
    async def play(stage: Stage, first: Take) -> Take:
        return await stage.answer(respond(first.call(name), response))

    return play


def _client_then_decide(approved: bool) -> Continuation:
    async def play(stage: Stage, first: Take) -> Take:
        await stage.answer(respond(first.call("get_location"), {"city": "Rome"}))
        return await stage.answer(*decisions(first, approved))

    return play


async def _sign_in(stage: Stage, first: Take) -> Take:
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


async def capture_scenario(name: str, prompt: str) -> None:
    """Capture one scenario of the tour and every way in which it goes on."""
    first, rest = await _play(prompt, None)
    _write(_file_name(name), first)
    for suffix, continuation in CONTINUATIONS.get(name, {}).items():
        _, rest = await _play(prompt, continuation)
        assert rest is not None
        _write(f"{_file_name(name)}.{suffix}", rest)


async def capture_shape(name: str, shape: Shape) -> None:
    """Capture one shape; its files begin with `x_`."""
    start_counting()
    for suffix, take in (await shape()).items():
        _write(f"x_{name}.{suffix}" if suffix else f"x_{name}", take)


async def _play(prompt: str, continuation: Continuation | None) -> tuple[Take, Take | None]:
    start_counting()
    stage = Stage(tour_app(delay=0))
    first = await stage.send(prompt)
    return first, await continuation(stage, first) if continuation else None


def _file_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name)


def _write(name: str, take: Take) -> None:
    lines = list(take.lines)
    if take.error is not None:
        lines.append(_error_line(take.error))
    RAW.mkdir(exist_ok=True)
    (RAW / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines))


def _error_line(error: Exception) -> str:
    kind = type(error).__name__
    details = {"error_type": kind, "error_message": str(error), "timestamp": 0.0}
    return json.dumps({"error": f"{kind}: {error}", "error_details": details})


async def main(names: list[str]) -> None:
    """Capture the named scenarios and shapes, or all."""
    for scenario in SCENARIOS:
        if not names or scenario.name in names:
            prompt = _PROMPTS.get(scenario.name, scenario.example)
            # A task of its own: the counters live in its context.
            await asyncio.create_task(capture_scenario(scenario.name, prompt))
    for name, shape in {**SHAPES, **GEMINI_SHAPES, "live": live}.items():
        if not names or name in names:
            await asyncio.create_task(capture_shape(name, shape))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
