"""Preliminary outputs: how far a tool is, for clients that know them and for those that do not."""

from __future__ import annotations

import pytest
from tests.conformance.judge import SDKS, Judge, Sdk
from tests.laws.events import answer, confirmation, entries, event, progress
from tests.laws.events import call as call_part
from tests.protocols.chunks import of_kind

from adk_prism.features.captures.replay import replay
from adk_prism.protocols.registry import protocol


def test_it_never_replaces_an_answer() -> None:
    """What comes late, or for a call that nobody made, is not shown."""
    run = [
        progress("c1", done=1),
        event(call_part("f", "c1"), partial=False),
        event(answer("f", "c1", {"ok": True})),
        progress("c1", done=2),
        progress("unknown", done=3),
    ]
    (shown,) = of_kind("tool-output-available", *run)
    assert shown["output"] == {"ok": True}


def test_a_call_that_a_client_may_answer_stays_open() -> None:
    """A preliminary output would count as its answer."""
    run = [
        event(call_part("f", "c1"), partial=False, longRunningToolIds=["c1"]),
        progress("c1", done=1, total=2),
    ]
    assert not of_kind("tool-output-available", *run)
    (shown,) = of_kind("data-progress", *run)
    assert shown["data"] == {"toolCallId": "c1", "toolName": "f", "done": 1, "total": 2}


def test_a_tool_that_asks_takes_it_back() -> None:
    """A call that a person is asked about has no output."""
    call = call_part("f", "c1")
    run = [event(call, partial=False), progress("c1", done=1), event(confirmation(call, "a1"))]
    (shown,) = of_kind("tool-output-available", *run)
    assert shown["preliminary"]
    first, again = of_kind("tool-input-available", *run)
    assert first == again
    assert [each["approvalId"] for each in of_kind("tool-approval-request", *run)] == ["a1"]


def test_a_client_of_v5_gets_data() -> None:
    run = entries([event(call_part("f", "c1"), partial=False), progress("c1", done=1)])
    stream = b"".join(replay(run, protocol("ai-sdk").format("5")))
    assert b'"type":"data-progress"' in stream
    assert b"preliminary" not in stream


@pytest.mark.parametrize("sdk", SDKS)
def test_the_sdk_reads_it(sdk: Sdk, judge: Judge) -> None:
    run = entries(
        [
            event(call_part("f", "c1"), partial=False),
            progress("c1", done=1, total=2, message="half"),
            event(answer("f", "c1", {"ok": True})),
            event({"text": "Done."}, partial=False),
        ]
    )
    verdict = judge(b"".join(replay(run, protocol("ai-sdk").format())), sdk)
    assert verdict.ok, verdict.why
