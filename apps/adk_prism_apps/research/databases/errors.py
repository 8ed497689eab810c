"""What can go wrong when a service is asked: a closed list, with what the service said about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ServiceErrorKind = Literal[
    "network_error",
    "timeout",
    "rate_limited",
    "auth_failed",
    "access_restricted",
    "malformed_query",
    "service_error",
]


@dataclass(frozen=True, slots=True)
class ServiceError:
    """`rule` names the rule that spoke; `detail` is safe to show: no key, no address, no path."""

    kind: ServiceErrorKind
    rule: str
    detail: str
    status: int | None = None
    retry_after: float | None = None
    passing: bool = False
    """Whether the same request may succeed a little later."""
