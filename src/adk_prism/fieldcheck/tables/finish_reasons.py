"""Why a model stopped, or refused to begin: each of upstream's words, in the AI SDK's.

The words themselves are in `projection/ai_sdk/finish.py` and `facts/adk_event.py`; a new one has to
be added to both.
"""

from __future__ import annotations

from adk_prism.facts import model as fact
from adk_prism.facts.adk_event import BLOCK_REASONS, FINISH_REASONS
from adk_prism.fieldcheck.kinds import Rows, at
from adk_prism.projection.ai_sdk import finish

REFUSALS = BLOCK_REASONS | frozenset(
    "SAFETY OTHER BLOCKLIST PROHIBITED_CONTENT IMAGE_SAFETY".split()
)
"""All reasons to refuse a prompt; some are finish reasons as well."""


def _rows(reasons: frozenset[str]) -> Rows:
    return {
        reason: at("finish.finishReason", fact.MessageEnded, f"`{finish.FINISH_REASONS[reason]}`")
        for reason in sorted(reasons & finish.FINISH_REASONS.keys())
    }


TABLE = {"FinishReason": _rows(FINISH_REASONS), "BlockedReason": _rows(REFUSALS)}
