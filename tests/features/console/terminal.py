"""A panel under test: typed on as a person does, and read as the lines on the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.patience import PATIENCE
from textual.pilot import Pilot
from textual.widgets import Input

from adk_prism.features.console.screen import FRAME, Console

LOOK = 0.02
"""Seconds between two looks; nothing depends on how long."""


class Terminal:
    """One panel."""

    def __init__(self, console: Console, pilot: Pilot[Any]) -> None:
        self.console = console
        self.pilot = pilot

    @property
    def lines(self) -> list[str]:
        """The lines on the screen."""
        strips = self.console.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.lines)

    @property
    def line(self) -> Input:
        """The input line."""
        return self.console.query_one(Input)

    async def until(self, true: Callable[[], bool], why: str = "") -> None:
        """Wait until something is so."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not true():
                    await self.pilot.pause(LOOK)
        except TimeoutError:
            raise AssertionError(f"never: {why}\n{self.text}") from None

    async def sees(self, *words: str) -> None:
        """Wait until the screen shows all of some words."""
        for each in words:
            await self.until(lambda each=each: each in self.text, each)  # type: ignore[misc]

    async def until_open(self) -> None:
        """Wait until the session has been read."""
        says = self.console._says
        await self.until(lambda: self.console._says is not says, "open")
        await self.pilot.pause(2 * FRAME)

    async def until_idle(self) -> None:
        """Wait until nothing is being opened, sent or run, and everything is drawn."""
        console = self.console

        def idle() -> bool:
            return not (console._session.busy or console._sent or console._dirty)

        await self.until(idle, "idle")
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        """Type a line and press Enter, from wherever one is."""
        if not self.line.has_focus:
            await self.pilot.press("enter")
        self.line.value = text
        await self.pilot.press("enter")

    async def say(self, text: str) -> None:
        """Type a line and wait until everything has come of it."""
        await self.type(text)
        await self.until_idle()

    async def press(self, *keys: str) -> None:
        """Press keys and wait until everything has come of them."""
        await self.pilot.press(*keys)
        await self.until_idle()
