"""The token by which a server knows who talks to it: from the command line, a file, or the environment.

A file is read again when the server no longer takes what it held, so that a panel outlives a token that
is renewed beside it. A token goes to the panel's own server alone, and is never shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

import httpx

from adk_prism.errors import UsageError

VARIABLE = "ADK_PRISM_TOKEN"
LONGEST = 16 * 1024
"""Characters: what a server reads."""

_TOKEN = re.compile(r"[\x21-\x7e]+")


class Token(httpx.Auth):
    """Says who calls, with every request."""

    def __init__(self, read: Callable[[], str]) -> None:
        """`read` finds the token, and is asked again after a refusal. Raise `UsageError` if there is none."""
        self._read = read
        self._token = read()

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send a request with the token; once more if there is a newer one than the one refused."""
        used = self._token
        request.headers["authorization"] = f"Bearer {used}"
        response = yield request
        if response.status_code == httpx.codes.UNAUTHORIZED:
            self._token = self._read()
            if self._token != used:
                request.headers["authorization"] = f"Bearer {self._token}"
                yield request


def find_token(given: str | None, file: str | None, environment: Mapping[str, str]) -> Token | None:
    """Return the token that was given in one of the ways; None without any. Raise `UsageError`."""
    if given is not None and file is not None:
        raise UsageError("--token and --token-file exclude each other.")
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
        raise UsageError("--token-file names a file that is not text.") from None
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise UsageError(f"--token-file {str(path)!r} cannot be read: {why}.") from None


def _check(text: str, source: str) -> str:
    token = text.strip()
    if len(token) > LONGEST or not _TOKEN.fullmatch(token):
        raise UsageError(f"{source} holds no token: that is one word of plain letters and signs.")
    return token
