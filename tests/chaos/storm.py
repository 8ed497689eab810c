"""Runs with viewers, and something that goes wrong in the middle of each."""

from __future__ import annotations

import asyncio
import json
import random
import resource
import signal
import sqlite3
import time
import uuid
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from redis.asyncio import Redis
from tests.chaos.history import (
    PROTOCOLS,
    History,
    anomalies,
    answer_anomalies,
    call_anomalies,
    log_anomalies,
    outcome_anomalies,
    read_frames,
)
from tests.chaos.replicas import Replica, Replicas
from tests.patience import PATIENCE

WORDS = 200
LONG = f"long {WORDS}"
SLACK = 3.0
"""Seconds that a takeover may be late on a machine that has nothing else to do."""

ERRORS = (httpx.TransportError, httpx.StreamError)

AGENTS = Path(__file__).parent / "agents"
HOSTILE = {
    "block": {"finished"},
    "leave": {"failed"},
    "leave_later": {"failed"},
    "panic": {"failed"},
    "interrupt": {"failed"},
    "cancelled": {"failed"},
    "leak": {"finished"},
    "hang": {"cancelled"},
}
"""What the app *hostile* does when asked, and how the run then ends where nothing else happens to it."""
ALIKE = ("--errors", "reference")
"""Words that make replicas answer alike: the full text of an error is known to its own process only."""


@dataclass
class Report:
    """What became of one run."""

    fault: str
    run: str = ""
    outcome: str = ""
    takeovers: int = 0
    waited: float = 0.0
    """Seconds between the fault and the takeover."""
    entries: int = 0
    reconnections: int = 0
    hostile: str = ""
    """What a second run of the same owner did, and its outcome."""
    wrong: list[str] = field(default_factory=list)


@dataclass
class Watched:
    """A run and those who look at it."""

    run: str
    chat: str
    histories: list[History]
    watching: list[asyncio.Task[None]]


class Storm:
    """Plays faults on a cluster."""

    def __init__(
        self,
        replicas: Replicas,
        lease: float,
        seed: int,
        viewers: int = 6,
        *,
        outage: float = 1.0,
        slack: float = SLACK,
        latest: float = 1.5,
    ) -> None:
        """An `outage` of a store lasts up to so many seconds; a takeover may be late by `slack`.

        A fault comes at most `latest` seconds after the start of a run.
        """
        self._latest = latest
        self._replicas = replicas
        self._lease = lease
        self._random = random.Random(seed)
        self._viewers = viewers
        self._outage = outage
        self._slack = slack

    async def play(
        self, fault: str, owner: Replica | None = None, *, app: str = "tour", hostile: str = ""
    ) -> Report:
        """Start a run, watch it, let the fault happen to its owner, and check everything.

        With `hostile`, the owner has a second run that misbehaves in that way.
        """
        report = Report(fault, hostile=hostile)
        owner = owner or self._random.choice(self._replicas.alive())
        async with httpx.AsyncClient(timeout=PATIENCE) as http:
            watched = [
                await self._begin(http, owner, app, said) for said in (LONG, hostile) if said
            ]
            report.run = watched[0].run
            await asyncio.sleep(self._random.uniform(0.05, self._latest))
            broke = time.time()
            done = asyncio.gather(*(task for each in watched for task in each.watching))
            await _FAULTS[fault](self, owner, done)
            if hostile == "hang":
                await self._stop(http, watched[-1])
            try:
                await asyncio.wait_for(done, PATIENCE)
            except TimeoutError:
                report.wrong.append("a viewer was left waiting")
            await self._check(http, report, watched[0], broke)
            if app == "hostile":
                await self._check_answer(http, report, watched[0])
            if hostile:
                await self._check_hostile(http, report, watched[-1])
        report.wrong += [f"process {pid} died" for pid in self._replicas.lost()]
        return report

    async def _begin(self, http: httpx.AsyncClient, owner: Replica, app: str, said: str) -> Watched:
        message = {"role": "user", "parts": [{"type": "text", "text": said}]}
        chat = f"chat-{uuid.uuid4()}"
        body = {"id": chat, "messages": [message]}
        run = await self._post(http, f"{owner.url}/api/chat/{app}", body)
        histories = [
            History(f"viewer {n + 1}", protocol=PROTOCOLS[n % len(PROTOCOLS)])
            for n in range(self._viewers)
        ]
        watching = [asyncio.create_task(self._watch(h, run)) for h in histories]
        return Watched(run, chat, histories, watching)

    async def _post(self, http: httpx.AsyncClient, url: str, body: dict[str, Any]) -> str:
        """Start a run; a server whose store has just come back may say that it is not ready yet."""
        until = time.monotonic() + PATIENCE
        while True:
            async with http.stream("POST", url, json=body) as answer:
                if answer.status_code == 200:
                    return answer.headers["x-prism-run"]
                said = await answer.aread()
            assert answer.status_code == 503, said
            assert time.monotonic() < until, said
            await asyncio.sleep(0.5)

    async def _stop(self, http: httpx.AsyncClient, watched: Watched) -> None:
        """Ask for the end of a run until it has one; who owns it may just have died."""
        while not all(task.done() for task in watched.watching):
            with suppress(*ERRORS, IndexError):
                replica = self._random.choice(self._replicas.alive())
                await http.post(f"{replica.url}/api/runs/{watched.run}/cancel")
            await asyncio.wait(watched.watching, timeout=1)

    async def _watch(self, history: History, run: str) -> None:
        """Read to the end, at whichever replica answers; cut now and then, as networks do."""
        while not history.has_ended:
            history.connections += 1
            try:
                replica = self._random.choice(self._replicas.alive())
                await self._read(history, replica, run, self._random.randrange(500, 60_000))
            except (*ERRORS, IndexError):  # Nobody may be there for a moment.
                await asyncio.sleep(0.05)  # before another one is asked

    async def _read(self, history: History, replica: Replica, run: str, patience: int) -> None:
        headers = {"last-event-id": history.frames[-1][0]} if history.frames else {}
        timeout = httpx.Timeout(PATIENCE, read=self._lease + 3)
        path = f"{replica.url}/api/runs/{run}/stream?as={history.protocol}"
        async with (
            httpx.AsyncClient(timeout=timeout) as http,
            http.stream("GET", path, headers=headers) as answer,
        ):
            if answer.status_code == 204:  # The run is over, and all of it was seen.
                history.has_ended = True
                return
            if answer.status_code != 200:
                await asyncio.sleep(0.2)
                return
            rest = b""
            async for piece in answer.aiter_raw():
                rest += piece
                whole = rest.rpartition(b"\n\n")[0]
                if whole:
                    history.frames += read_frames(whole + b"\n\n")
                    rest = rest[len(whole) + 2 :]
                patience -= len(piece)
                if patience < 0:
                    return
            history.has_ended = True

    async def _check(
        self, http: httpx.AsyncClient, report: Report, watched: Watched, broke: float
    ) -> None:
        entries = await self._check_log(http, report, watched)
        report.entries = len(entries)
        report.outcome = entries[-1].get("outcome", "none")
        report.wrong += outcome_anomalies(report.fault, report.outcome, entries[-1].get("code", ""))
        taken = [entry["time"] for entry in entries if entry["type"] == "RunTakenOver"]
        report.takeovers = len(taken)
        report.waited = min((when - broke for when in taken if when > broke), default=0.0)
        # A single process is only there again once it has started.
        has_others = self._replicas.redis is not None
        is_late = has_others and report.waited > self._lease + 1 + self._slack
        if report.fault in ("kill", "pause") and is_late:
            report.wrong.append(f"the takeover took {report.waited:.1f} s")

    async def _check_log(
        self, http: httpx.AsyncClient, report: Report, watched: Watched
    ) -> list[dict[str, Any]]:
        """Compare what viewers saw with the log; return its entries."""
        entries = await self._recording(http, watched.run)
        kinds = [entry["type"] for entry in entries]
        report.wrong += log_anomalies([entry["cursor"] for entry in entries], kinds)
        url = f"{self._replicas.alive()[0].url}/api/runs/{watched.run}/stream?as="
        references = {name: read_frames((await http.get(url + name)).content) for name in PROTOCOLS}
        for history in watched.histories:
            report.wrong += anomalies(history, references[history.protocol])
            report.reconnections += history.connections - 1
        return entries

    async def _check_answer(
        self, http: httpx.AsyncClient, report: Report, watched: Watched
    ) -> None:
        """Look into ADK's session: an answer is there once."""
        url = f"{self._replicas.alive()[0].url}/apps/hostile/users/user/sessions/{watched.chat}"
        events = (await http.get(url)).json()["events"]
        answers = [
            "".join(part.get("text", "") for part in event["content"]["parts"])
            for event in events
            if event["author"] == "hostile" and event.get("content", {}).get("parts")
        ]
        report.wrong += answer_anomalies(answers, report.outcome, WORDS)

    def _check_calls(self, report: Report, entries: list[dict[str, Any]]) -> None:
        """Compare what tools began with and what the log says of their calls."""
        file = self._replicas.folder / "begun.txt"
        begun = Counter(file.read_text().split()) if file.exists() else Counter[str]()
        own: set[str] = set()
        answered: set[str] = set()
        doubted: Counter[str] = Counter()
        for entry in entries:
            if entry["type"] == "RunTakenOver":
                doubted.update(entry.get("in_doubt", []))
            for part in entry.get("event", {}).get("content", {}).get("parts", []):
                own |= {part["functionCall"]["id"]} if "functionCall" in part else set()
                if "functionResponse" in part:
                    answered.add(part["functionResponse"]["id"])
        counted = {call: begun[call] for call in own}
        report.wrong += call_anomalies(counted, doubted, answered)

    async def _check_hostile(
        self, http: httpx.AsyncClient, report: Report, watched: Watched
    ) -> None:
        entries = await self._check_log(http, report, watched)
        self._check_calls(report, entries)
        outcome = entries[-1].get("outcome", "none")
        # Whoever goes on with a call that was begun may find that it cannot be repeated.
        allowed = HOSTILE[report.hostile] | (set() if report.fault == "none" else {"failed"})
        if outcome not in allowed:
            report.wrong.append(f"{report.hostile} ended as {outcome}")
        report.hostile = f"{report.hostile} {outcome}"

    async def _recording(self, http: httpx.AsyncClient, run: str) -> list[dict[str, Any]]:
        replica = self._replicas.alive()[0]
        answer = await http.get(f"{replica.url}/api/runs/{run}/recording")
        lines = [json.loads(line) for line in answer.text.splitlines() if line]
        return [line for line in lines if "cursor" in line]

    # ------------------------------------------------------------------ faults

    async def _full(self, owner: Replica, done: asyncio.Future[Any]) -> None:
        """Let Redis take nothing more for a while."""
        del owner, done
        assert self._replicas.redis is not None, "the log is not in Redis"
        async with Redis.from_url(self._replicas.redis.url) as redis:
            await redis.config_set("maxmemory", "1mb")
            await asyncio.sleep(self._random.uniform(0.1, self._outage))
            await redis.config_set("maxmemory", "0")

    async def _locked(self, owner: Replica, done: asyncio.Future[Any]) -> None:
        """Lock the file of the log for a while, as a backup does."""
        del owner, done
        with closing(sqlite3.connect(self._replicas.log, isolation_level=None)) as backup:
            backup.execute("PRAGMA busy_timeout = 5000")
            backup.execute("BEGIN EXCLUSIVE")
            await asyncio.sleep(self._random.uniform(0.1, self._outage))
            backup.execute("ROLLBACK")

    async def _disk(self, owner: Replica, done: asyncio.Future[Any]) -> None:
        """Let no file of the process grow beyond the log's for a while: the kernel refuses as a full disk."""
        del done
        files = [f for f in self._replicas.log.parent.iterdir() if f.is_file()]
        size, pid = max(file.stat().st_size for file in files), owner.process.pid
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))
        await asyncio.sleep(self._random.uniform(0.1, self._outage))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))

    async def _kill(self, owner: Replica, done: asyncio.Future[Any]) -> None:
        del done
        owner.signal(signal.SIGKILL)
        await asyncio.to_thread(owner.process.wait)
        await asyncio.to_thread(self._replicas.start)

    async def _pause(self, owner: Replica, done: asyncio.Future[Any]) -> None:
        """Stop a process for longer than its leases, and let it wake up when others have gone on."""
        await asyncio.to_thread(self._replicas.pause, owner)
        url, owner.url = owner.url, ""  # nobody asks it meanwhile
        try:
            await asyncio.wait([done], timeout=PATIENCE)
        finally:
            owner.signal(signal.SIGCONT)
            owner.url = url
        await asyncio.sleep(1)  # for whatever it may still want to do

    async def _redis(self, owner: Replica, done: asyncio.Future[Any]) -> None:
        del owner, done
        assert self._replicas.redis is not None, "the log is not in Redis"
        self._replicas.redis.kill()
        await asyncio.sleep(self._random.uniform(0.1, self._outage))
        await asyncio.to_thread(self._replicas.redis.restart)

    async def _postgres(self, owner: Replica, done: asyncio.Future[Any]) -> None:
        del owner, done
        postgres = self._replicas.postgres
        assert postgres is not None, "the sessions are not in PostgreSQL"
        postgres.kill()
        await asyncio.sleep(self._random.uniform(0.1, self._outage))
        await asyncio.to_thread(postgres.restart)

    async def _term(self, owner: Replica, done: asyncio.Future[Any]) -> None:
        del done
        owner.signal(signal.SIGTERM)
        await asyncio.to_thread(self._replicas.start)

    async def _nothing(self, owner: Replica, done: asyncio.Future[Any]) -> None:
        del owner, done


_FAULTS = {
    "kill": Storm._kill,
    "pause": Storm._pause,
    "redis": Storm._redis,
    "full": Storm._full,
    "locked": Storm._locked,
    "disk": Storm._disk,
    "postgres": Storm._postgres,
    "term": Storm._term,
    "none": Storm._nothing,
}
FAULTS = tuple(_FAULTS)
