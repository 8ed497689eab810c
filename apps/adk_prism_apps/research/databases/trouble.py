"""What can go wrong between us and a service: a closed list, with what the service said about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TroubleKind = Literal[
    "network_error",
    "timeout",
    "rate_limited",
    "auth_failed",
    "access_restricted",
    "malformed_query",
    "service_error",
]


@dataclass(frozen=True, slots=True)
class Trouble:
    """`rule` names the rule that spoke; `detail` is safe to show: no key, no address, no path."""

    kind: TroubleKind
    rule: str
    detail: str
    status: int | None = None
    retry_after: float | None = None
    passing: bool = False
    """Whether the same request may succeed a little later."""
