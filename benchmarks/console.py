"""The terminal panel: a long answer, drawn as it grows.

What is laid out anew with every frame must not be the whole answer: the last tenth of it may cost what the
first one did. Each frame is drawn, which a screen with something else to do would not.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path

from adk_prism.features.captures.client import Client, SessionAddress, connect
from adk_prism.features.console import screen
from adk_prism.features.console.screen import FRAME, Console
from adk_prism.features.console.session import RunFollower
from adk_prism.log.entry import AgentEvent, Entry, Origin, RunStarted
from benchmarks.table import Row, millis

PACE = 200
"""Tokens a second: faster than any model that people read along with."""
AT_ONCE = round(PACE * FRAME)
"""Tokens that come between two drawings."""
NOWHERE = "http://127.0.0.1:9"
ADDRESS = SessionAddress("app", "session")
TARGET = 2.0


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparison."""
    tokens = 4_000 if quick else 20_000
    first, last = asyncio.run(_measure(tokens))
    name = f"console: the last tenth of {tokens:,} tokens, the first"
    return [Row(name, millis(last), millis(first), last / first, TARGET)]


class _Alone(Console):
    """The panel without a server: what it shows is put into its history."""

    CSS_PATH = str(Path(screen.__file__).with_name("screen.tcss"))

    def _open(self) -> None:  # type: ignore[override]
        self._say("")


async def _measure(tokens: int) -> tuple[float, float]:
    """Return what drawing the first and the last tenth of an answer cost, in processor seconds."""
    console = _Alone(NOWHERE, ADDRESS)
    async with connect(NOWHERE) as http, console.run_test(size=(120, 40)) as pilot:
        session = console._session
        session._exchange = RunFollower(Client(http), ADDRESS, run="run-1")  # something goes on
        costs: list[float] = []
        answer = list(_answer(tokens))
        for start in range(0, len(answer), AT_ONCE):
            began = time.process_time()
            for entry in answer[start : start + AT_ONCE]:
                session.history.feed(entry)
            console._dirty, console._rests = True, 0.0
            console._tick()
            await pilot.pause()
            costs.append(time.process_time() - began)
    tenth = len(costs) // 10
    # The very first frame also loads what draws.
    return sum(costs[1 : tenth + 1]), sum(costs[-tenth:])


def _answer(tokens: int) -> Iterator[Entry]:
    """Yield a run that says so many tokens of Markdown, and nothing else."""
    origin = Origin(app="app", user="user", session="session")
    yield Entry(1, 0.0, RunStarted(run="run-1", origin=origin))
    for number in range(tokens):
        event = {
            "id": "e-1",
            "invocationId": "i-1",
            "author": "agent",
            "partial": True,
            "timestamp": number / PACE,
            "content": {"role": "model", "parts": [{"text": _token(number)}]},
        }
        yield Entry(number + 2, number / PACE, AgentEvent(json.dumps(event).encode()))


def _token(number: int) -> str:
    """Return a word of a long text: with paragraphs, a list now and then, and some code."""
    if number % 400 == 399:
        return "\n\n```python\nx = 1\n```\n\n"
    if number % 80 == 79:
        return "\n\n- **item** "
    return "word "
