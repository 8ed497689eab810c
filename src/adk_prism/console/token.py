"""The access token for a server: from the command line, a file, or the environment.

A file is read again when the server rejects the token, so that the console survives a renewal. The token is
sent only to that server and never shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

import httpx

from adk_prism.console import words
from adk_prism.errors import UsageError

VARIABLE = "ADK_PRISM_TOKEN"
LONGEST = 16 * 1024
"""Most characters that a server accepts."""

_TOKEN = re.compile(r"[\x21-\x7e]+")


class Token(httpx.Auth):
    """Adds the token to every request."""

    def __init__(self, read: Callable[[], str]) -> None:
        """`read` returns the token or raises `UsageError`; it is called again after a 401."""
        self._read = read
        self._token = read()

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send a request with the token; retry once if a newer token is available."""
        used = self._token
        request.headers["authorization"] = f"Bearer {used}"
        response = yield request
        if response.status_code == httpx.codes.UNAUTHORIZED:
            self._token = self._read()
            if self._token != used:
                request.headers["authorization"] = f"Bearer {self._token}"
                yield request


def find_token(given: str | None, file: str | None, environment: Mapping[str, str]) -> Token | None:
    """Return the token from one of the sources, or None. Raise `UsageError` if it is not valid."""
    if given is not None and file is not None:
        raise UsageError(words.ONE_TOKEN)
    if file is not None:
        return Token(lambda: _read(Path(file)))
    text = given if given is not None else environment.get(VARIABLE)
    if not text:
        return None
    checked = _check(text, "--token" if given is not None else VARIABLE)
    return Token(lambda: checked)


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as opened:
            return _check(opened.read(LONGEST + 2), "--token-file")
    except UnicodeDecodeError:
        raise UsageError(words.TOKEN_FILE_NOT_TEXT.format(file=str(path))) from None
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise UsageError(words.TOKEN_FILE_UNREADABLE.format(file=str(path), why=why)) from None


def _check(text: str, source: str) -> str:
    token = text.strip()
    if len(token) > LONGEST or not _TOKEN.fullmatch(token):
        raise UsageError(words.BAD_TOKEN.format(source=source, limit=LONGEST))
    return token
