"""A session at work: what a person types becomes runs, and what the runs tell becomes the dialogue.

What both faces share, the screen and the pipe. It keeps nothing of its own: everything shown is folded
from what the server says, so a panel that is opened later, or again, shows the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import datetime
from typing import Any

import httpx

from adk_prism.console.backoff import Backoff
from adk_prism.console.client import Client
from adk_prism.console.dialogue import Dialogue
from adk_prism.console.exchange import Accepted, Back, Exchange, Lost, News, Settled, Told, history
from adk_prism.console.place import Place
from adk_prism.console.problems import Refused
from adk_prism.console.wishes import Wishes
from adk_prism.errors import NotFound
from adk_prism.runlog.entry import Origin
from adk_prism.view.film import fold

SHOWN_RUNS = 30
"""Runs of an old session that are read back: what a person may want to scroll to."""


class Session:
    """One session of one app."""

    def __init__(self, client: Client, place: Place) -> None:
        self.client = client
        self.place = place
        self.dialogue = Dialogue()
        self.wishes = Wishes(self.dialogue, lambda: self.busy, _now)
        self._exchange: Exchange | None = None

    @property
    def busy(self) -> bool:
        """Whether something is being sent or run."""
        return self._exchange is not None

    async def open(self) -> str:
        """Read the session, or make it; return the run that goes on in it, if one does.

        Raise `NotFound` for an unknown app, `Refused` and `Unreachable` for the server's part.
        """
        if not await self.client.has_app(self.place.app):
            there = ", ".join(await self.client.apps()) or "none"
            raise NotFound(f"There is no app {self.place.app[:60]!r}; there are {there}.")
        state = await self.client.open_session(self.place)
        # Whole or not at all: who loses the server here opens again.
        before = [entries async for entries in history(self.client, self.place, SHOWN_RUNS)]
        live = [r.run for r in await self.client.runs(self.place) if r.outcome is None]
        for entries in before:
            self.dialogue.replay(entries)
        origin = Origin(app=self.place.app, user=self.place.user, session=self.place.session)
        self.dialogue.remember(origin, state)
        return live[-1] if live else ""

    async def send(self, body: dict[str, Any]) -> AsyncGenerator[News, None]:
        """Say something; yield what happens, which the dialogue has taken already.

        A server that has forgotten the session is given a new one. Raise `Refused`, `Unreachable`.
        """
        try:
            async with aclosing(self._follow(Exchange(self.client, self.place, body))) as news:
                async for item in news:
                    yield item
        except Refused as refused:
            if refused.code != httpx.codes.NOT_FOUND or "Session" not in refused.detail:
                raise
            await self.client.open_session(self.place)
            self.dialogue.talk.note("error", "The server had lost this session: it begins anew.")
            async with aclosing(self._follow(Exchange(self.client, self.place, body))) as news:
                async for item in news:
                    yield item

    async def attach(self, run: str, patience: Backoff | None = None) -> AsyncGenerator[News, None]:
        """Go on with a run that was started before."""
        exchange = Exchange(self.client, self.place, run=run, patience=patience)
        async with aclosing(self._follow(exchange)) as news:
            async for item in news:
                yield item

    async def _follow(self, exchange: Exchange) -> AsyncGenerator[News, None]:
        self._exchange = exchange
        try:
            async with aclosing(exchange.news()) as news:
                async for item in news:
                    await self._take(item)
                    yield item
        finally:
            self._exchange = None

    async def _take(self, item: News) -> None:
        match item:
            case Told():
                self.dialogue.feed(item.entry)
            case Settled():
                # A long run takes its time, in which the keys go on working.
                film = await asyncio.to_thread(fold, item.entries) if item.entries else None
                self.dialogue.settle(item.end, film)
            case Accepted() | Lost() | Back():
                pass  # of the connection, not of the dialogue

    async def stop(self) -> None:
        """Stop the run that goes on."""
        if self._exchange is not None and self._exchange.run:
            await self.client.cancel(self._exchange.run)


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
