"""The grammar finds what the real client would refuse, and what we never want to send."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
from tests.recordings.library import load

from adk_prism.protocols.contract import Payload
from adk_prism.protocols.registry import protocol
from adk_prism.testing.grammars import ag_ui as grammar

Frames = list[list[Payload]]


@dataclass(frozen=True)
class Broken:
    """A recording, how its frames are changed, and what is found."""

    id: str
    recording: str
    change: Callable[[Sequence[Payload]], list[Payload]]
    says: str


def without(kind: str) -> Callable[[Sequence[Payload]], list[Payload]]:
    return lambda frames: [f for f in frames if f'"type":"{kind}"'.encode() not in f.data]


def twice(kind: str) -> Callable[[Sequence[Payload]], list[Payload]]:
    return lambda frames: [
        again for f in frames for again in [f] * (2 if f'"type":"{kind}"'.encode() in f.data else 1)
    ]


def renamed(old: str, new: str) -> Callable[[Sequence[Payload]], list[Payload]]:
    return lambda frames: [Payload(f.data.replace(old.encode(), new.encode())) for f in frames]


BALANCE = [
    Broken("no beginning", "text", without("RUN_STARTED"), "the first event"),
    Broken("two beginnings", "text", twice("RUN_STARTED"), "the first event"),
    Broken("a text without an end", "text", without("TEXT_MESSAGE_END"), "still open"),
    Broken("a text without a start", "text", without("TEXT_MESSAGE_START"), "is not open"),
    Broken("a text twice", "text", twice("TEXT_MESSAGE_START"), "was opened before"),
    Broken("a thought without an end", "reasoning", without("REASONING_END"), "still open"),
    Broken("a thought without a start", "reasoning", without("REASONING_START"), "is not open"),
    Broken("a call without an end", "tool", without("TOOL_CALL_END"), "is still being made"),
    Broken("a call without a start", "tool", without("TOOL_CALL_START"), "is not open"),
    Broken("two results", "tool", twice("TOOL_CALL_RESULT"), "was answered before"),
    Broken("a step without an end", "x_workflow", without("STEP_FINISHED"), "still open"),
    Broken("a step without a start", "x_workflow", without("STEP_STARTED"), "is not open"),
    Broken("a sub-agent without an end", "x_parallel", without("SUBAGENT_FINISHED"), "still open"),
    Broken("a sub-agent twice", "x_parallel", twice("SUBAGENT_STARTED"), "was opened before"),
    Broken("an unknown event", "text", renamed("STATE_SNAPSHOT", "STATE_DUMP"), "no such event"),
]
ENDS = [
    Broken("no end", "text", without("RUN_FINISHED"), "the run ends with"),
    Broken("two ends", "text", twice("RUN_FINISHED"), "the run ends with"),
    Broken("an early end", "text", renamed("STATE_SNAPSHOT", "RUN_ERROR"), "before the run's end"),
]


def frames_of(name: str) -> Frames:
    reader = protocol("ag-ui").format("1.0").reader()
    return [list(reader.feed(entry)) for entry in load(name)]


@pytest.mark.parametrize("case", BALANCE, ids=lambda case: case.id)
def test_what_is_not_balanced_is_found(case: Broken) -> None:
    """By its first fault."""
    frames = [case.change(each) for each in frames_of(case.recording)]
    faults = [why for _, why in grammar.balanced(load(case.recording), frames)]
    assert case.says in faults[0]


@pytest.mark.parametrize("case", ENDS, ids=lambda case: case.id)
def test_a_bad_end_is_found(case: Broken) -> None:
    """Missing, repeated or early."""
    frames = [case.change(each) for each in frames_of(case.recording)]
    faults = [why for _, why in grammar.terminated(load(case.recording), frames)]
    assert case.says in faults[0]
