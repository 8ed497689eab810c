"""A case that failed by the order of its calls alone says so: agents side by side have no order."""

from __future__ import annotations

import pytest
from google.adk.evaluation.eval_case import IntermediateData, Invocation
from google.adk.evaluation.eval_metrics import EvalMetricResultPerInvocation, EvalStatus
from google.adk.evaluation.eval_result import EvalCaseResult
from google.genai import types

from adk_prism.features.evaluation.evaluation import OTHER_ORDER, note_on_order


def invocation(calls: str) -> Invocation:
    """Return one that called tools: `look:a`, separated by spaces."""
    pairs = (each.split(":") for each in calls.split())
    uses = [types.FunctionCall(name=name, args={"place": place}) for name, place in pairs]
    return Invocation(
        user_content=types.UserContent("go"), intermediate_data=IntermediateData(tool_uses=uses)
    )


@pytest.mark.parametrize(
    ("expected", "actual", "is_told"),
    [
        ("look:a look:b", "look:b look:a", True),
        ("look:a look:b", "look:a look:b", False),
        ("look:a look:b", "look:b", False),
        ("look:a", "look:a look:c", False),
        ("", "", False),
    ],
)
def test_the_order_of_calls(expected: str, actual: str, is_told: bool) -> None:
    """The same calls, in another order; a call that is missing or other is something else."""
    result = EvalCaseResult(
        eval_set_id="set",
        eval_id="case",
        final_eval_status=EvalStatus.FAILED,
        overall_eval_metric_results=[],
        eval_metric_result_per_invocation=[
            EvalMetricResultPerInvocation(
                actual_invocation=invocation(actual), expected_invocation=invocation(expected)
            )
        ],
        session_id="session",
    )
    assert note_on_order(result) == (OTHER_ORDER if is_told else "")
