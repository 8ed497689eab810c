"""Which secrets this process was given: by its environment, an app's `.env`, a setting.

A value is one if its variable has a secret name, or if it is a password inside a URL, a connection string or
JSON (`DATABASE_URL`). The path of a file is none: it says where a secret is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from adk_prism.source.secret_names import NO, verdict

_VARIABLE = re.compile(r"(?:^|_)(?:\w*KEY|PASS|PAT|PWD|PIN|DSN_SECRET|SALT)$")
"""Names that say more in an environment than elsewhere: nobody sets a primary key there."""
_PUBLIC = re.compile(r"PUBLIC|PUBLISHABLE|KEYBOARD|MONKEY|HOTKEY|^(?:OLD)?PWD$|_FILE$|_PATH$|_DIR$")
_PATH = re.compile(r"(?:~|\.{1,2})?(?:/[\w.@ +-]+)+/?|[A-Za-z]:\\.*")
_FILE = re.compile(r"\.\w{2,5}$")
_ASSIGNED = re.compile(r"""(?:^|[\s;,&?])([A-Za-z_][\w.-]*)\s*=\s*("[^"]*"|'[^']*'|[^\s;,&]+)""")
"""A part of a connection string: `host=db password=…`, `Server=db;Password=…`."""
_LONGEST = 16 * 1024
"""Characters of a value that is looked into. A service account's JSON has two thousand."""


def secret_values(variables: Mapping[str, str], urls: Iterable[str] = ()) -> list[str]:
    """Return the secrets in environment variables and in URLs, each once."""
    found: dict[str, None] = {}
    for name, value in variables.items():
        if _is_secret(name) and not _is_path(value):
            found[value] = None
        found |= dict.fromkeys(_inside(value))
    for url in urls:
        found |= dict.fromkeys(_inside(url))
    return [value for value in found if value]


def _is_secret(name: str) -> bool:
    name = name.upper()
    if _PUBLIC.search(name):
        return False
    return _VARIABLE.search(name) is not None or verdict(name) != NO


def _is_path(value: str) -> bool:
    """Return whether a value is plainly the path of a file: it is there, or it looks like nothing else."""
    if not _PATH.fullmatch(value):
        return False
    try:
        return _FILE.search(value) is not None or Path(value).expanduser().exists()
    except (OSError, ValueError, RuntimeError):
        return False


def _inside(value: str) -> Iterator[str]:
    """Yield the secrets inside a URL, a connection string or JSON."""
    if len(value) > _LONGEST:
        return
    if "://" in value:
        yield from _in_url(value)
    elif value.lstrip()[:1] in ("{", "["):
        try:
            yield from _in_json(msgspec.json.decode(value))
        except (msgspec.MsgspecError, RecursionError):
            return
    elif "=" in value:
        yield from _assigned(value)


def _in_url(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url.removeprefix("jdbc:"))
        password = parts.password or ""
        named = parse_qsl(parts.query)
    except ValueError:
        return
    yield from {password: None, unquote(password): None}
    yield from (value for name, value in named if verdict(name) != NO)


def _assigned(value: str) -> Iterator[str]:
    for name, said in _ASSIGNED.findall(value):
        if verdict(name) != NO:
            yield said.strip("\"'")


def _in_json(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, str):
        if name and verdict(name) != NO:
            yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _in_json(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _in_json(item, name)
