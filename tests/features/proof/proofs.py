"""The proofs of a run, in short."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from tests.laws.events import Json, answer, call, event

from adk_prism.facts.model import Annotated
from adk_prism.facts.run_reader import Reader
from adk_prism.features.proof.annotator import ProofAnnotator
from adk_prism.features.proof.model import Proof
from adk_prism.log.entry import Agent, Entry, RunStarted


def given(run: Iterable[Entry]) -> list[tuple[int, str, Proof]]:
    """Return every proof of a run: the entry that completed it, its id, and itself."""
    reader = Reader(annotators=[ProofAnnotator()])
    return [
        (entry.cursor, fact.id, fact.value)
        for entry in run
        for fact in reader.feed(entry)
        if isinstance(fact, Annotated)
    ]


def last(run: Iterable[Entry]) -> dict[str, Proof]:
    """Return the last proof of each id: what a client holds at the end."""
    return {name: proof for _, name, proof in given(run)}


def told(run: Iterable[Entry]) -> list[str]:
    """Tell each proof: `3 proof-burn parsed 0.92`."""
    return [f"{cursor} {name} {p.origin} {p.confidence}" for cursor, name, p in given(run)]


def with_agents(run: list[Entry], *names: str) -> list[Entry]:
    """Return the run of an app whose agents are known."""
    first = run[0].record
    assert isinstance(first, RunStarted)
    agents = [Agent(name=name) for name in names]
    started = msgspec.structs.replace(first, agents=agents)
    return [Entry(1, run[0].time, started), *run[1:]]


def asked(name: str, call_id: str, request: str = "go") -> Json:
    """A call of ADK's `AgentTool`."""
    return call(name, call_id, {"request": request})


def replied(name: str, call_id: str, said: str, **more: Any) -> Json:
    """Its answer."""
    return answer(name, call_id, {"result": said, **more})


def delegated(said: Json, name: str, call_id: str, **fields: Any) -> Json:
    """An event of an agent that a call runs, whose own output streams."""
    path, branch = f"root@1/{name}@1", f"{name}@{call_id}"
    return event(said, author=name, path=path, branch=branch, **fields)
