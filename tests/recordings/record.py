"""Record real runs as files beside this one: prism recordings, one entry a line.

    ADK_PRISM_MODEL=offline PYTHONHASHSEED=0 python -m tests.recordings.record [NAME …]

The plays are those of `capture`, on another stage: here the runs go the way that a server takes, through
the Runner source, the recorder and the log, and what goes on with a run is resolved from what the log
says is pending. Ids and times are counted, so that a recording taken again is the same file.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from types import ModuleType

from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import BaseSessionService
from google.genai import types
from msgspec import Raw
from tests.app_runner import SESSION, USER, AppRun, AppRunner
from tests.recordings import capture, shapes, workflow_shapes
from tests.recordings.chat_shapes import CHAT_SHAPES
from tests.recordings.determinism import start_counting
from tests.recordings.shapes import Shape
from tests.recordings.takeover_shapes import TAKEOVER_SHAPES

from adk_prism.adk.apps import Apps
from adk_prism.apps.tour.scenarios import SCENARIOS
from adk_prism.commands import Answer, RunAgent, ToolAnswer
from adk_prism.errors import ignore
from adk_prism.features.captures.recording_file import write_run
from adk_prism.log.coordination import LocalLeases
from adk_prism.log.entry import AgentEvent, Entry, Origin, RunId, pack
from adk_prism.log.memory import MemoryLog
from adk_prism.runs.branches import SessionBranches
from adk_prism.runs.chats import Chats
from adk_prism.runs.conversations import Conversations, Start
from adk_prism.runs.runs import Runs
from adk_prism.runs.session_locks import SessionLocks
from adk_prism.runs.takeover import Takeovers

HERE = Path(__file__).parent

NOT_RECORDED = {
    "x_live": "a live run, for which there is no source yet",
    "x_resumed": "its process dies in the middle, and the log with it",
    "x_recovery_capture": "nobody plays it: its events are reconstructed",
}

_LARGE = "large file 60"
"""More than travels inline, and no more than it needs to be."""

_STAGED: tuple[ModuleType, ...] = (capture, shapes, workflow_shapes)
"""Whose plays are recorded; each knows the stage by name."""

_DRAWN = re.compile(
    r"(?<=[ep]-)(?!00000000-)[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"
    r'|(?<="correlation":")[0-9a-f]{12}|(?<=Reference: )[0-9a-f]{12}'
)
"""What is drawn by lot on the way to the log: invocations, and references to diagnostics."""


class RecordedTake(AppRun):
    """A run as it is in the log."""

    entries: list[Entry]


class RecordingStage(AppRunner):
    """One app with one session, behind the pipeline of a server."""

    def __init__(
        self,
        app: App,
        sessions: BaseSessionService | None = None,
        streaming: StreamingMode = StreamingMode.SSE,
    ) -> None:
        super().__init__(app, sessions, streaming)
        ticks = count(1)
        self._log = MemoryLog(clock=lambda: 1_750_000_000 + next(ticks) / 1000)
        self._streaming = streaming is StreamingMode.SSE
        self._apps = Apps.of_runners({app.name: self.runner})
        self._origin = Origin(app=app.name, user=USER, session=SESSION)
        leases = LocalLeases()
        locks = SessionLocks(leases)
        self._runs = Runs(self._log, locks, ignore, leases)
        self._takeovers = Takeovers(self._log, self._apps, self._runs, leases, ignore, "retry")
        chats = Chats(self._log)
        branches = SessionBranches(self._log, self._apps, chats, locks)
        self._talk = Conversations(self._apps, self._runs, locks, chats, branches, ignore)
        self._numbers = count(1)

    async def run(
        self,
        message: types.Content | None,
        abort: asyncio.Event | None = None,
        invocation: str | None = None,
        take: AppRun | None = None,
    ) -> AppRun:
        """Run the app as a server would; the take also holds the entries."""
        assert take is None, "a take that is cancelled is no recording"
        await self._log.open()
        await self._apps.sessions(self._origin.app).ensure(self._origin)
        start = self._start()
        content = (
            Raw(message.model_dump_json(by_alias=True, exclude_none=True)) if message else Raw()
        )
        command = RunAgent(content=content, invocation=invocation or "")
        return await self._follow(await self._talk.perform(start, command), abort)

    async def die_at(self, text: str, words: str) -> AppRun:
        """Say something; drop the run when its log has these words, and go on with it as a server does."""
        await self._log.open()
        await self._apps.sessions(self._origin.app).ensure(self._origin)
        message = types.Content(role="user", parts=[types.Part(text=text)])
        content = Raw(message.model_dump_json(by_alias=True, exclude_none=True))
        run = await self._talk.perform(self._start(), RunAgent(content=content))
        async with aclosing(self._log.read(run, follow=True)) as batches:
            async for batch in batches:
                if any(words.encode() in pack(entry.record)[1] for entry in batch):
                    break
        active = self._runs._active[run]
        active.lose()
        await self._runs.wait(run)
        await self._takeovers.look()
        return await self._read(run)

    async def answer_chat(self, message: str, *answers: ToolAnswer) -> AppRun:
        """Go on with a message as a chat client does."""
        command = Answer(message_id=message, answers=[*answers])
        return await self._follow(await self._talk.perform(self._start(), command))

    def _start(self) -> Start:
        return Start(
            origin=self._origin,
            policy="refuse",
            run=RunId(f"run-{next(self._numbers)}"),
            streaming=self._streaming,
        )

    async def _follow(self, run: RunId, abort: asyncio.Event | None = None) -> RecordedTake:
        stopping = asyncio.create_task(self._stop_on(abort, run)) if abort is not None else None
        recorded = await self._read(run)
        if stopping is not None:
            stopping.cancel()
        return recorded

    async def _stop_on(self, abort: asyncio.Event, run: RunId) -> None:
        await abort.wait()
        await self._runs.cancel(run)

    async def _read(self, run: RunId) -> RecordedTake:
        take = RecordedTake()
        async with aclosing(self._log.read(run, follow=True)) as batches:
            take.entries = [entry async for batch in batches for entry in batch]
        for entry in take.entries:
            if isinstance(entry.record, AgentEvent):
                take.lines.append(entry.record.event.decode())
                take.events.append(Event.model_validate_json(entry.record.event))
        return take


def _plays() -> dict[str, Shape]:
    large = next(scenario for scenario in SCENARIOS if scenario.name == "large file")
    found = {**capture.CAPTURES, "large_file": capture._scenario(replace(large, prompt=_LARGE))}
    for name, shape in CHAT_SHAPES.items():
        found[name] = partial(shape, RecordingStage)
    for name, dies in TAKEOVER_SHAPES.items():
        found[name] = partial(dies, RecordingStage)
    return {name: play for name, play in found.items() if name not in NOT_RECORDED}


PLAYS = _plays()


async def record(name: str) -> dict[str, bytes]:
    """Return the recordings of one play, by file name."""
    start_counting()
    with _recording():
        takes = await PLAYS[name]()
    drawn: dict[str, str] = {}
    files = {}
    for suffix, take in takes.items():
        assert isinstance(take, RecordedTake)
        text = b"".join(write_run(take.entries)).decode()
        file = f"{name}.{suffix}.jsonl" if suffix else f"{name}.jsonl"
        files[file] = _DRAWN.sub(lambda match: _counted(match[0], drawn), text).encode()
    return files


@contextmanager
def _recording() -> Iterator[None]:
    """Put the other stage up for the plays."""
    for module in _STAGED:
        setattr(module, "AppRunner", RecordingStage)  # noqa: B010 - a module has no such attribute
    try:
        yield
    finally:
        for module in _STAGED:
            setattr(module, "AppRunner", AppRunner)  # noqa: B010 - see above


def _counted(drawn: str, known: dict[str, str]) -> str:
    number = len(known) + 1
    made = f"{number:012x}" if len(drawn) == 12 else f"00000000-0000-4000-9000-{number:012d}"
    return known.setdefault(drawn, made)


async def main(names: list[str]) -> None:
    """Write the named recordings, or all."""
    for name in names or PLAYS:
        # A task of its own: the counters live in its context.
        for file, data in (await asyncio.create_task(record(name))).items():
            (HERE / file).write_bytes(data)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
