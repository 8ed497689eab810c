"""Large runs: what is computed of them grows with them and no faster, beside everything else."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from tests.adk.scripted import Scripted
from tests.end_to_end.server import Server, serving
from tests.patience import PATIENCE
from tests.server.local_server import LocalServer, agent, local_server

from adk_prism.errors import Busy, TooMany
from adk_prism.log.entry import RunId
from adk_prism.server import throttling
from adk_prism.server.identity.caller import Anyone, Guest
from adk_prism.server.throttling import HEAVY, WAITING_OF_CALLER, HeavyWork

JSONL = {"content-type": "application/jsonl"}
READERS = (
    "view",
    "view?panel=nodes",
    "film",
    "share",
    "recording",
    "stream?as=ai-sdk",
    "stream?as=ag-ui",
    "stream?as=studio",
)


def capture(rounds: int) -> bytes:
    """Return a run whose agents take turns, each with a call, an answer and a key of the state."""
    lines = []
    for turn in range(rounds):
        who = {"invocationId": "i", "author": f"agent{turn % 3}"}
        call = {"functionCall": {"id": f"c{turn}", "name": "f", "args": {"a": "x" * 150}}}
        answer = {"functionResponse": {"id": f"c{turn}", "name": "f", "response": {"a": "y" * 300}}}
        delta = {"stateDelta": {f"key{turn}": "z" * 150}}
        contents = ([call], delta), ([answer], {}), ([{"text": "w" * 300}], {})
        for part, (parts, actions) in enumerate(contents):
            event = {"id": f"e{turn}-{part}", "timestamp": 3.0 * turn + part} | who
            lines.append(json.dumps(event | {"content": {"parts": parts}, "actions": actions}))
    return "\n".join(lines).encode()


async def upload(client: httpx.AsyncClient, body: bytes) -> str:
    answer = await client.post("/api/recordings", content=body, headers=JSONL)
    assert answer.status_code == 201, answer.text
    run: str = answer.headers["x-prism-run"]
    return run


@asynccontextmanager
async def stage_with(rounds: int) -> AsyncIterator[tuple[LocalServer, str, int]]:
    body = capture(rounds)
    async with local_server(agent(Scripted.saying("One."))) as stage:
        yield stage, await upload(stage.client, body), len(body)


async def test_what_is_computed_grows_with_the_run() -> None:
    """Four times the run is about four times every answer, and none is many times its run."""
    sizes: list[dict[str, int]] = []
    for rounds in (400, 1600):
        async with stage_with(rounds) as (stage, run, size):
            empty = len((await stage.client.get("/")).content)
            found = {"upload": size, "empty": empty}
            for reader in READERS:
                answer = await stage.client.get(f"/api/runs/{run}/{reader}")
                assert answer.status_code == 200, (reader, answer.text[:300])
                found[reader] = len(answer.content)
            sizes.append(found)
    small, large = sizes
    for reader in READERS:
        assert large[reader] < 6 * small[reader] + 16 * 2**20, (reader, small, large)
    for reader in ("view", "view?panel=nodes", "film", "recording"):
        assert large[reader] < 5 * large["upload"], (reader, large)


async def test_other_requests_are_served_meanwhile() -> None:
    """A view of a large run is computed in a thread: what waits on the event loop gets its turns."""
    async with stage_with(1500) as (stage, run, _):
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.001)
                ticks += 1

        ticking = asyncio.create_task(tick())
        for reader in ("view", "view?panel=nodes", "film", "share"):
            before = ticks
            answer = await stage.client.get(f"/api/runs/{run}/{reader}")
            assert answer.status_code == 200
            assert (await stage.client.get("/health")).status_code == 200
            assert ticks - before >= 5, reader
        ticking.cancel()


async def test_one_caller_has_one_large_run_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few of its requests wait, more are refused with a time to come back; others are served."""
    monkeypatch.setattr(throttling, "HEAVY", 1000)
    async with stage_with(40) as (stage, run, _):
        paths = [f"/api/runs/{run}/{reader}" for reader in ("view", "film", "share")] * 5
        answers = await asyncio.gather(*map(stage.client.get, paths))
        statuses = [answer.status_code for answer in answers]
        assert set(statuses) == {200, 429}
        assert statuses.count(200) >= WAITING_OF_CALLER + 1
        assert all(a.headers["retry-after"] for a in answers if a.status_code == 429)
        # Afterwards nothing is held back.
        assert (await stage.client.get(paths[0])).status_code == 200


async def test_callers_share_the_process() -> None:
    """Each has one at a time, the process a few; a guest with a share link is a caller of its own."""
    work, running, most = HeavyWork(), 0, 0

    async def one(name: str) -> None:
        nonlocal running, most
        async with work.slot(Anyone(name), HEAVY):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    await asyncio.gather(*(one(f"address-{n}") for n in range(20)))
    assert most == throttling.AT_A_TIME
    async with work.slot(Guest(RunId("r"), "link", 0.0), HEAVY), work.slot(Anyone("a"), HEAVY):
        waiting = [asyncio.create_task(one("a")) for _ in range(WAITING_OF_CALLER)]
        await asyncio.sleep(0)
        with pytest.raises(TooMany):
            await one("a")
        others = [asyncio.create_task(one(f"b-{n}")) for n in range(throttling.WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await one("c")
    await asyncio.gather(*waiting, *others, return_exceptions=True)
    async with work.slot(Anyone("a"), HEAVY):
        pass


def memory(server: Server) -> int:
    """Return the bytes that a server has in memory."""
    return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * 4096


class Health:
    """Asks a server again and again whether it is there, and notes the longest time that took."""

    def __init__(self, server: Server) -> None:
        self._url = server.url
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self.slowest = 0.0

    def _ask(self) -> None:
        with httpx.Client(base_url=self._url, timeout=PATIENCE) as client:
            while not self._over.wait(0.1):
                began = time.monotonic()
                assert client.get("/health").status_code == 200
                self.slowest = max(self.slowest, time.monotonic() - began)

    def __enter__(self) -> Health:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


@pytest.mark.parametrize("log", ["memory:", "sqlite:///runs.db"])
def test_a_server_stays_there_for_others(tmp_path: Path, log: str) -> None:
    """A real server that shows a large run in every way, to its owner and to a guest with a share link.

    It answers others meanwhile; no answer is many times the run, and neither is what stays in memory.
    """
    body, token = capture(3500), "t0ken-" * 8
    tokens = tmp_path / "tokens.json"
    tokens.write_text(json.dumps({token: "anna"}))
    tokens.chmod(0o600)
    words = ("--log", log, "--tokens", str(tokens), "--limit-bytes", "1GiB")
    with serving(tmp_path, *words, agents=None) as server, Health(server) as health:
        server.http.headers["authorization"] = f"Bearer {token}"
        answer = server.http.post("/api/recordings", content=body, headers=JSONL)
        assert answer.status_code == 201, answer.text
        run, before = answer.headers["x-prism-run"], memory(server)
        link = server.http.post(f"/api/runs/{run}/links").json()["token"]
        where = f"/api/runs/{run}"
        own = [f"{where}/{reader}" for reader in READERS] + [
            where,
            f"{where}/stream?as=adk",
            f"/api/compare?a={run}&b={run}",
            f"/api/chat/recording/recording-{run}/messages",
            "/api/runs?q=yyy&limit=5",
        ]
        for path in own * 2:
            answer = server.http.get(path)
            assert answer.status_code == 200, (path, answer.text[:300])
            assert len(answer.content) < 20 * len(body), path
        with httpx.Client(base_url=server.url, timeout=PATIENCE) as guest:
            for reader in READERS:
                answer = guest.get(f"{where}/{reader}", params={"share": link})
                assert answer.status_code == 200, (reader, answer.text[:300])
        assert memory(server) - before < 40 * len(body)
    assert health.slowest < 3.0
