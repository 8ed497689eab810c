"""Static tokens: a JSON file with the user of each token.

    {"a-long-random-token": "ann", "another": {"user": "operator", "scopes": ["admin"]}}

The file is read again when it changes, so removing a token revokes it. Only digests are kept in memory, and a
token is looked up by its digest, so the time of the lookup reveals nothing about valid tokens. If a changed
file cannot be read, all requests fail with an error that says so.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs
from starlette.requests import HTTPConnection

from adk_prism.errors import NoIdentity, PrismError, UsageError
from adk_prism.server.guards.name_rules import check_user
from adk_prism.server.identity.caller import Principal
from adk_prism.server.identity.credentials import LONGEST, bearer, digest

OF_FILE = "token "
"""How the name of such a credential begins."""

LOOK_EVERY = 0.5
"""Seconds between two checks of the file's time."""

SHORTEST, SHORT = 3, 12
"""Characters of a token. A shorter one than the first is refused: it is soon found, though wrong ones are
slowed down (`wrong_tokens.py`). One that is shorter than the second is reported."""

SCOPES = frozenset({"admin", "record"})

_Stamp = tuple[int, int, int]


class TokenFile:
    """The tokens of one file."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raise `UsageError` if it is not valid."""
        self._path = path
        self._stamp = _stamp(path)
        self._owners = _read(path)
        self._short = sum(len(token) < SHORT for token in msgspec.json.decode(path.read_bytes()))
        self._looked = time.monotonic()

    async def __call__(self, connection: HTTPConnection) -> Principal | None:
        """Return the user of a request's token; None if it is not in the file."""
        token = bearer(connection)
        if not token:
            return None
        return self.owner(digest(token).hex())

    def owner(self, name: str) -> Principal | None:
        """Return the user of the token with this digest; None if it is not in the file (any more)."""
        self._refresh()
        found = self._owners.get(bytes.fromhex(name))
        return structs.replace(found, credential=f"{OF_FILE}{name}") if found is not None else None

    @property
    def short(self) -> int:
        """How many tokens are so short that they can be guessed."""
        return self._short

    @property
    def is_readable_by_others(self) -> bool:
        """Whether other users of this machine can read the file."""
        return os.name == "posix" and bool(self._path.stat().st_mode & stat.S_IROTH)

    def _refresh(self) -> None:
        now = time.monotonic()
        if now - self._looked < LOOK_EVERY:
            return
        try:
            stamp = _stamp(self._path)
            if stamp != self._stamp:
                self._owners, self._stamp = _read(self._path), stamp
        except UsageError as error:
            # The next request checks again.
            raise NoIdentity("The server cannot read its token file.") from error
        self._looked = now


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except OSError as error:
        raise UsageError(f"The tokens file {str(path)!r} cannot be read: {_why(error)}.") from error
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def _read(path: Path) -> dict[bytes, Principal]:
    try:
        document = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise UsageError(f"The tokens file {str(path)!r} cannot be read: {_why(error)}.") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise UsageError(f"The tokens file {str(path)!r} must be JSON.") from None
    if not isinstance(document, dict) or not document:
        raise UsageError(
            f'The tokens file {str(path)!r} must be a JSON object: {{"TOKEN": "USER", …}}.'
        )
    return {
        digest(_token(token, place)): _principal(owner, place)
        for place, (token, owner) in enumerate(document.items(), 1)
    }


def _token(token: str, place: int) -> str:
    if 0 < len(token) < SHORTEST:
        raise UsageError(
            f"Token {place} of the tokens file has fewer than {SHORTEST} characters, and can be guessed;"
            " make one with python -c 'import secrets; print(secrets.token_urlsafe(32))'."
        )
    if not token or len(token) > LONGEST or not token.isascii() or " " in token:
        # Its number, not its text: the message ends up in logs.
        raise UsageError(f"Token {place} of the tokens file is empty, too long, or not ASCII text.")
    return token


def _principal(owner: Any, place: int) -> Principal:
    fields: Mapping[str, Any] = owner if isinstance(owner, dict) else {"user": owner}
    user, scopes = fields.get("user"), fields.get("scopes", [])
    if not isinstance(user, str) or set(fields) - {"user", "scopes"}:
        raise UsageError(f"Token {place} of the tokens file has no user; expected USER or {_FORM}.")
    if not isinstance(scopes, list) or not SCOPES.issuperset(map(str, scopes)):
        raise UsageError(
            f"Token {place} of the tokens file has an unknown scope; expected admin or record."
        )
    try:
        return Principal(check_user(user), admin="admin" in scopes, recorder="record" in scopes)
    except PrismError as error:
        raise UsageError(f"Token {place} of the tokens file: {error.detail}") from None


_FORM = '{"user": USER, "scopes": ["admin"]}'


def _why(error: OSError) -> str:
    return error.strerror or type(error).__name__
