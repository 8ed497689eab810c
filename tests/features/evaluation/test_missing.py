"""What a case lacks is said before it is evaluated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_case import EvalCase

from adk_prism.errors import Conflict
from adk_prism.features.evaluation.criteria import (
    FILE_NAME,
    Metrics,
    metrics_of,
    missing_of_case,
    missing_of_set,
    parse_case,
)

Json = dict[str, Any]


def text(words: str) -> Json:
    return {"role": "user", "parts": [{"text": words}]}


def case(*messages: Json) -> EvalCase:
    return parse_case({"evalId": "c", "conversation": list(messages)})


USUAL = Metrics(["tool_trajectory_avg_score", "response_match_score"])
WHOLE = {
    "userContent": text("How much?"),
    "finalResponse": text("Four."),
    "intermediateData": {"toolUses": [{"name": "price", "args": {}}]},
}


def test_a_whole_case_lacks_nothing() -> None:
    """What is asked, called and answered is all that the usual metrics compare."""
    assert missing_of_case(case(WHOLE), USUAL) == []


def test_answers_and_calls_that_are_not_expected_are_named() -> None:
    """With the message that lacks one, and the metric that has nothing to compare with."""
    silent = {"userContent": text("And?"), "finalResponse": {"parts": []}}
    [answer] = missing_of_case(case(WHOLE, silent), USUAL)
    assert answer.startswith("No expected answer to message 2: response_match_score")
    plain = {name: value for name, value in WHOLE.items() if name != "intermediateData"}
    [calls] = missing_of_case(case(plain), USUAL)
    assert calls.startswith("No tool calls: tool_trajectory_avg_score")
    assert missing_of_case(case(plain), Metrics(["response_match_score"])) == []


def test_a_judge_without_a_key_is_named() -> None:
    """A metric that asks a model needs a key; one that compares does not."""
    judged = Metrics(["response_match_score", "judged"], {"judged": "gemini-2.5-flash"})
    [named] = missing_of_set(judged, {})
    assert named.startswith("judged asks gemini-2.5-flash, and there is no key: set GOOGLE_API_KEY")
    assert missing_of_set(judged, {"GEMINI_API_KEY": "x"}) == []
    assert missing_of_set(Metrics(["judged"], {"judged": "openai/gpt"}), {}) == []
    assert missing_of_set(USUAL, {}) == []
    safe = Metrics(["safety_v1"])
    assert "Google Cloud" in missing_of_set(safe, {})[0]
    assert missing_of_set(safe, {"GOOGLE_CLOUD_PROJECT": "x"}) == []


@pytest.mark.parametrize("content", ["{", '{"criteria": {}}', '{"criteria": {"odd": 1}}'])
def test_a_config_that_cannot_be_used_is_what_is_missing(tmp_path: Path, content: str) -> None:
    """It is said with the reason, and the case is still read."""
    (tmp_path / FILE_NAME).write_text(content)
    found = metrics_of(tmp_path / "new.evalset.json")
    assert missing_of_set(found, {}) == [found.problem]
    assert found.problem
    assert missing_of_case(case(WHOLE), found) == []


def test_what_is_no_case_is_refused() -> None:
    """Of ADK's own model."""
    with pytest.raises(Conflict):
        parse_case(json.loads('{"evalId": 3}'))
