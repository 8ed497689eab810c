"""A console session: typed lines become runs, and their entries become the history.

Shared by the screen and the pipe. It stores nothing: everything shown is computed from what the server
sends, so that a console opened later shows the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import datetime
from typing import Any

import httpx

from adk_prism.errors import NotFound
from adk_prism.features.captures.client import Client, Refused, SessionAddress
from adk_prism.features.console.intents import IntentReader
from adk_prism.features.console.run_follower import (
    Backoff,
    ConnectionLost,
    EntryReceived,
    Reconnected,
    RunAccepted,
    RunFinished,
    RunFollower,
    RunUpdate,
    finished_runs,
)
from adk_prism.features.console.session_history import SessionHistory
from adk_prism.features.page.film import fold
from adk_prism.log.entry import Origin

SHOWN_RUNS = 30
"""Most earlier runs of a session that are loaded."""


class Session:
    """One session of one app."""

    def __init__(self, client: Client, address: SessionAddress) -> None:
        self.client = client
        self.address = address
        self.history = SessionHistory()
        self.intents = IntentReader(self.history, lambda: self.busy, _now)
        self._exchange: RunFollower | None = None

    @property
    def busy(self) -> bool:
        """Whether a run is being started or is active."""
        return self._exchange is not None

    async def open(self) -> str:
        """Load or create the session; return the id of its active run, if any.

        Raise `NotFound` for an unknown app, `Refused` or `Unreachable` for server errors.
        """
        if not await self.client.has_app(self.address.app):
            names = ", ".join(await self.client.apps()) or "none"
            raise NotFound(f"There is no app {self.address.app[:60]!r}. Available apps: {names}.")
        state = await self.client.open_session(self.address)
        # All or nothing: if the server is lost here, the session is opened again.
        before = [entries async for entries in finished_runs(self.client, self.address, SHOWN_RUNS)]
        live = [r.run for r in await self.client.runs(self.address) if r.outcome is None]
        for entries in before:
            self.history.replay(entries)
        origin = Origin(app=self.address.app, user=self.address.user, session=self.address.session)
        self.history.remember(origin, state)
        return live[-1] if live else ""

    async def send(self, body: dict[str, Any]) -> AsyncGenerator[RunUpdate, None]:
        """Start a run; yield its updates, which the history already contains.

        If the server has lost the session, a new one is created. Raise `Refused`, `Unreachable`.
        """
        try:
            async with aclosing(
                self._follow(RunFollower(self.client, self.address, body))
            ) as updates:
                async for item in updates:
                    yield item
        except Refused as refused:
            if refused.code != httpx.codes.NOT_FOUND or "Session" not in refused.detail:
                raise
            await self.client.open_session(self.address)
            self.history.transcript.note(
                "error", "The server no longer has this session. A new one was started."
            )
            async with aclosing(
                self._follow(RunFollower(self.client, self.address, body))
            ) as updates:
                async for item in updates:
                    yield item

    def attach(self, run: str, patience: Backoff | None = None) -> AsyncGenerator[RunUpdate, None]:
        """Follow a run that is already active."""
        return self._follow(RunFollower(self.client, self.address, run=run, patience=patience))

    async def _follow(self, exchange: RunFollower) -> AsyncGenerator[RunUpdate, None]:
        self._exchange = exchange
        try:
            async with aclosing(exchange.updates()) as updates:
                async for item in updates:
                    await self._take(item)
                    yield item
        finally:
            self._exchange = None

    async def _take(self, item: RunUpdate) -> None:
        match item:
            case EntryReceived():
                self.history.feed(item.entry)
            case RunFinished():
                # In a thread: a long run takes a while, and the keys must keep working.
                film = await asyncio.to_thread(fold, item.entries) if item.entries else None
                self.history.settle(item.end, film)
            case RunAccepted() | ConnectionLost() | Reconnected():
                pass  # about the connection only

    async def stop(self) -> None:
        """Stop the active run."""
        if self._exchange is not None and self._exchange.run:
            await self.client.cancel(self._exchange.run)


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
