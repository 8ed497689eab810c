"""The right to read from Cloud Storage: a token of the server's own account (`google-auth`, ADC).

Read-only, asked for when the first file is, kept until it is about to expire. Getting one blocks, so it
happens beside the event loop, once for all who wait. Why there is none is the operator's to know.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from adk_prism.errors import SourceError, UsageError

SCOPE = "https://www.googleapis.com/auth/devstorage.read_only"

PATIENCE = 15.0
"""Seconds: a metadata server answers in one, a federation of identities asks two others first."""

NEEDED = "Files of Cloud Storage need google-auth: pip install 'adk-prism[gcs]'."


class AccessToken(Protocol):
    """Gives the value of an `Authorization` header; an empty one where none is needed."""

    async def header(self) -> str: ...


class NoToken:
    """For an emulator, which asks for none and must not be shown one."""

    async def header(self) -> str:
        return ""


class DefaultCredentials:
    """Application Default Credentials."""

    def __init__(self) -> None:
        """Raise `UsageError` if google-auth is not installed."""
        try:
            import google.auth
            import google.auth.exceptions
            import google.auth.transport.requests
        except ImportError as error:
            raise UsageError(NEEDED) from error
        self._auth = google.auth
        self._request = google.auth.transport.requests.Request()
        self._credentials: google.auth.credentials.Credentials | None = None
        self._turn = asyncio.Lock()

    async def header(self) -> str:
        """Return a token that is still good. Raise `SourceError` if there is none to be had."""
        try:
            async with asyncio.timeout(PATIENCE), self._turn:
                return await asyncio.to_thread(self._fresh)
        except (self._auth.exceptions.GoogleAuthError, TimeoutError) as error:
            raise SourceError(
                "This server may not read files from Cloud Storage; the operator can grant access."
            ) from error

    def _fresh(self) -> str:
        if self._credentials is None:
            self._credentials, _ = self._auth.default(scopes=[SCOPE])
        if not self._credentials.valid:
            self._credentials.refresh(self._request)  # type: ignore[no-untyped-call] # upstream's
        return f"Bearer {self._credentials.token}"
