"""What a live run waits for: a person's decision, or the result of a tool that the client runs.

Each question has one answer: the first. It is known from the moment its call is seen, so that an answer
which comes before the question is asked is not lost; one to a question that was never asked is refused.
Time, an interruption and the end of the run answer what nobody answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from adk_prism.errors import Conflict, NotFound

T = TypeVar("T")

REMEMBERED = 256
"""Answered questions that are remembered, to tell a second answer from a forged one."""


class AnswerWaiter(Generic[T]):
    """The questions of one kind."""

    def __init__(self, what: str, on_abandon: Callable[[str], T]) -> None:
        """`what` names a question in errors; `on_abandon` makes the answer to one that nobody answers."""
        self._what = what
        self._on_abandon = on_abandon
        self._open: dict[str, asyncio.Future[T]] = {}
        self._answered: dict[str, None] = {}

    def expect(self, name: str) -> None:
        """Note that a question will be asked; from now on it can be answered."""
        if name not in self._open and name not in self._answered:
            self._open[name] = asyncio.get_running_loop().create_future()

    def answer(self, name: str, answer: T) -> None:
        """Answer a question. Raise `Conflict` if it has been answered, `NotFound` if there is none."""
        future = self._open.get(name)
        if future is not None and not future.done():
            future.set_result(answer)
            return
        if future is not None or name in self._answered:
            raise Conflict(f"{self._what} {name[:80]!r} has been answered.")
        raise NotFound(f"{self._what} {name[:80]!r} was never asked for.")

    async def wait(self, name: str, seconds: float) -> T:
        """Return the answer, or after some seconds that there is none."""
        self.expect(name)
        future = self._open[name]
        try:
            await asyncio.wait([future], timeout=seconds)
            if not future.done():
                future.set_result(self._on_abandon(f"No answer within {seconds:g} seconds."))
            return future.result()
        finally:
            del self._open[name]
            self._answered[name] = None
            if len(self._answered) > REMEMBERED:
                del self._answered[next(iter(self._answered))]

    def abandon_all(self, why: str) -> None:
        """Answer all that waits in nobody's name."""
        for name in self._open:
            self.abandon(name, why)

    def abandon(self, name: str, why: str) -> None:
        """Answer a question in nobody's name, if it waits."""
        future = self._open.get(name)
        if future is not None and not future.done():
            future.set_result(self._on_abandon(why))
