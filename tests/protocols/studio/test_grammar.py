"""A Studio stream that breaks a law is found, with the place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec import Raw, structs
from tests.protocols.studio.logs import begins, ended, ends, event, log, started

from adk_prism.log.entry import Entry
from adk_prism.protocols.contract import Format, Options, Projection
from adk_prism.protocols.registry import protocol
from adk_prism.protocols.studio import frames as studio
from adk_prism.testing.laws import check_laws

CALL = {"functionCall": {"id": "c1", "name": "look", "args": {}}}
ANSWER = {"functionResponse": {"id": "c1", "name": "look", "response": {"result": 1}}}
RECORDS = (
    started({"a": 1}),
    begins("1", "root"),
    event(CALL, delta={"b": 2}),
    event(ANSWER),
    event({"text": "One."}),
    ends("1"),
)
RUN = log(*RECORDS, ended())
FAILED = log(*RECORDS, ended("failed"))

Change = Callable[[Any], Sequence[Any]]
"""A frame in, what is sent in its place out."""


class _Changed:
    """A projection whose frames are tampered with."""

    def __init__(self, inner: Projection[Any], change: Change) -> None:
        self._inner = inner
        self._change = change

    def feed(self, entry: Entry) -> Sequence[Any]:
        return [sent for frame in self._inner.feed(entry) for sent in self._change(frame)]


def tampered(change: Change) -> Format:
    spec = protocol("studio")

    def make(options: Options, first: Entry) -> Projection[Any]:
        return _Changed(spec.make(options, first), change)

    return structs.replace(spec, make=make).format()


def without(kind: type) -> Change:
    return lambda frame: [] if type(frame) is kind else [frame]


def doubled(kind: type) -> Change:
    return lambda frame: [frame] * (1 + (type(frame) is kind))


def changed(kind: type, **fields: Any) -> Change:
    return lambda frame: [structs.replace(frame, **fields) if type(frame) is kind else frame]


def before(kind: type, news: Any) -> Change:
    return lambda frame: [news, frame] if type(frame) is kind else [frame]


DEEP = studio.StateSnapshot(Raw(b"{}"), Raw(b'{"a":{"b":{"c":{"d":1}}}}'))


@dataclass(frozen=True)
class Case:
    id: str
    change: Change
    says: str
    run: Sequence[Entry] = tuple(RUN)
    law: str = "balanced"


CASES = (
    Case("no session", without(studio.Session), "no other, is session"),
    Case("two sessions", doubled(studio.Session), "no other, is session"),
    Case("no start", without(studio.NodeStart), "does not run"),
    Case("two starts", doubled(studio.NodeStart), "step 1 after 1 steps"),
    Case("a frame that is none", before(studio.Chunk, None), "", law="deterministic"),
    Case("no end of a node", without(studio.NodeEnd), "1 still runs"),
    Case("no end of a node in a failed run", without(studio.NodeEnd), "1 still runs", FAILED),
    Case("two ends of a node", doubled(studio.NodeEnd), "does not run"),
    Case(
        "another name at the end",
        changed(studio.NodeEnd, node="other"),
        "node is not as at its start",
    ),
    Case("less than no time", changed(studio.NodeEnd, duration_ms=-1), "less than no time"),
    Case(
        "another input at the end",
        changed(studio.NodeEnd, state_snapshot=DEEP),
        "its input is not as at its start",
    ),
    Case("keys that are not there", changed(studio.State, state_keys=Raw(b'["x"]')), "state_keys"),
    Case(
        "a state that is too deep",
        changed(studio.State, state_snapshot=DEEP, state_keys=Raw(b'["a"]')),
        "too deep",
    ),
    Case(
        "an input where there is none",
        changed(
            studio.State,
            state_snapshot=studio.StateSnapshot(Raw(b'{"a":1}'), Raw(b"{}")),
            state_keys=Raw(b"[]"),
        ),
        "its input is not empty",
    ),
    Case("a wrong sum", changed(studio.Done, total_steps=7), "7 steps in all"),
    Case("a call twice", doubled(studio.ToolCall), "made before"),
    Case("no call", without(studio.ToolCall), "c1 was never made"),
    Case("an empty chunk", changed(studio.Chunk, text=""), "nothing is said"),
    Case(
        "something after done",
        before(studio.End, studio.Chunk("x")),
        "done and end belong together",
    ),
    Case("no end", without(studio.End), "ends with", law="terminated"),
    Case("no done", without(studio.Done), "ends with", law="terminated"),
    Case("two ends", doubled(studio.End), "ends with", law="terminated"),
    Case(
        "an early end", before(studio.Chunk, studio.End()), "before the run's end", law="terminated"
    ),
    Case("no error", without(studio.Error), "ends with", FAILED, "terminated"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_breaks_a_law_is_found(case: Case) -> None:
    """Each rule of the grammar has a stream that breaks it."""
    found = {broken.law: broken.detail for broken in check_laws(case.run, [tampered(case.change)])}
    assert case.law in found
    assert case.says in found[case.law]


@pytest.mark.parametrize("run", [RUN, FAILED], ids=["finished", "failed"])
def test_the_stream_that_is_tampered_with_breaks_none(run: Sequence[Entry]) -> None:
    assert check_laws(run, [protocol("studio").format()]) == []
