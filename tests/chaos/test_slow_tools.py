"""Replicas whose tools block, exit and die: a slow one is not dead, and none takes the others along."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from tests.chaos.replicas import Replica, Replicas
from tests.patience import PATIENCE

AGENTS = Path(__file__).parent.parent / "security" / "hostile"
LEASE = 2.0


@contextmanager
def replicated(folder: Path, count: int, words: Sequence[str] = ()) -> Iterator[Replicas]:
    replicas = Replicas(folder, lease=LEASE, agents=AGENTS, words=words)
    try:
        replicas.start(count)
        yield replicas
    finally:
        replicas.close()


def begin(replica: Replica, text: str, chat: str) -> str:
    """Say something and leave once the tool was called; return the run."""
    message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": text}]}
    body = {"id": chat, "messages": [message]}
    url = f"{replica.url}/api/chat/hostile"
    with httpx.stream("POST", url, json=body, timeout=PATIENCE) as answer:
        run = answer.headers["x-prism-run"]
        # A replica that is killed by the run may not come to say so.
        with suppress(httpx.TransportError, StopIteration):
            next(line for line in answer.iter_lines() if "tool-input-available" in line)
    return str(run)


def end(replicas: Replicas, run: str) -> tuple[str, str]:
    """Wait for a run's end, wherever it goes on."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        for replica in replicas.alive():
            try:
                url = f"{replica.url}/api/runs/{run}/recording"
                lines = httpx.get(url, timeout=PATIENCE).text.splitlines()
            except httpx.TransportError:
                continue
            ends = [json.loads(line) for line in lines if '"outcome"' in line]
            if ends:
                record = ends[0].get("record", ends[0])
                return record["outcome"], record.get("code", "")
        time.sleep(0.2)
    raise AssertionError("the run did not end")


@pytest.mark.parametrize("threads", ["32", "0"], ids=["in threads", "on the loop"])
def test_a_slow_synchronous_tool_runs_once(tmp_path: Path, threads: str) -> None:
    """For more than three leases. Where it has a thread, its replica goes on serving meanwhile."""
    with replicated(tmp_path, 2, ["--tool-threads", threads]) as replicas:
        owner, other = replicas.all
        run = begin(owner, f"block {3.5 * LEASE}", "chat")
        if threads != "0":
            began = time.monotonic()
            assert httpx.get(owner.url + "/health", timeout=PATIENCE).status_code == 200
            assert time.monotonic() - began < LEASE
        assert end(replicas, run) == ("finished", "")
        assert (tmp_path / "begun.txt").read_text().splitlines() == [str(3.5 * LEASE)]
        blocked = owner.says("event loop blocked", 0.1)
        assert blocked == (threads == "0")
        assert not other.says("run taken over", 0.1)


@pytest.mark.parametrize("words", ["work exit", "block exit", "model exit", "work group"])
def test_no_replica_dies_of_a_run(tmp_path: Path, words: str) -> None:
    """Nor is the run passed from one to the next."""
    with replicated(tmp_path, 2) as replicas:
        outcome, code = end(replicas, begin(replicas.all[0], words, "chat"))
        assert (outcome, code in ("SystemExit", "KeyboardInterrupt")) == ("failed", True)
        assert len(replicas.alive()) == 2


def test_a_call_that_kills_its_process_kills_two(tmp_path: Path) -> None:
    """What no server can catch: the run is tried once more, then it fails, and the third replica lives."""
    with replicated(tmp_path, 3) as replicas:
        run = begin(replicas.all[0], "work die", "chat")
        assert end(replicas, run) == ("failed", "owner_lost")
        assert len(replicas.alive()) == 1
        assert (tmp_path / "begun.txt").read_text().splitlines() == ["die", "die"]
