"""What a search gave, whether or not it went well."""

from __future__ import annotations

from dataclasses import dataclass

from .database import Mode
from .errors import ServiceError
from .paper import Paper


@dataclass(frozen=True, slots=True)
class Outcome:
    """Papers are distinct. With an error, the papers that came before it are kept, and `partial` is true.

    `total` is how many the database has for the query; None where it does not say so usefully.
    `curl` is the first request as a command, keys redacted; empty for a local database.
    """

    papers: tuple[Paper, ...] = ()
    total: int | None = None
    pages: int = 0
    requests: int = 0
    duration_ms: int = 0
    warnings: tuple[str, ...] = ()
    error: ServiceError | None = None
    mode: Mode = "online"
    curl: str = ""
    repeated: int = 0
    """Records that came more than once, and were counted once."""
    truncated: bool = False
    """Whether the database has more than was read."""

    @property
    def partial(self) -> bool:
        """Whether an error ended the search after some papers had come."""
        return self.error is not None and bool(self.papers)
