"""C: runs of a hundred thousand events: memory that does not grow with them, and a flat cost.

*Replay*: peak memory of `adk-prism replay` on 100,000 deltas, against 1,000. In one hundred answers of a
thousand words each, nothing may stay of an answer that is over. In one single answer of 1 MiB, what may
stay is that answer, some times over: the pieces that were shown, the closing event that repeats them all,
and what is made of it. *Cost*: CPU time of the last tenth of such a run against its first.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec

from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.features.captures.recording_file import read_run
from adk_prism.log.entry import AgentEvent, Origin, RunEnded, RunId, RunStarted
from adk_prism.log.sqlite.store import SqliteLog
from adk_prism.protocols.registry import protocol, replay
from benchmarks.rounds import Measured
from benchmarks.table import Row, kibibytes, millis

EVENTS = 100_000
FEW = 1_000
TENTH = EVENTS // 10
WORD = "translator "

_HEAD = (
    b'"partial":%b,"invocationId":"e-00000000-0000-4000-8000-000000000001","author":"speaker",'
    b'"actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},'
    b'"requestedToolConfirmations":{}},"nodeInfo":{"path":"speaker@1"},'
    b'"id":"00000000-0000-4000-8000-%012d","timestamp":1750000000.003}'
)


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    with tempfile.TemporaryDirectory() as folder:
        found = _memory(Path(folder))
    rounds = 1 if quick else 3
    lines = list(answers(1, EVENTS))
    found.append(
        _flat("replay: last tenth of 100,000 events, first", rounds, lambda: _replayed(lines))
    )
    found.append(
        _flat("run log in SQLite, followed: last tenth, first", rounds, lambda: _logged(lines))
    )
    return found


def answers(count: int, words: int) -> Iterator[bytes]:
    """Yield the events of streamed answers: their words, and after each answer its whole."""
    number = 0
    for _ in range(count):
        for _ in range(words):
            number += 1
            yield _line(WORD, b"true", number)
        number += 1
        yield _line(WORD * words, b"false", number)


def _line(text: str, partial: bytes, number: int) -> bytes:
    said = b'{"content":{"parts":[{"text":%b}],"role":"model"},' % msgspec.json.encode(text)
    return said + _HEAD % (partial, number) + b"\n"


# --------------------------------------------------------------------------- memory


def _memory(folder: Path) -> list[Row]:
    few = _peak(folder, answers(1, FEW))
    many = _peak(folder, answers(EVENTS // FEW, FEW))
    one = _peak(folder, answers(1, EVENTS))
    answer = EVENTS * len(WORD)
    return [
        Row(
            "replay: peak memory, 100 × 1,000 deltas, 1,000",
            kibibytes(many),
            kibibytes(few),
            many / few,
            1.05,
        ),
        Row(
            "replay: growth in an answer of 100,000 deltas, its text",
            kibibytes(one - few),
            kibibytes(answer),
            (one - few) / answer,
            24,  # Short pieces of text weigh several times what they say, until the whole has come.
        ),
    ]


def _peak(folder: Path, lines: Iterator[bytes]) -> float:
    """Return the highest resident memory of a replay, in bytes."""
    file = folder / "run.jsonl"
    with file.open("wb") as out:
        out.writelines(lines)
    command = [sys.executable, "-m", "adk_prism.cli", "replay", str(file), "--as", "ai-sdk"]
    # A child begins with the peak of whoever started it, and this process is large: a small one does it.
    measured = subprocess.run(
        [sys.executable, "-c", _WATCH, *command], capture_output=True, text=True, check=True
    )
    return int(measured.stdout) * (1 if sys.platform == "darwin" else 1024)


_WATCH = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


# --------------------------------------------------------------------------- cost


def _flat(name: str, rounds: int, tenths: Callable[[], Sequence[float]]) -> Row:
    first: list[float] = []
    last: list[float] = []
    for _ in range(rounds + 1):
        costs = tenths()
        first.append(costs[0])
        last.append(costs[-1])
    measured = Measured({"first": first[1:], "last": last[1:]})
    return Row(
        name,
        millis(measured.cost("last")),
        millis(measured.cost("first")),
        measured.ratio("last", "first"),
        1.2,
    )


def _replayed(lines: Sequence[bytes]) -> list[float]:
    """Return the CPU time of each tenth of a replay."""
    costs, began = [], time.thread_time()
    frames = replay(read_run(iter(lines), end=CaptureEnding()), protocol("ai-sdk").format())
    for number, _ in enumerate(frames, 1):
        if number % TENTH == 0:
            costs.append(time.thread_time() - began)
            began = time.thread_time()
    return costs


def _logged(lines: Sequence[bytes]) -> list[float]:
    """Return the CPU time, of all threads, of each tenth of a run that is appended and followed."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_log(Path(folder), lines[:EVENTS]))


async def _log(folder: Path, lines: Sequence[bytes]) -> list[float]:
    log, run = SqliteLog(folder / "runs.db"), RunId("run-1")
    await log.open()
    start = RunStarted(run=run, origin=Origin(app="speaker", user="user", session="session"))
    await log.append(run, [start])
    following = asyncio.create_task(_follow(log, run))
    for line in lines:
        await log.append(run, [AgentEvent(line)])
        # As a source does, give the others a turn.
        await asyncio.sleep(0)
    await log.append(run, [RunEnded(outcome="finished")])
    costs = await following
    await log.close()
    return costs


async def _follow(log: SqliteLog, run: RunId) -> list[float]:
    costs, seen, began = [], 0, time.process_time()
    async with aclosing(log.read(run, follow=True)) as batches:
        async for batch in batches:
            before, seen = seen, seen + len(batch)
            if before // TENTH != seen // TENTH:
                costs.append(time.process_time() - began)
                began = time.process_time()
    return costs
