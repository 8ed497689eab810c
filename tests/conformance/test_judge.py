"""The judge judged: it passes what the AI SDK's client can use, and names every fault it cannot.

Without this a judge that says yes to everything would look like a conforming server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.conformance.bad_streams import BAD, Bad
from tests.conformance.good_streams import GOOD, Good
from tests.conformance.judge import SDKS, Judge, Sdk
from tests.conformance.sse import (
    STEP_END,
    TEXT_DELTA,
    approval,
    call,
    chunk,
    message,
    output,
    sse,
    text,
)
from tests.conformance.worker import WorkerError


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.id)
def test_passes_what_the_client_can_use(case: Good, sdk: Sdk, judge: Judge) -> None:
    """A stream that every rule allows has no errors and gives a message."""
    if sdk not in case.sdks:
        verdict = judge(case.stream, sdk, case.prior, case.expect_error)
        assert not verdict.ok, "version 6 has no such chunk"
        return
    verdict = judge(case.stream, sdk, case.prior, case.expect_error)
    assert verdict.ok, verdict.why
    assert verdict.message is not None
    assert verdict.message["id"] == "m1"
    assert verdict.chunks == case.stream.count("data: {")


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.id)
def test_names_the_fault(case: Bad, sdk: Sdk, judge: Judge) -> None:
    """Each violation has its code, for each release that minds it."""
    verdict = judge(case.stream, sdk, case.prior, case.expect_error)
    if sdk in case.sdks:
        assert not verdict.ok
        assert case.code in verdict.codes, verdict.why
    else:
        assert case.code not in verdict.codes, verdict.why


def test_says_where_the_fault_is(judge: Judge) -> None:
    """A problem carries the index of its chunk and a text that names the key."""
    stream = sse(*message([*text(), {**STEP_END, "x": 1}]))
    (problem,) = (p for p in judge(stream, "ai-7").errors if p.code == "unknown-key")
    assert problem.index == 5
    assert '"x"' in problem.message


def test_a_refused_chunk_does_not_move_the_places_of_the_others(sdk: Sdk, judge: Judge) -> None:
    """Places are places in the stream, whatever was refused before them."""
    errors = judge(sse(*message([chunk("ping"), TEXT_DELTA])), sdk).errors
    assert {(p.code, p.index) for p in errors} >= {("unknown-type", 2), ("block-not-open", 3)}


def test_a_waiting_sibling_is_a_warning(sdk: Sdk, judge: Judge) -> None:
    """A call without output holds back the answer to the approval beside it, unless a client
    runs it: the judge cannot know, and warns."""
    stream = sse(*message([call(), call("c2"), approval()], reason="tool-calls"))
    verdict = judge(stream, sdk)
    assert verdict.ok, verdict.why
    assert [warning.code for warning in verdict.warnings] == ["sibling-waits"]


def test_posting_again_is_a_warning_when_the_run_waits(sdk: Sdk, judge: Judge) -> None:
    """With the reason `tool-calls` the server asked for another request."""
    verdict = judge(sse(*message([call(), output()], reason="tool-calls")), sdk)
    assert verdict.ok, verdict.why
    assert [warning.code for warning in verdict.warnings] == ["reposts"]


def test_the_schema_is_the_one_of_the_release(
    chunk_schema: Callable[[Sdk], dict[str, Any]],
) -> None:
    """`schema.mjs` reads keys and reasons that are known to differ between the releases."""
    old, six, seven = (chunk_schema(sdk) for sdk in SDKS)
    assert old["version"] == "6.0.0"
    assert old["chunks"]["tool-output-denied"] == {"required": ["toolCallId"], "optional": []}
    assert old["chunks"]["data-*"] == {"required": ["data"], "optional": ["id", "transient"]}
    assert old["chunks"]["abort"]["optional"] == []
    assert six["chunks"]["abort"]["optional"] == ["reason"]
    assert set(six["chunks"]) == set(old["chunks"]) < set(seven["chunks"])
    assert set(seven["finishReasons"]) - set(old["finishReasons"]) == {"interrupted"}


def test_an_unknown_release_is_no_verdict(judge: Judge) -> None:
    """A fault of the harness is an error of its own kind, never a verdict on the stream."""
    with pytest.raises(WorkerError, match="expected one of ai-5"):
        judge("", "ai-4")  # type: ignore[arg-type]  # that is the point
