"""What it costs to see the nodes of a run: the same run recorded with and without them.

A long answer is the worst case for what is paid per streamed piece, and has the target; a chain of small
functions over a large state is the worst case for what is paid per node, and only informs: how long
a node takes is up to the app. CPU time of the thread, log in memory. A difference of a hundredth
drowns in what else a machine does, which can only add: so the best round of each is compared.
"""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

from google.adk.apps.app import App
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.workflow import BaseNode, FunctionNode, Workflow
from google.genai import types

from adk_prism.adk.request import RunRequest
from adk_prism.adk.runner import RunnerSource
from adk_prism.adk.sessions import Sessions
from adk_prism.errors import ignore
from adk_prism.log.entry import Origin, RunId
from adk_prism.log.memory import MemoryLog
from adk_prism.runs.recorder import RunRecorder
from benchmarks.agents.speaker.agent import root_agent
from benchmarks.rounds import Measure, Measured, cpu_per_item, take_turns
from benchmarks.table import Row, micros

DELTAS = 2000
STEPS = 100
KEYS = 200
_runs = count(1)


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    state = {f"key{i}": {"value": [i, i + 1], "text": "some words"} for i in range(KEYS)}
    answer = take_turns(_both(root_agent, str(DELTAS), {}, DELTAS), 5 if quick else 25)
    chain = take_turns(_both(_chain(), "go", state, STEPS), 3 if quick else 9)
    return [
        _row(f"{DELTAS:,} deltas, per delta: nodes seen, against not", answer, 1.03),
        _row(f"{STEPS} functions over {KEYS} keys, per node: seen, against not", chain),
    ]


def _row(name: str, measured: Measured, target: float | None = None) -> Row:
    seen, unseen = (min(measured.costs[how]) for how in ("seen", "unseen"))
    return Row(name, micros(seen), micros(unseen), seen / unseen, target)


def _chain() -> Workflow:
    def step(node_input: Any) -> str:
        return str(node_input)

    steps = [FunctionNode(func=step, name=f"step{i}") for i in range(STEPS)]
    return Workflow(name="chain", edges=[("START", *steps)])


def _both(root: BaseNode, prompt: str, state: dict[str, Any], items: int) -> dict[str, Measure]:
    return {
        name: cpu_per_item(_recording(root, prompt, state, nodes=nodes), items)
        for name, nodes in (("unseen", False), ("seen", True))
    }


def _recording(root: BaseNode, prompt: str, state: dict[str, Any], *, nodes: bool) -> Any:
    """Return the work of recording one run, in a session of its own; each has its own Runner."""
    service = InMemorySessionService()
    runner = Runner(app=App(name="app", root_agent=root), session_service=service)

    async def record() -> None:
        run = f"run-{next(_runs)}"
        origin = Origin(app="app", user="u", session=run)
        await Sessions(service).create(origin, state)
        log = MemoryLog()
        await log.open()
        request = RunRequest(run=run, origin=origin, message=types.UserContent(prompt))
        source = RunnerSource(runner, request, nodes=nodes)
        await RunRecorder(log, RunId(run), source, ignore).record()

    return lambda: asyncio.run(record())
