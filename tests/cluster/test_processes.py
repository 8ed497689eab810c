"""Replicas as processes: told to go, stopped and woken up, dead in a tool, with a clock that is wrong."""

from __future__ import annotations

import json
import random
import signal
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.chaos.history import read_frames
from tests.chaos.replicas import Replica, Replicas
from tests.patience import PATIENCE

AGENTS = Path(__file__).parent / "agents"
LEASE, GRACE = 4.0, 2.0
SEED = 11
Json = dict[str, Any]


# In this order the tests leave processes enough for the next one: each start takes seconds.


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    """Replicas of the app whose tools leave traces."""
    folder = tmp_path_factory.mktemp("counting")
    made = Replicas(folder, lease=LEASE, agents=AGENTS, words=["--grace", f"{GRACE}s"])
    try:
        made.start(3)
        yield made
    finally:
        made.close()


def begin(replica: Replica, text: str) -> str:
    """Ask, and leave; return the run, which goes on."""
    url = f"{replica.url}/api/chat/counting"
    with httpx.stream("POST", url, json=asked(text), timeout=PATIENCE) as answer:
        assert answer.status_code == 200, answer.read()
        return answer.headers["x-prism-run"]


def asked(text: str) -> Json:
    message = {"role": "user", "parts": [{"type": "text", "text": text}]}
    return {"id": f"chat-{uuid.uuid4()}", "messages": [message]}


def whole(replica: Replica, run: str, after: str = "") -> list[tuple[str, bytes]]:
    """Return a run's frames, when it is over."""
    headers = {"last-event-id": after} if after else {}
    answer = httpx.get(stream_of(replica, run), headers=headers, timeout=PATIENCE)
    return read_frames(answer.content)


def stream_of(replica: Replica, run: str) -> str:
    return f"{replica.url}/api/runs/{run}/stream?as=ai-sdk"


def text_of(frames: list[tuple[str, bytes]]) -> bytes:
    return b"".join(data for _, data in frames)


def entries(replica: Replica, run: str) -> list[Json]:
    answer = httpx.get(f"{replica.url}/api/runs/{run}/recording", timeout=PATIENCE)
    found = [json.loads(line) for line in answer.text.splitlines() if line]
    return [entry for entry in found if "cursor" in entry]


def calls(replicas: Replicas, kind: str) -> list[list[str]]:
    """Return what tools have noted: number, process, moment."""
    noted = replicas.folder / "calls"
    lines = noted.read_text().splitlines() if noted.exists() else []
    return [line.split()[1:] for line in lines if line.startswith(kind)]


def waits_for_call(replicas: Replicas, count: int) -> None:
    """Wait until tools were called so often."""
    until = time.monotonic() + PATIENCE
    noted = replicas.folder / "calls"
    while not noted.exists() or len(noted.read_text().splitlines()) < count:
        assert time.monotonic() < until, "no tool is called"
        time.sleep(0.01)  # between two looks at the file of another process


def let_go(replicas: Replicas, *numbers: int) -> None:
    """Let calls that are held go on, wherever."""
    for number in numbers:
        (replicas.folder / f"go-{number}").touch()


def test_a_replica_that_is_told_to_go(counting: Replicas) -> None:
    """Not ready at once, no new runs; its stream breaks off, goes on elsewhere, and the process ends."""
    *_, owner, other = counting.alive()
    with (
        httpx.Client(timeout=PATIENCE) as http,
        http.stream(
            "POST", f"{owner.url}/api/chat/counting", json=asked("stamp 16 held 16")
        ) as stream,
    ):
        run, seen = stream.headers["x-prism-run"], b""
        pieces = stream.iter_raw()
        while b"tool-input" not in seen:
            seen += next(pieces)
        owner.signal(signal.SIGTERM)
        waits_until_not_ready(owner)
        refused = http.post(f"{owner.url}/api/chat/counting", json=asked("stamp 1"))
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) > 0
        rest, broke = read_on(pieces)
        assert broke, "an end would be taken for the run's"
    assert owner.process.wait(PATIENCE) == 0
    let_go(counting, 16)
    frames = read_frames((seen + rest).rpartition(b"\n\n")[0] + b"\n\n")
    assert frames + whole(other, run, after=frames[-1][0]) == whole(other, run)
    recorded = entries(other, run)
    assert recorded[-1]["outcome"] == "finished"
    assert [entry["type"] for entry in recorded].count("RunTakenOver") == 1


def waits_until_not_ready(replica: Replica) -> None:
    """Wait until a replica says that it takes no new work: while it still answers, so before it ends."""
    until = time.monotonic() + PATIENCE
    while httpx.get(f"{replica.url}/ready", timeout=PATIENCE).status_code != 503:
        assert time.monotonic() < until


def read_on(pieces: Iterator[bytes]) -> tuple[bytes, bool]:
    """Return what still comes, and whether it broke off."""
    rest = b""
    try:
        for piece in pieces:
            rest += piece
    except httpx.RemoteProtocolError:
        return rest, True
    return rest, False


def test_an_owner_that_wakes_up_calls_no_tool(counting: Replicas) -> None:
    """Stopped past its lease at random moments: the log takes nothing from it, and its tools stand still.
    Who watches it there goes on to the end."""
    chance = random.Random(SEED)
    for times in (12, 13):
        owner, other, *_ = counting.alive()
        before = len(calls(counting, ""))
        run = begin(owner, f"stamp {times} held {times}")
        with httpx.stream("GET", stream_of(owner, run), timeout=PATIENCE) as watching:
            waits_for_call(counting, before + 2)
            time.sleep(chance.uniform(0, 0.3))  # a moment of any kind: in a tool, or between two
            counting.pause(owner)
            let_go(counting, times)
            try:
                said = whole(other, run)
                log = entries(other, run)
            finally:
                woken = time.monotonic()
                owner.signal(signal.SIGCONT)
            assert f"Done {times} times.".encode() in text_of(said)
            assert read_frames(watching.read()) == said
        assert owner.says("run taken over", PATIENCE), "it finds out"
        late = [call for call in calls(counting, "stamp") if float(call[2]) > woken]
        assert late == [], f"seed {SEED}"
        assert entries(owner, run) == log
        owner.lines.clear()


def test_clocks_that_jump(counting: Replicas) -> None:
    """In mid-run one replica's time of day is an hour ahead, another's an hour late: one owner, who is
    replaced only when it dies; one end, cursors in order."""
    owner, other, *_ = counting.alive()
    before = len(calls(counting, ""))
    run = begin(owner, "stamp 4 held 1 3")
    waits_for_call(counting, before + 1)
    for replica, jump in ((owner, 3600), (other, -3600)):
        replica.clock.write_text(str(jump))
    let_go(counting, 1, 2)
    waits_for_call(counting, before + 3)
    time.sleep(1.5 * LEASE)  # nobody takes it in a time in which a wrong clock would matter
    assert [e["type"] for e in entries(other, run)].count("RunTakenOver") == 0
    owner.signal(signal.SIGKILL)
    let_go(counting, 3)
    assert b"Done 4 times." in text_of(whole(other, run))
    log = entries(other, run)
    other.clock.write_text("0")
    assert [entry["cursor"] for entry in log] == list(range(1, len(log) + 1))
    kinds = [entry["type"] for entry in log]
    assert (kinds.count("RunTakenOver"), kinds.count("RunEnded")) == (1, 1)
    times = [entry["time"] for entry in log]
    assert max(times) - times[-1] > 7000, "the clocks were wrong"


def test_a_tool_with_a_key_takes_effect_once(counting: Replicas) -> None:
    """Its process dies before the effect, after it, and after the answer: three calls, three effects, and
    each call that may have taken effect is said to be in doubt."""
    counting.start(3)
    before = len(counting.alive())
    run = begin(counting.alive()[-1], "pay 3 dying")
    survivor = _left_of(counting, before - 3)[0]
    assert b"Done 3 times." in text_of(whole(survivor, run))
    assert len(list(counting.folder.glob("paid-*"))) == 3
    assert [number for number, *_ in calls(counting, "pay")] == ["1", "1", "2", "2", "3"]
    taken = [entry for entry in entries(survivor, run) if entry["type"] == "RunTakenOver"]
    assert [len(entry.get("in_doubt", [])) for entry in taken] == [1, 1, 0]


def _left_of(replicas: Replicas, count: int) -> list[Replica]:
    """Wait until no more than that many live; return them."""
    until = time.monotonic() + PATIENCE
    while len(replicas.alive()) > count:
        assert time.monotonic() < until, "nobody died"
        time.sleep(0.05)  # between two looks at other processes
    return replicas.alive()
