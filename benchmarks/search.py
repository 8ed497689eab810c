"""Finding runs: a search in a log of 10,000 runs, and the digest of a run.

The reference of a search are the 100 ms that it may take; that of a digest is the reading of the run, which
every projection does too.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
import time
from pathlib import Path

from adk_prism.facts.run_reader import Reader
from adk_prism.features.search.digest import DIGEST_VERSION, NameKind, RunDigest, RunQuery
from adk_prism.features.search.index import DigestFold, SearchIndex, index_of
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import AgentEvent, Entry, Origin, RunEnded, RunId, RunStarted
from adk_prism.log.memory import MemoryLog
from adk_prism.log.sqlite.store import SqliteLog
from benchmarks.rounds import cpu_per_item, take_turns
from benchmarks.table import Row, micros

RUNS, WORDS, DELTAS = 10_000, 5_000, 2_000
LIMIT = 0.1
"""Seconds that a search may take."""
FOLDED = 2.0
"""A digest must cost little more than the reading, which is most of it."""


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    return [*asyncio.run(_searches(5 if quick else 20)), _fold(2 if quick else 6)]


async def _searches(rounds: int) -> list[Row]:
    draw = random.Random(1)
    words = [
        "".join(draw.choices("abcdefghijklmnopqrst", k=draw.randint(3, 9))) for _ in range(WORDS)
    ]
    queries = {
        "a word": RunQuery(text=words[7]),
        "two words": RunQuery(text=f"{words[7]} {words[8]}"),
        "a letter": RunQuery(text="a"),
        "a part of a tool's name": RunQuery(names={"tool": "*a*"}),
        "what is not there": RunQuery(text="zzzz", outcome="failed"),
    }
    with tempfile.TemporaryDirectory() as folder:
        made = []
        logs: dict[str, RunLog] = {
            "SQLite": SqliteLog(Path(folder) / "runs.db"),
            "memory": MemoryLog(),
        }
        for where, log in logs.items():
            await log.open()
            search = index_of(log)
            await _fill(log, search, draw, words)
            for name, query in queries.items():
                made.append(await _search(search, f"{name}, {where}", query, rounds))
            await log.close()
    return made


async def _fill(log: RunLog, search: SearchIndex, draw: random.Random, words: list[str]) -> None:
    for number in range(RUNS):
        run = RunId(f"run-{number}")
        origin = Origin(app="app", user=f"user-{number % 50}", session=run)
        outcome = RunEnded(outcome="finished")
        await log.append(run, [RunStarted(run=run, origin=origin), outcome])
        await log.commit(run)
        said = " ".join(draw.choices(words, k=250))
        names: dict[NameKind, list[str]] = {"tool": [draw.choice(words[:50])], "agent": ["root"]}
        digest = RunDigest(agent=said, names=names, tokens=number, version=DIGEST_VERSION)
        await search.index(run, digest)


async def _search(search: SearchIndex, name: str, query: RunQuery, rounds: int) -> Row:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        await search.search(query, limit=50)
        times.append(time.perf_counter() - began)
    worst = max(times)
    limit = f"{LIMIT * 1000:.0f} ms"
    return Row(
        f"search in {RUNS} runs, {name}, slowest", f"{worst * 1000:.1f} ms", limit, worst / LIMIT, 1
    )


def _fold(rounds: int) -> Row:
    origin = Origin(app="app", user="user", session="session")
    entries = [Entry(1, 1.0, RunStarted(run="run", origin=origin))]
    for number in range(DELTAS):
        content = {"role": "model", "parts": [{"text": f"word {number} "}]}
        event = {"author": "root", "id": "e", "timestamp": 1.0, "partial": True, "content": content}
        entries.append(Entry(number + 2, 1.0, AgentEvent(json.dumps(event).encode())))

    def digest() -> None:
        fold = DigestFold()
        for entry in entries:
            fold.feed(entry)
        fold.digest()

    def read() -> None:
        reader = Reader()
        for entry in entries:
            reader.feed(entry)

    variants = {"digest": cpu_per_item(digest, DELTAS), "read": cpu_per_item(read, DELTAS)}
    measured = take_turns(variants, rounds)
    return Row(
        f"digest of {DELTAS} deltas against reading them: per delta",
        micros(measured.cost("digest")),
        micros(measured.cost("read")),
        measured.ratio("digest", "read"),
        FOLDED,
    )
