"""Threads as CopilotKit's runtime gives them: a list, and the messages, events and state of one.

A thread is an ADK session with runs in the log. Its id does not say whose it is or of which app: the caller
sees its own, and the latest one counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from msgspec import Raw

from adk_prism.errors import Gone, NotFound
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.message_stream import build_history
from adk_prism.pipeline.off_loop import call_sized
from adk_prism.pipeline.turns import runs_of, stored_bytes
from adk_prism.projection.ag_ui.history import ThreadMessages
from adk_prism.projection.ag_ui.run_input import user_message
from adk_prism.projection.contract import Format, FrameReader
from adk_prism.projection.file_links import FileLinks
from adk_prism.runlog.contract import RunLog, RunSummary
from adk_prism.runlog.entry import Entry, Origin
from adk_prism.server.identity.caller import Caller
from adk_prism.server.json_list import json_list
from adk_prism.server.limits.heavy_work import HeavyWork
from adk_prism.source.apps import Apps
from adk_prism.source.redaction import state_json

Json = dict[str, Any]

MOST_LISTED = 200
"""Threads of one answer; the newest."""
MOST_EVENTS = 20_000
"""Events of one answer, the last ones: what an inspector shows."""
LONGEST_NAME = 120
"""Characters of a thread's name: two lines of a narrow list."""


def _add(found: deque[bytes], reader: FrameReader, entry: Entry) -> None:
    found.extend(payload.data for payload in reader.feed(entry))


class Threads:
    """The threads of one server."""

    def __init__(self, log: RunLog, chats: Chats, apps: Apps, heavy: HeavyWork) -> None:
        self._log = log
        self._apps = apps
        self._chats = chats
        self._heavy = heavy

    async def listed(self, app: str, user: str, limit: int) -> list[Json]:
        """Return threads, the one that was active last first; an empty app or user stands for all."""
        by_origin: dict[Origin, list[RunSummary]] = {}
        for summary in await self._log.list(app=app, user=user):
            by_origin.setdefault(summary.origin, []).append(summary)
        latest = sorted(by_origin.values(), key=lambda runs: runs[-1].started, reverse=True)
        shown: list[Json] = []
        for runs in latest:
            if len(shown) == min(limit, MOST_LISTED):
                break
            told = await self._told(runs)
            shown += [told] if told is not None else []
        return shown

    async def _told(self, runs: Sequence[RunSummary]) -> Json | None:
        try:
            head = await self._chats.beginning(runs[0].run)
        except (NotFound, Gone):  # Deleted since it was listed.
            return None
        if head.uploaded:
            return None  # a recording, and no thread of this server
        first, last = runs[0], runs[-1]
        said = (user_message("", head, FileLinks()) or {}).get("content")
        return {
            "id": last.origin.session,
            "name": _short(said) or None,
            "agentId": last.origin.app,
            "organizationId": "",
            "createdById": last.origin.user,
            "archived": False,
            "createdAt": _written(first.started),
            "updatedAt": _written(last.ended or last.started),
            "lastRunAt": _written(last.started),
        }

    async def find(self, thread: str, app: str, user: str) -> Origin:
        """Return where a thread belongs; an empty app or user stands for all. Raise `NotFound`."""
        found = await self.search(thread, app, user)
        if found is None:
            raise NotFound(f"There is no thread {thread[:60]!r}.")
        return found

    async def search(self, thread: str, app: str, user: str) -> Origin | None:
        """Return where a thread belongs; None if there is none."""
        found = await self._log.list(app=app, user=user, session=thread)
        return found[-1].origin if found else None

    async def messages(self, caller: Caller, origin: Origin, format: Format) -> bytes:
        """Return the messages of a thread in the form of CopilotKit's runtime, as a JSON list.

        Raise `TooMany` or `Busy`.
        """
        history = ThreadMessages(format.options, format.complete)
        turns = await self._chats.turns(origin)
        size = stored_bytes(turns)
        async with self._heavy.slot(caller, size):
            await build_history(self._chats, turns, history)
            return await call_sized(size, lambda: json_list(map(_flat, history.messages())))

    async def events(self, caller: Caller, origin: Origin, format: Format) -> bytes:
        """Return the events of a thread's runs, as a JSON list: of the one that is on what is there.

        Raise `TooMany` or `Busy`.
        """
        found: deque[bytes] = deque(maxlen=MOST_EVENTS)
        turns = await self._chats.turns(origin)
        async with self._heavy.slot(caller, stored_bytes(turns)):
            for run in runs_of(turns):
                await self._chats.feed(run, partial(_add, found, format.reader()))
        return b"[%b]" % b",".join(found)

    async def state(self, origin: Origin) -> Mapping[str, Raw]:
        """Return the state of a thread, as clients see it. Raise `NotFound`."""
        return state_json(await self._apps.sessions(origin.app).state(origin))


def _flat(message: Json) -> Json:
    """Return a message whose calls are not wrapped in functions."""
    calls = message.get("toolCalls")
    if not calls:
        return message
    flat = [
        {"id": c["id"], "name": c["function"]["name"], "args": c["function"]["arguments"]}
        for c in calls
    ]
    return {**message, "toolCalls": flat}


def _written(seconds: float) -> str:
    """Return a time as JavaScript's `toISOString` writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def _short(said: Any) -> str:
    if isinstance(said, list):
        said = " ".join(part.get("text", "") for part in said)
    return " ".join(str(said or "")[: LONGEST_NAME * 4].split())[:LONGEST_NAME]
