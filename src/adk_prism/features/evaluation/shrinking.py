"""The smallest conversation that still fails: delta debugging over messages, agents, tools and their texts.

`minimise` is Zeller's ddmin over any pieces; `Shrinker` counts what it costs and remembers what was tried.
Knows neither ADK nor a server: whether a candidate fails is the caller's to find out.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct

Kind = Literal["message", "agent", "tool", "instruction", "state"]
ORDER: tuple[Kind, ...] = ("message", "agent", "tool", "instruction", "state")
"""In which kinds of pieces are dropped: a message less makes all further trials shorter, and an agent has
tools and an instruction."""

MOST_SENTENCES = 200
"""Pieces of one instruction: longer ones are cut into larger pieces."""


class Piece(Struct, frozen=True, order=True):
    """Something that can be left out of a conversation, or of its app."""

    kind: Kind
    owner: str
    """The agent of a tool or an instruction; of a sub-agent, the one above it."""
    name: str
    """Number of a message or sentence, name of an agent or a tool, key of the state."""

    def shown(self) -> str:
        """Return its name for a person."""
        if self.kind == "message":
            return f"message {int(self.name) + 1}"
        if self.kind in ("agent", "tool"):
            return f"{self.kind} {self.name} of {self.owner}"
        if self.kind == "instruction":
            return f"part {int(self.name) + 1} of the instruction of {self.owner}"
        return f"state {self.name}"


def sentences(text: str) -> list[str]:
    """Cut an instruction into sentences and lines, which joined are the text."""
    found = re.findall(r".+?(?:[.!?]+\s+|\n\s*|$)", text, re.DOTALL)
    size = -(-len(found) // MOST_SENTENCES) or 1
    return ["".join(found[n : n + size]) for n in range(0, len(found), size)]


Candidate = frozenset[Piece]
"""What is left of a conversation."""


class Rate(Struct, frozen=True):
    """How often a candidate failed."""

    failed: int
    trials: int

    @property
    def fails(self) -> bool:
        """Whether it fails in at least half of its trials."""
        return self.trials > 0 and 2 * self.failed >= self.trials


class OverBudget(Exception):
    """The runs or the time that were given are used up."""


TryOnce = Callable[[Candidate], Awaitable[bool]]
"""Runs a candidate; returns whether it fails."""


class Shrinker:
    """Tries candidates, each once, within a budget of runs and seconds."""

    def __init__(self, try_once: TryOnce, trials: int, runs: int, seconds: float) -> None:
        self._try_once = try_once
        self._trials = trials
        self._left = runs
        self._until = time.monotonic() + seconds
        self.runs = 0
        self.rates: dict[Candidate, Rate] = {}
        self.is_over_budget = False

    async def shrink(
        self,
        pieces: Iterable[Piece],
        learned: Callable[[], Iterable[Piece]],
        used: Callable[[Candidate], Candidate],
    ) -> Candidate:
        """Return the smallest candidate that was found to fail; all pieces, if those do not.

        `learned` returns all pieces once they were tried together, which may have shown more. `used` returns
        a candidate without what has no effect in it, such as the tools of an agent that is left out.
        """
        best = frozenset(pieces)
        try:
            rate = await self.rate(best)
            best = frozenset(learned())
            self.rates[best] = rate
            if not rate.fails:
                return best
            while True:
                before = best
                for kind in ORDER:
                    whole = await self._without(best, kind)
                    best = used(whole)
                    self.rates[best] = self.rates[whole]
                if best == before:
                    return best
        except OverBudget:
            self.is_over_budget = True
            failing = [each for each, rate in self.rates.items() if rate.fails]
            return min(failing, key=len, default=best)

    async def _without(self, best: Candidate, kind: Kind) -> Candidate:
        """Return a candidate from which no piece of a kind can be taken."""
        others = frozenset(piece for piece in best if piece.kind != kind)
        own = sorted(
            (piece for piece in best if piece.kind == kind),
            key=lambda piece: (
                piece.owner,
                int(piece.name) if piece.name.isdigit() else 0,
                piece.name,
            ),
        )

        async def fails(kept: Sequence[Piece]) -> bool:
            return (await self.rate(others | frozenset(kept))).fails

        return others | frozenset(await minimise(own, fails))

    async def rate(self, candidate: Candidate) -> Rate:
        """Return how often a candidate fails; end when the trials left cannot change whether it does."""
        known = self.rates.get(candidate)
        if known is not None:
            return known
        failed = done = 0
        needed = -(-self._trials // 2)
        while done < self._trials and failed < needed and done - failed <= self._trials - needed:
            if not self._left or time.monotonic() > self._until:
                raise OverBudget
            self._left -= 1
            self.runs += 1
            done += 1
            failed += await self._try_once(candidate)
        found = self.rates[candidate] = Rate(failed, done)
        return found


async def minimise(
    pieces: Sequence[Piece], fails: Callable[[Sequence[Piece]], Awaitable[bool]]
) -> list[Piece]:
    """Return pieces of which none can be left out: without any one of them it does not fail.

    ddmin (Zeller, Hildebrandt 2002): tries to leave out ever smaller parts. `fails` is true of all pieces.
    """
    kept = list(pieces)
    if not kept or await fails([]):
        return []
    parts = 2
    while len(kept) >= 2:
        size = -(-len(kept) // parts)
        for start in range(0, len(kept), size):
            rest = kept[:start] + kept[start + size :]
            if rest and await fails(rest):
                kept, parts = rest, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(len(kept), 2 * parts)
    return kept
