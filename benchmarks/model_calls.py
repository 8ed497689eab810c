"""What it costs to record what was sent to models: the same run recorded with and without.

A long answer after a long conversation: what is paid per streamed piece, and once per request for all of its
contents. In a live run, what is paid for each chunk of audio, against copying its bytes once. CPU time of the
thread, log in memory; the best round of each is compared, since what else a machine does can only add.
"""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

from google.adk.apps.app import App
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from adk_prism.adk.request import Detail, RunRequest
from adk_prism.adk.runner import RunnerSource
from adk_prism.adk.sessions import Sessions
from adk_prism.errors import ignore
from adk_prism.features.model_calls.live_calls import LiveCalls
from adk_prism.features.model_calls.writer import ModelCallWriter
from adk_prism.log.entry import Origin, RunId
from adk_prism.log.memory import MemoryLog
from adk_prism.runs.recorder import RunRecorder
from adk_prism.voice.conversation import PcmChunk
from benchmarks.agents.speaker.agent import root_agent
from benchmarks.rounds import cpu_per_item, take_turns
from benchmarks.table import Row, micros

DELTAS = 2000
CHUNKS = 10_000
LEAST_AUDIO = 20e-6
"""Seconds of CPU that a chunk of audio costs at the least, all in all (`benchmarks/live.py`)."""
_runs = count(1)


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    details: tuple[Detail, ...] = ("off", "full")
    variants = {name: cpu_per_item(_recording(name), DELTAS) for name in details}
    measured = take_turns(variants, 5 if quick else 25)
    off, full = (min(measured.costs[name]) for name in details)
    chunk = min(take_turns({"chunk": cpu_per_item(_playing, CHUNKS)}, 5).costs["chunk"])
    return [
        Row(
            f"{DELTAS:,} deltas, per delta: model calls recorded, against not",
            micros(full),
            micros(off),
            full / off,
            1.03,
        ),
        Row(
            "a chunk of audio: model calls watched, against its whole cost",
            micros(chunk),
            micros(LEAST_AUDIO),
            chunk / LEAST_AUDIO,
            0.03,
        ),
    ]


def _recording(detail: Detail) -> Any:
    """Return the work of recording one run, in a session of its own."""
    service = InMemorySessionService()
    runner = Runner(app=App(name="app", root_agent=root_agent), session_service=service)

    async def record() -> None:
        run = f"run-{next(_runs)}"
        origin = Origin(app="app", user="u", session=run)
        await Sessions(service).create(origin, {})
        log = MemoryLog()
        await log.open()
        request = RunRequest(run=run, origin=origin, message=types.UserContent(str(DELTAS)))
        source = RunnerSource(runner, request, nodes=True)
        writer = ModelCallWriter(log, detail, ignore)
        await RunRecorder(log, RunId(run), source, ignore, None, writer).record()

    return lambda: asyncio.run(record())


def _playing() -> None:
    calls, chunks = LiveCalls("full", lambda: False), [PcmChunk(b"", "audio/pcm;rate=24000")]
    for _ in range(CHUNKS):
        calls.hear("audio/pcm;rate=16000")
        calls.play("voice", chunks)
