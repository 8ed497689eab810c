"""Finish reasons: every one that google-genai knows has its word in the AI SDK."""

from __future__ import annotations

import pytest
from google.genai.types import BlockedReason, FinishReason
from tests.laws.events import event, text
from tests.protocols.chunks import of_kind

from adk_prism.facts.adk_event import BLOCK_REASONS, FINISH_REASONS
from adk_prism.facts.outcome import is_finish
from adk_prism.protocols.ai_sdk import frames as finish

TABLE = {
    "stop": "STOP FINISH_REASON_UNSPECIFIED",
    "length": "MAX_TOKENS CONTINUATION",
    "content-filter": """SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY
        IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION JAILBREAK MODEL_ARMOR BLOCKED_REASON_UNSPECIFIED""",
    "error": "MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS NO_IMAGE",
    "other": "OTHER IMAGE_OTHER SOMETHING_NEW",
}
CASES = [(reason, word) for word, reasons in TABLE.items() for reason in reasons.split()]


@pytest.mark.parametrize(("upstream", "word"), CASES)
def test_a_reason_has_its_word(upstream: str, word: str) -> None:
    """As the finish reason of an event; and the model's own word is kept beside it."""
    (ended,) = of_kind("finish", event(text("a"), finishReason=upstream))
    assert ended["finishReason"] == word
    assert ended["messageMetadata"]["adkFinishReason"] == upstream


@pytest.mark.parametrize(("upstream", "word"), [c for c in CASES if c[0] != "SOMETHING_NEW"])
def test_a_reason_in_the_error_code_is_the_same(upstream: str, word: str) -> None:
    """ADK writes reasons to stop into `errorCode`; they are no failures."""
    (ended,) = of_kind("finish", event(text("a"), errorCode=upstream))
    assert ended["finishReason"] == word


def test_the_table_knows_every_reason_of_upstream() -> None:
    """A new one has to be looked at: until then it is `other`."""
    reasons = {str(reason.value) for reason in (*FinishReason, *BlockedReason)}
    assert reasons <= {"", *finish.FINISH_REASONS}
    assert all(is_finish(reason) for reason in reasons)
    assert reasons >= FINISH_REASONS | BLOCK_REASONS


def test_no_reason_is_an_ordinary_stop() -> None:
    """A run of functions alone has no model to give one."""
    (ended,) = of_kind("finish", event(output=1))
    assert ended["finishReason"] == "stop"


def test_the_last_reason_counts() -> None:
    """A call's STOP is not the message's; a survived cut is not its end."""
    (ended,) = of_kind(
        "finish", event(text("a"), finishReason="MAX_TOKENS"), event(text("b"), finishReason="STOP")
    )
    assert ended["finishReason"] == "stop"
