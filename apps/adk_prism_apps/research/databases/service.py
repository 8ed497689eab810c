"""What all remote databases share: who they are, where, and how their requests begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import httpx

from .access import AGENT, Access
from .answers import Reading, error_of
from .database import Mode, Profile, RateLimit
from .errors import ServiceError


@dataclass(frozen=True)
class Service:
    """The part of a `Database` that is data."""

    access: Access
    key: str
    label: str
    tool: str
    cap: int
    profile: Profile
    mode: ClassVar[Mode] = "online"
    reading: ClassVar[Reading]

    @property
    def host(self) -> str:
        """Return host and port, which all databases of one service share."""
        return self.access.host

    @property
    def key_variable(self) -> str:
        """Return the name of the environment variable that holds the key; empty if there is none."""
        return self.access.key_variable

    @property
    def rate_limit(self) -> RateLimit:
        """Return how often the service may be asked."""
        return RateLimit(1.0)

    def classify(self, answer: httpx.Response | Exception) -> ServiceError | None:
        """Return what is wrong with an answer; the service's own words come without our key."""
        error = error_of(answer, self.reading)
        if error is None:
            return None
        return ServiceError(
            error.kind,
            error.rule,
            self.access.redacted(error.detail),
            error.status,
            error.retry_after,
            error.passing,
        )

    def _get(
        self, path: str, parameters: Mapping[str, str], headers: Mapping[str, str] | None = None
    ) -> httpx.Request:
        given = {name: value for name, value in parameters.items() if value}
        sent = {"user-agent": AGENT, **(headers or {})}
        return httpx.Request("GET", self.access.address + path, params=given, headers=sent)
