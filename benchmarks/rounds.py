"""Measuring in turns: every variant once a round, and what is compared is compared within a round.

A machine that other programs use is slower in one second than in the next. Variants that are measured
one right after the other meet the same conditions, so the ratio of a round is steadier than either
time; the median over the rounds drops the rounds in which something else woke up.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

Measure = Callable[[], float]
"""Does the work once and returns what it cost."""


class Ratio(float):
    """The median of what the rounds gave, and the quartiles: half of the rounds lie between them."""

    quartiles: tuple[float, float]

    def __new__(cls, rounds: Sequence[float]) -> Ratio:
        """Take the ratio of each round."""
        ratio = super().__new__(cls, median(rounds))
        low, _, high = quantiles(rounds, n=4) if len(rounds) > 1 else (rounds[0],) * 3
        ratio.quartiles = low, high
        return ratio


@dataclass(frozen=True)
class Measured:
    """What each variant cost, round by round."""

    costs: Mapping[str, list[float]]

    def cost(self, name: str) -> float:
        """Return a variant's median cost."""
        return median(self.costs[name])

    def ratio(self, ours: str, reference: str) -> Ratio:
        """Return how many times the reference ours costs: the median of the rounds' own ratios."""
        pairs = zip(self.costs[ours], self.costs[reference], strict=True)
        return Ratio([mine / theirs for mine, theirs in pairs])


def take_turns(variants: Mapping[str, Measure], rounds: int) -> Measured:
    """Measure all variants `rounds` times, after one round that is not counted.

    Every second round goes backwards, so that nobody always comes after the same neighbour.
    """
    costs: dict[str, list[float]] = {name: [] for name in variants}
    for name in variants:
        variants[name]()
    gc.collect()
    gc.freeze()  # What is loaded stays; without looking through it, collecting is cheap.
    for number in range(rounds):
        for name in list(variants)[:: 1 if number % 2 == 0 else -1]:
            gc.collect()
            costs[name].append(variants[name]())
    return Measured(costs)


def cpu_per_item(work: Callable[[], object], items: int) -> Measure:
    """Return a measure of the CPU time of this thread that `work` takes per item."""

    def measure() -> float:
        began = time.thread_time()
        work()
        return (time.thread_time() - began) / items

    return measure
