"""Waits for answers from outside a live run: a decision, or the result of a tool that the client runs.

The first answer counts. A question can be answered as soon as its call is seen, so an answer that arrives
before the tool waits for it is not lost; an answer to an unknown question is refused. A timeout, an
interruption and the end of the run settle questions that nobody answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from adk_prism.errors import Conflict, NotFound

T = TypeVar("T")

MAX_ANSWERED = 256
"""Answered questions that are remembered, to tell a second answer from an answer to an unknown question."""


class AnswerWaiter(Generic[T]):
    """The open questions of one kind."""

    def __init__(self, what: str, on_abandon: Callable[[str], T]) -> None:
        """`what` names a question in errors; `on_abandon` makes the answer of one that nobody answers."""
        self._what = what
        self._on_abandon = on_abandon
        self._open: dict[str, asyncio.Future[T]] = {}
        self._answered: dict[str, None] = {}

    def expect(self, name: str) -> None:
        """Open a question, unless it is known."""
        if name not in self._open and name not in self._answered:
            self._open[name] = asyncio.get_running_loop().create_future()

    def answer(self, name: str, answer: T) -> None:
        """Answer a question. Raise `Conflict` if it has been answered, `NotFound` if it is unknown."""
        future = self._open.get(name)
        if future is not None and not future.done():
            future.set_result(answer)
            return
        if future is not None or name in self._answered:
            raise Conflict(f"{self._what} {name[:80]!r} has been answered already.")
        raise NotFound(f"{self._what} {name[:80]!r} is unknown: nothing asked for it.")

    async def wait(self, name: str, seconds: float) -> T:
        """Return the answer; after the timeout, the answer of an abandoned question."""
        self.expect(name)
        future = self._open[name]
        try:
            await asyncio.wait([future], timeout=seconds)
            self.abandon(name, f"No answer within {seconds:g} seconds.")
            return future.result()
        finally:
            del self._open[name]
            self._answered[name] = None
            if len(self._answered) > MAX_ANSWERED:
                del self._answered[next(iter(self._answered))]

    def abandon_all(self, reason: str) -> None:
        """Settle every open question without an answer."""
        for name in self._open:
            self.abandon(name, reason)

    def abandon(self, name: str, reason: str) -> None:
        """Settle a question without an answer, if it is open."""
        future = self._open.get(name)
        if future is not None and not future.done():
            future.set_result(self._on_abandon(reason))
