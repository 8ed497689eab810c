"""Changes of a session's branch that are cut off: a step raises, or the process is gone.

As a program, `python -m tests.server.cut_off FOLDER CHANGE AFTER`, it dies in the middle of one.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from tests.adk.scripted import Scripted, call
from tests.server.local_server import APP, SESSION, USER, LocalServer, agent, local_server
from tests.server.test_lineage import assistant, user
from tests.server.test_lineage import post_named as post

from adk_prism.adk.session_store import is_copy
from adk_prism.errors import LogError
from adk_prism.log.contract import Receipt
from adk_prism.log.entry import Record, RunId, RunStarted
from adk_prism.log.memory import MemoryLog
from adk_prism.log.sqlite.store import SqliteLog

KILLED = 86
Change = Callable[[LocalServer, "Chat"], Awaitable[httpx.Response]]


class Cut:
    """Cuts a change off before one of the events that it appends. Everything else goes on."""

    def __init__(
        self, service: BaseSessionService, kill: Callable[[], object] | None = None
    ) -> None:
        self.after: int | None = None
        """How many events of changes still get through; None: all."""
        self._append = service.append_event
        self._kill = kill
        service.append_event = self.append  # type: ignore[method-assign]

    async def append(self, session: Session, event: Event) -> Event:
        if self.after is not None and _is_of_change(event):
            if not self.after:
                self.after = None
                self.end()
            self.after -= 1
        return await self._append(session, event)

    def end(self) -> None:
        """End as the process does, or the step."""
        if self._kill is not None:
            self._kill()
        raise OSError("the session cannot be written")


def _is_of_change(event: Event) -> bool:
    ours = event.invocation_id.startswith("p-")
    return is_copy(event) or ours or bool(event.actions.rewind_before_invocation_id)


class FullLog(MemoryLog):
    """Takes no new run while it is full."""

    is_full = False

    async def append(self, run: RunId, records: Sequence[Record], **more: Any) -> Receipt:
        if self.is_full and isinstance(records[0], RunStarted):
            raise LogError("The disk is full.")
        return await super().append(run, records, **more)


@dataclass(frozen=True)
class Chat:
    """u1 One. u2, and two versions of what follows; the second is live."""

    one: str
    two: str
    three: str

    @property
    def ends(self) -> dict[str, str]:
        """The last messages of the versions."""
        return {"Two.": self.two, "Three.": self.three}


def working(number: int) -> list[Any]:
    """Return what an answer does besides speaking: it counts, and writes its number down."""
    return [call("count", f"c{number}"), call("note", f"n{number}", text=str(number))]


async def begin(server: LocalServer, model: Scripted) -> Chat:
    model.then(working(1), "One.", working(2), "Two.", working(3), "Three.")
    answers = [await post(server, user("u1"))]
    one = answers[0].headers["x-prism-run"]
    answers.append(await post(server, assistant(one), user("u2")))
    two = answers[1].headers["x-prism-run"]
    answers.append(await again(server, two))
    assert [answer.status_code for answer in answers] == [200, 200, 200], answers[-1].text
    return Chat(one, two, answers[2].headers["x-prism-run"])


async def again(server: LocalServer, message: str) -> httpx.Response:
    return await post(server, trigger="regenerate-message", messageId=message)


async def rewind(server: LocalServer, run: str) -> httpx.Response:
    found = (await server.client.get(f"/api/runs/{run}")).json()
    path = f"/apps/{APP}/users/{USER}/sessions/{SESSION}/rewind"
    return await server.client.post(path, json={"invocationId": found["invocation"]})


CHANGES: dict[str, Change] = {
    "regenerate": lambda server, chat: again(server, chat.one),
    "edit": lambda server, chat: post(server, assistant(chat.one), user("other")),
    "restore": lambda server, chat: post(server, assistant(chat.two), user("u3")),
    "rewind": lambda server, chat: rewind(server, chat.three),
}


async def _die(folder: str, change: str, after: str) -> None:
    """Make a chat, and die in the middle of a change; *start*: before the run is in the log."""
    service = SqliteSessionService(f"{folder}/sessions.db")
    log = _Deadly(f"{folder}/runs.db")
    model = Scripted()
    async with local_server(agent(model), service=service, log=log) as server:
        chat = await begin(server, model)
        if after == "start":
            log.is_deadly = True
        else:
            Cut(service, lambda: os._exit(KILLED)).after = int(after)
        await CHANGES[change](server, chat)


class _Deadly(SqliteLog):
    is_deadly = False

    async def append(self, run: RunId, records: Sequence[Record], **more: Any) -> Receipt:
        if self.is_deadly and isinstance(records[0], RunStarted):
            os._exit(KILLED)
        return await super().append(run, records, **more)


if __name__ == "__main__":
    asyncio.run(_die(*sys.argv[1:]))
