"""What can go wrong between the panel and its server: it does not answer, or it says no."""

from __future__ import annotations

from adk_prism.errors import PrismError


class Unreachable(PrismError):
    """The server does not answer, or stopped in the middle; trying again may help."""

    title = "Server unreachable"


class Refused(PrismError):
    """The server answered, and said no; trying the same again will not help."""

    title = "Refused"

    def __init__(self, detail: str, code: int) -> None:
        super().__init__(detail)
        self.code = code
        """The HTTP status."""
