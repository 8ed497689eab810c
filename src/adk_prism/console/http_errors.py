"""Errors of the console's HTTP client: no answer, or a refusal."""

from __future__ import annotations

from adk_prism.errors import PrismError


class Unreachable(PrismError):
    """The server does not answer, or the connection broke. Trying again may help."""

    title = "Server unreachable"


class Refused(PrismError):
    """The server rejected the request. Trying the same again does not help."""

    title = "Refused"

    def __init__(self, detail: str, code: int) -> None:
        super().__init__(detail)
        self.code = code
        """The HTTP status code."""
