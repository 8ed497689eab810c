"""Tokens that a model call used, and the reason why it ended."""

from __future__ import annotations

from pydantic.alias_generators import to_camel

from adk_prism.facts import model as fact
from adk_prism.facts.adk_event import BLOCK_REASONS, FINISH_REASONS
from adk_prism.features.fields.kinds import Rows, at, carried, verbatim
from adk_prism.protocols.ai_sdk import frames
from adk_prism.protocols.ai_sdk.message_state import USAGE

# ---------------------------------------------------------------------- usage
#
# What a model call says of itself: tokens, cache, probabilities.

_USAGE = "finish.messageMetadata.usage"
_CALL = f"{_USAGE}.modelCalls[]"
_LOGPROBS = "finish.messageMetadata.logprobs"


def _usage() -> Rows:
    """Each count as it is, call by call; five of them summed as well, under the AI SDK's names."""
    counts = verbatim(
        _CALL,
        fact.ModelCallEnded,
        """cache_tokens_details cached_content_token_count candidates_token_count candidates_tokens_details
        prompt_token_count prompt_tokens_details thoughts_token_count tool_use_prompt_token_count
        tool_use_prompt_tokens_details total_token_count traffic_type""",
    )
    sums = {
        theirs: at(f"{_USAGE}.{name}", fact.ModelCallEnded, "summed")
        for name, theirs in USAGE.items()
    }
    return {
        name: sums[theirs] + row if (theirs := to_camel(name)) in sums else row
        for name, row in counts.items()
    }


LIVE: dict[str, Rows] = {
    "LiveServerSessionResumptionUpdate": carried(
        "new_handle resumable last_consumed_client_message_index",
        "part of `Event.live_session_resumption_update`",
    ),
    "LiveServerGoAway": carried("time_left", "part of `Event.go_away`"),
    "VoiceActivity": carried("voice_activity_type audio_offset", "part of `Event.voice_activity`"),
}

_USAGE_TABLE: dict[str, Rows] = {
    "GenerateContentResponseUsageMetadata": _usage(),
    "ModalityTokenCount": verbatim(
        f"{_CALL}.promptTokensDetails[]", fact.ModelCallEnded, "modality token_count"
    ),
    # The one type that ADK writes with underscores.
    "CacheMetadata": {
        name: at(f"finish.messageMetadata.cache.{name}", fact.ModelCallEnded)
        for name in """cache_name expire_time fingerprint invocations_used contents_count
            created_at""".split()
    },
    "LogprobsResult": verbatim(
        _LOGPROBS, fact.ModelCallEnded, "chosen_candidates top_candidates log_probability_sum"
    ),
    "LogprobsResultCandidate": verbatim(
        f"{_LOGPROBS}.chosenCandidates[]", fact.ModelCallEnded, "log_probability token token_id"
    ),
    "LogprobsResultTopCandidates": verbatim(
        f"{_LOGPROBS}.topCandidates[]", fact.ModelCallEnded, "candidates"
    ),
    **LIVE,
}


# ---------------------------------------------------------------------- finish reasons
#
# Why a model stopped, or refused to begin: each of upstream's words, in the AI SDK's.
#
# The words themselves are in `protocols/ai_sdk/frames.py` and `facts/adk_event.py`; a new one has to be
# added to both.

REFUSALS = BLOCK_REASONS | frozenset(
    "SAFETY OTHER BLOCKLIST PROHIBITED_CONTENT IMAGE_SAFETY".split()
)
"""All reasons to refuse a prompt; some are finish reasons as well."""


def _rows(reasons: frozenset[str]) -> Rows:
    return {
        reason: at("finish.finishReason", fact.MessageEnded, f"`{frames.FINISH_REASONS[reason]}`")
        for reason in sorted(reasons & frames.FINISH_REASONS.keys())
    }


_FINISH_REASONS_TABLE = {"FinishReason": _rows(FINISH_REASONS), "BlockedReason": _rows(REFUSALS)}


TABLE: dict[str, Rows] = {**_USAGE_TABLE, **_FINISH_REASONS_TABLE}
"""By upstream type, by field or value."""
