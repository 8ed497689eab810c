"""What redaction costs: a recorded run of 2,000 deltas, and what of it looks for secrets.

The run is a whole one, from ADK's Runner into an SQLite log, with ten known values, two of which begin with
letters of the text. The redaction is measured by itself on the events of that run, as the log calls it: so
the share is exact on a busy machine too, where a difference of two runs is lost in the noise. CPU time of the
thread; the best round counts, since what else a machine does can only add.
"""

from __future__ import annotations

import asyncio
import tempfile
from itertools import count
from pathlib import Path

from google.adk.apps.app import App
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from adk_prism.adk.request import RunRequest
from adk_prism.adk.runner import RunnerSource
from adk_prism.adk.secrets import Secrets
from adk_prism.adk.sessions import Sessions
from adk_prism.adk.stream_redaction import RunRedaction
from adk_prism.errors import ignore
from adk_prism.log.entry import AgentEvent, Origin, RunId
from adk_prism.log.from_url import open_log
from adk_prism.runs.recorder import RunRecorder
from benchmarks.agents.speaker.agent import root_agent
from benchmarks.rounds import cpu_per_item, take_turns
from benchmarks.table import Row, micros

DELTAS = 2000
KNOWN = [f"{first}-known-value-{first}{n}" for n, first in enumerate("tr0123456Q")]
_runs = count(1)


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the share."""
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        secrets = Secrets(KNOWN)
        events = asyncio.run(_recorded(Path(folder), secrets))
        assert len(events) == DELTAS + 1
        variants = {
            "run": cpu_per_item(lambda: asyncio.run(_recorded(Path(folder), secrets)), DELTAS),
            "redaction": cpu_per_item(lambda: _redacted(secrets, events), DELTAS),
        }
        measured = take_turns(variants, 3 if quick else 15)
        run, share = (min(measured.costs[name]) for name in variants)
        name = f"{DELTAS:,} deltas, per delta: redaction, against the whole run"
        found.append(Row(name, micros(share), micros(run), share / run, 0.03))
    return found


def _redacted(secrets: Secrets, events: list[bytes]) -> None:
    redaction = RunRedaction(secrets)
    for data in events:
        if not redaction.passes(data):
            redaction.feed("AgentEvent", data)


async def _recorded(folder: Path, secrets: Secrets) -> list[bytes]:
    """Record a run; return its events."""
    service = InMemorySessionService()
    runner = Runner(app=App(name="app", root_agent=root_agent), session_service=service)
    run = RunId(f"run-{next(_runs)}")
    origin = Origin(app="app", user="u", session=run)
    await Sessions(service).create(origin, {})
    log = open_log(f"sqlite:///{folder / run}.db")
    log.attach(redact=secrets.payload, streams=lambda: RunRedaction(secrets))
    await log.open()
    try:
        request = RunRequest(run=run, origin=origin, message=types.UserContent(str(DELTAS)))
        source = RunnerSource(runner, request, nodes=True)
        await RunRecorder(log, run, source, ignore).record()
        entries = [entry async for batch in log.read(run) for entry in batch]
        return [entry.record.event for entry in entries if type(entry.record) is AgentEvent]
    finally:
        await log.close()
