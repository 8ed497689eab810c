"""What an event costs does not grow with the run: ten thousand open calls are as quick as ten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time

import pytest
from tests.laws.events import Json, answer, call, confirmation, entries, event, text

from adk_prism.facts.pending import Pending
from adk_prism.facts.reader import Reader
from adk_prism.projection.registry import protocol
from adk_prism.runlog.entry import Entry

SLICES = 10
GROWTH = 5.0
"""A cost that grows with the run is ten times as high in the last slice as in the first; this leaves
room for a busy machine."""


def opened(number: int) -> Json:
    return event(call("search", f"c{number}"), partial=False)


def anonymous(_: int) -> Json:
    return event(call("search", None), partial=False)


def answered(number: int) -> Json:
    return event(answer("search", f"c{number}", {}))


def answered_by_name(_: int) -> Json:
    return event(answer("search", None, {}))


def gated(number: int) -> Json:
    return event(confirmation(call("search", f"c{number}"), f"a{number}"))


def lanes(number: int) -> Json:
    return event(text("x"), partial=True, author=f"agent{number}")


def delegated(number: int) -> Json:
    return event(text("x"), author="helper", branch=f"helper@c{number}")


def repeated(_: int) -> Json:
    return event(call("search", "c"), partial=False)


def streamed(number: int) -> Json:
    part = call("search", f"c{number}", None, willContinue=True)
    return event(part, partial=True)


@dataclass(frozen=True)
class Case:
    id: str
    before: Callable[[int], Json] | None
    events: Callable[[int], Json]
    count: int = 3_000


CASES = [
    Case("calls", None, opened, 10_000),
    Case("calls without ids", None, anonymous),
    Case("answers", opened, answered, 10_000),
    Case("answers, the last first", opened, lambda number: answered(2_999 - number)),
    Case("answers by name", anonymous, answered_by_name),
    Case("questions", opened, gated),
    Case("agents", None, lanes),
    Case("delegations", opened, delegated),
    Case("one id again and again", None, repeated),
    Case("streams in one model call", None, streamed),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_last_event_costs_what_the_first_did(case: Case) -> None:
    """For facts, the table of questions, and the frames of the protocol that keeps the most."""
    before = [case.before(n) for n in range(case.count)] if case.before is not None else []
    run = entries([*before, *map(case.events, range(case.count))], "finished")[:-1]
    costs = _costs(run, len(before) + 1)
    early, late = min(costs[:3]), min(costs[-3:])
    assert late < early * GROWTH, [round(cost * 1000) for cost in costs]


def _costs(run: list[Entry], start: int) -> list[float]:
    """Return what each slice of a run costs from `start` on, in seconds."""
    projection, reader, pending = protocol("ai-sdk").make(), Reader(), Pending()

    def feed(slice_: list[Entry]) -> float:
        began = process_time()
        for entry in slice_:
            projection.feed(entry)
            pending.feed(reader.feed(entry))
        return process_time() - began

    feed(run[:start])
    size = (len(run) - start) // SLICES
    return [feed(run[start + i * size : start + (i + 1) * size]) for i in range(SLICES)]
