"""What a client that comes back to a thread is sent of its past.

One run that gives state and messages as snapshots, and ends as the last run did: with its interrupts, or its
error. A snapshot takes the place of what the client still shows; events of the past would be added to
messages of the same id. It is also much smaller than they are. Only a thread that does not fit one event is
sent run by run, after an empty snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, structs

from adk_prism.errors import NotFound
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.message_stream import Shown, build_history, shown, without_held_runs
from adk_prism.pipeline.off_loop import call_sized
from adk_prism.pipeline.turns import ChatRun, Turn, stored_bytes
from adk_prism.projection.ag_ui import SPEC
from adk_prism.projection.ag_ui.dialects import dialect
from adk_prism.projection.ag_ui.frame_size import fits
from adk_prism.projection.ag_ui.frames import (
    Frame,
    MessagesSnapshot,
    RunFinished,
    RunStarted,
    StateSnapshot,
)
from adk_prism.projection.ag_ui.history import ThreadMessages
from adk_prism.projection.ag_ui.run_input import run_id
from adk_prism.projection.contract import Format, Payload
from adk_prism.runlog.entry import Origin, RunId
from adk_prism.server.json_list import json_list
from adk_prism.source.apps import Apps
from adk_prism.source.redaction import state_json

Json = dict[str, Any]


class Past(Struct, frozen=True):
    """What is sent of a thread: frames, then runs."""

    frames: Sequence[Payload] = ()
    runs: Sequence[RunId] = ()


async def thread_past(
    chats: Chats, apps: Apps, origin: Origin, turns: Sequence[Turn], format: Format
) -> Past:
    """Return what to send of a thread with these turns; nothing of a new one."""
    places = [without_held_runs(place) for place in shown(turns)]
    if not places:
        return Past()
    version = dialect(format.options.dialect).protocol_version
    begin = RunStarted(origin.session, f"{origin.session}-connect", version or UNSET)
    on = [place for place in places if place.turn.resumable]
    history = ThreadMessages(format.options, format.complete)
    await build_history(chats, turns, history)
    messages, size = await call_sized(stored_bytes(turns), _written, history)
    state = await _state(apps, origin)
    if not fits(size) or not fits(len(bytes(state))):
        return Past(_as_run(begin, MessagesSnapshot([])), _runs(places))
    over = [run for place in places for run in place.turn.runs if run.summary.outcome is not None]
    snapshots: list[Frame] = [StateSnapshot(state), MessagesSnapshot(messages)]
    if on or not over:
        return Past(_as_run(begin, *snapshots), _runs(on))
    begin = structs.replace(begin, run_id=run_id(over[-1].head))
    if over[-1].summary.outcome == "cancelled":
        return Past(_as_run(begin, *snapshots))  # no error to be told again
    end = await _end_of(chats, over[-1], format)
    return Past([SPEC.payload(begin), *map(SPEC.payload, snapshots), *end])


def _written(history: ThreadMessages) -> tuple[list[Json], int]:
    """Return the messages of a thread and the bytes of their JSON."""
    messages = history.messages()
    return messages, len(json_list(messages))


def _runs(places: Sequence[Shown]) -> list[RunId]:
    return [run.summary.run for place in places for run in place.turn.runs]


async def _state(apps: Apps, origin: Origin) -> Raw:
    try:
        state = await apps.sessions(origin.app).state(origin)
    except NotFound:  # the log has runs of a session that is gone
        state = {}
    return Raw(msgspec.json.encode(state_json(state)))


def _as_run(begin: RunStarted, *frames: Frame) -> list[Payload]:
    """Return frames as a run of their own."""
    end = RunFinished(begin.thread_id, begin.run_id, {"type": "success"})
    return [SPEC.payload(frame) for frame in (begin, *frames, end)]


async def _end_of(chats: Chats, run: ChatRun, format: Format) -> list[Payload]:
    """Return the last event of a run."""
    reader, last = format.reader(), list[Payload]()
    async for entry in chats.entries(run.summary.run):
        last = reader.feed(entry)[-1:] or last
    return last
