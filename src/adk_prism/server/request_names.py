"""Which names clients may give to apps, users, sessions and artifacts.

Names end up in paths of artifact files, keys of databases, URLs and pages, so they are allow-listed
at the border, once. Accepted: whatever is printable (`str.isprintable`: no control characters, no
bidi overrides or other invisible format characters, no surrogates, no spaces but U+0020), hence
uuids, e-mail addresses, nanoids, names with inner spaces. Refused: slashes, the names that a file
system or a JavaScript object understands as something else, and what no client meant (a space at
either end, which ADK strips; U+FFFD, which represents bytes that were not UTF-8).
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

from adk_prism.errors import NotFound, UsageError

LONGEST_NAME = 128
"""Characters: ADK's database columns for user and session ids hold as many (schemas/shared.py)."""

LONGEST_SEGMENT = 200
"""Bytes of one file name: file systems allow 255, and ADK adds its own endings."""

LONGEST_ARTIFACT = 512
"""Characters: with ADK's prefixes it stays under the 1024 bytes of an object store's key."""

USER_SCOPE = "user:"
"""ADK's prefix of artifacts that belong to the user, not to one session."""

_APP = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_UNSAFE = frozenset({".", "..", "__proto__", "constructor", "prototype"})


def check_app(name: str) -> str:
    """Return an app's name. Raise `NotFound`: no app has any other kind of name."""
    if _APP.fullmatch(name) is None or name in _UNSAFE:
        raise NotFound(f"There is no app {_shown(name)}.")
    return name


def check_user(name: str) -> str:
    """Return a user id. Raise `UsageError` for one that is refused."""
    return _check_id(name, "user id")


def check_session(name: str) -> str:
    """Return a session id. Raise `UsageError` for one that is refused."""
    return _check_id(name, "session id")


def check_artifact(name: str) -> str:
    """Return an artifact's name, which may have folders. Raise `UsageError` if it is refused."""
    if len(name) > LONGEST_ARTIFACT:
        raise UsageError(
            f"The artifact name has {len(name)} characters; at most {LONGEST_ARTIFACT}."
        )
    for segment in name.removeprefix(USER_SCOPE).split("/"):
        _check_text(segment, "artifact name")
        if len(segment.encode()) > LONGEST_SEGMENT:
            raise UsageError(f"A part of the artifact name is longer than {LONGEST_SEGMENT} bytes.")
    return name


def _check_id(name: str, what: str) -> str:
    if len(name) > LONGEST_NAME:
        raise UsageError(f"The {what} has {len(name)} characters; at most {LONGEST_NAME}.")
    if "/" in name:
        raise UsageError(f"The {what} {_shown(name)} has a slash; use another character.")
    return _check_text(name, what)


def _check_text(text: str, what: str) -> str:
    if not text:
        raise UsageError(f"The {what} is empty or has an empty part.")
    if not text.isprintable() or "\ufffd" in text or "\\" in text:
        raise UsageError(
            f"The {what} {_shown(text)} has a character that is not allowed: control and"
            " invisible characters, backslashes and broken UTF-8 are not accepted."
        )
    if text in _UNSAFE or text != text.strip(" "):
        raise UsageError(
            f"The {what} {_shown(text)} is not allowed: it is reserved, or starts or ends with a space."
        )
    return text


def _shown(name: str) -> str:
    return ascii(name)[:60]


# --------------------------------------------------------------------------- route parameters


def _described(highest: int, **more: str) -> WithJsonSchema:
    # For OpenAPI only: the checks above give better errors than a pattern.
    return WithJsonSchema({"type": "string", "minLength": 1, "maxLength": highest, **more})


_ID = _described(LONGEST_NAME, pattern=r"^[^/\\\s\x00-\x1f]+( +[^/\\\s\x00-\x1f]+)*$")

AppName = Annotated[
    str, AfterValidator(check_app), _described(LONGEST_NAME, pattern=f"^{_APP.pattern}$")
]
UserId = Annotated[str, AfterValidator(check_user), _ID]
SessionId = Annotated[str, AfterValidator(check_session), _ID]
ArtifactName = Annotated[str, AfterValidator(check_artifact), _described(LONGEST_ARTIFACT)]
