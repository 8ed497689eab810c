"""What differs between AI SDK versions, all of it.

Dialect 6 uses only what ai 6.0.0 knows, which every v6 and v7 client accepts. Dialect 7 adds what
ai 7.0.0 brought: the reason of an approval request, approval answers in a replayed message, and taking back
text that ADK did not store. Dialect 5 does without what ai 5.0.0 lacks: finish reasons and approvals, which
are data parts there.
"""

from __future__ import annotations

from msgspec import Struct, structs

from adk_prism.errors import UsageError


class Dialect(Struct, frozen=True):
    """One version's ways."""

    name: str
    finish_reasons: bool
    """`finish` may carry `finishReason`."""
    approvals: bool
    """`tool-approval-request` and `tool-output-denied` exist."""
    provider_calls_apart: bool
    """Stock clients leave out the provider's own calls when they decide whether to post again."""
    approval_reasons: bool
    """`tool-approval-request` may carry `reason`."""
    approval_responses: bool
    """`tool-approval-response` exists: a replay shows who decided what, and `tool-output-denied` after
    it. Without it, a decided request cannot be replayed: a v6 client would ask the person again."""
    resets: bool
    """`reset-step` exists: what a step shows can be rewound."""


DEFAULT = "6"
_SIX = Dialect(
    DEFAULT,
    finish_reasons=True,
    approvals=True,
    provider_calls_apart=True,
    approval_reasons=False,
    approval_responses=False,
    resets=False,
)
_SEVEN = structs.replace(
    _SIX, name="7", approval_reasons=True, approval_responses=True, resets=True
)
_FIVE = structs.replace(
    _SIX, name="5", finish_reasons=False, approvals=False, provider_calls_apart=False
)
DIALECTS = {each.name: each for each in (_SIX, _SEVEN, _FIVE)}
"""The default first."""


def dialect(name: str) -> Dialect:
    """Look a dialect up; raise `UsageError` for one we do not speak."""
    found = DIALECTS.get(name or DEFAULT)
    if found is None:
        raise UsageError(f"Unknown dialect {name[:20]!r}; expected one of {', '.join(DIALECTS)}.")
    return found


def kept(name: str) -> Dialect:
    """Return the dialect in which whole messages are kept.

    Where parts have approvals they can hold a decision, also where the stream has no chunk that would tell it
    to a client that was not there.
    """
    found = dialect(name)
    return structs.replace(found, approval_responses=found.approvals)
