"""A projection that breaks a law is found, with the place; one that holds them all costs little."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from msgspec import structs
from tests.laws.events import answer, call, entries, event, text

from adk_prism.log.entry import Entry
from adk_prism.protocols.ai_sdk import frames as ai
from adk_prism.protocols.contract import Format, Options, Payload, Projection
from adk_prism.protocols.registry import protocol
from adk_prism.testing.laws import EFFORT, LAWS, Broken, check_laws

RUN = entries(
    [
        event(text("Hel"), partial=True),
        event(text("Hello"), call("search", "c1"), partial=False),
        event(answer("search", "c1", {"found": 1})),
        event(text("Done."), partial=False, finishReason="STOP"),
    ]
)

Change = Callable[[Entry, list[Any]], Sequence[Any]]


class _Changed:
    """A projection whose frames are tampered with."""

    def __init__(self, inner: Projection[Any], change: Change) -> None:
        self._inner = inner
        self._change = change

    def feed(self, entry: Entry) -> Sequence[Any]:
        return self._change(entry, list(self._inner.feed(entry)))


def _tampered(name: str, change: Callable[[], Change]) -> Format:
    spec = protocol(name)

    def make(options: Options, first: Entry) -> Projection[Any]:
        return _Changed(spec.make(options, first), change())

    return structs.replace(spec, make=make).format()


def _always(change: Change) -> Callable[[], Change]:
    return lambda: change


def _without(kind: type) -> Callable[[], Change]:
    return _always(lambda _, frames: [frame for frame in frames if type(frame) is not kind])


def _doubled(kind: type) -> Callable[[], Change]:
    return _always(
        lambda _, frames: [f for frame in frames for f in [frame] * (1 + (type(frame) is kind))]
    )


def _moving() -> Change:
    """A number that goes on counting from reading to reading."""
    return lambda _, frames: [
        ai.TextDelta(frame.id, f"{next(_NUMBERS)}") if type(frame) is ai.TextDelta else frame
        for frame in frames
    ]


_NUMBERS = count()


def _changing_its_mind() -> Change:
    """A frame whose data is filled in later."""
    told: dict[str, Any] = {}

    def change(entry: Entry, frames: list[Any]) -> Sequence[Any]:
        told["last"] = entry.cursor
        return [*frames, ai.Data("data-note", told)] if entry.cursor == 3 else frames

    return change


def _early_end() -> Change:
    return lambda entry, frames: [ai.Done(), *frames] if entry.cursor == 3 else frames


def _raising() -> Change:
    def change(entry: Entry, frames: list[Any]) -> Sequence[Any]:
        if entry.cursor == 4:
            raise KeyError("c1")
        return frames

    return change


@dataclass(frozen=True)
class Case:
    id: str
    protocol: str
    change: Callable[[], Change]
    broken: set[str]
    says: str


AI = "ai-sdk"
CASES = [
    Case("counts on", AI, _moving, {"deterministic", "resumable", "prefix-stable"}, "first {"),
    Case("raises", AI, _raising, {"deterministic"}, "the projection raised KeyError: 'c1'"),
    Case("fills in later", AI, _changing_its_mind, {"prefix-stable"}, "first {"),
    Case("no text-end", AI, _without(ai.TextEnd), {"balanced"}, "still open"),
    Case("no text-start", AI, _without(ai.TextStart), {"balanced"}, "is not open"),
    Case("two starts of a block", AI, _doubled(ai.TextStart), {"balanced"}, "is open already"),
    Case("no start", AI, _without(ai.Start), {"balanced"}, "the first frame, and no other"),
    Case("two starts", AI, _doubled(ai.Start), {"balanced"}, "the first frame, and no other"),
    Case("no start-step", AI, _without(ai.StartStep), {"balanced"}, "outside a step"),
    Case("no finish-step", AI, _without(ai.FinishStep), {"balanced"}, "inside a step"),
    Case("no call", AI, _without(ai.ToolInputAvailable), {"balanced"}, "c1 was never made"),
    Case("a call twice", AI, _doubled(ai.ToolInputAvailable), {"balanced"}, "made before"),
    Case("no answer", AI, _without(ai.ToolOutputAvailable), {"balanced"}, "c1 has no answer"),
    Case("no finish", AI, _without(ai.Finish), {"balanced", "terminated"}, "ends no message"),
    Case("no DONE", AI, _without(ai.Done), {"terminated"}, "the message ends with finish"),
    Case("two DONE", AI, _doubled(ai.Done), {"balanced", "terminated"}, "after [DONE]"),
    Case("an early end", AI, _early_end, {"balanced", "terminated"}, "ends no message"),
    Case(
        "an unknown chunk",
        AI,
        _always(lambda _, frames: [*frames[:1], ai.Data("thought", 1), *frames[1:]]),
        {"balanced"},
        "no such chunk",
    ),
    Case("a lost event", "adk", _without(Payload), {"balanced"}, "not given once, as it is"),
    Case("an event twice", "adk", _doubled(Payload), {"balanced"}, "not given once, as it is"),
    Case(
        "a frame too many",
        "adk",
        _always(lambda entry, frames: frames or [Payload(b"{}")]),
        {"balanced", "terminated"},
        "RunStarted gives a frame",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_broken_law_is_found(case: Case) -> None:
    """Each law, and each rule of a grammar, fails for the projection that breaks it, and only for it."""
    broken = check_laws(RUN, [_tampered(case.protocol, case.change)])
    assert {found.law for found in broken} == case.broken
    assert any(case.says in found.detail for found in broken), broken
    assert all(found.position for found in broken)


def test_a_gap_in_the_log_is_found() -> None:
    """Positions are made of cursors, so a log without gaps is what resuming rests on."""
    gap = [*RUN[:2], *RUN[3:]]
    assert "resumable" in {found.law for found in check_laws(gap)}


def test_a_run_that_goes_on_breaks_no_law() -> None:
    """A log without its end yet is a prefix: nothing has ended, and nothing needs to."""
    for length in range(1, len(RUN)):
        assert check_laws(RUN[:length]) == []


def test_a_finding_reads_as_a_sentence() -> None:
    """Which law, in which protocol, where, and what."""
    broken = Broken("balanced", "ai-sdk 7", "12.3", "text-end: t is not open")
    assert str(broken) == "balanced is broken in ai-sdk 7 at 12.3: text-end: t is not open"


def test_a_long_run_costs_in_proportion() -> None:
    """Whatever its length, a law reads it a few times whole, and again no more than its effort."""
    length = 5_000
    deltas = [event(text("x"), partial=True) for _ in range(length)]
    run = entries([*deltas, event(text("x" * length), partial=False)])
    fed = count()

    def counting(_: Entry, frames: list[Any]) -> Sequence[Any]:
        next(fed)
        return frames

    assert check_laws(run, [_tampered("adk", _always(counting))]) == []
    readings = next(fed) / len(run)
    assert readings <= 3 * len(LAWS) + 2 * EFFORT / len(run)
