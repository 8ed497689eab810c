"""Remove the secrets that apps put into state, arguments and texts: found by key name, or by their form.

ADK's own redaction (`redaction.py`) knows credentials where ADK keeps them. This is for the rest: a token in
the state, a password among a tool's arguments, an API key in a text. It is replaced in the log, and so in
everything that is computed from the log; the agent and its session keep the real value.

- **State keys** with a word such as token or password in them (`user_token`, `dbPassword`).
- **Other keys** only with an unmistakable name (`authorization`, `api_key`, `password`).
- **Values**: those of this process's secret environment variables, and what has the form of a known key.

A secret that a model streams in pieces is not found in the pieces.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote, urlsplit

import pydantic_core
from msgspec.structs import replace

from adk_prism.diagnostics import Diagnostic, Report
from adk_prism.runlog.entry import EVENT, Record, pack, unpack
from adk_prism.source.plain_json import encode_strictly

REDACTED = "[redacted]"

SHORTEST_VALUE = 12
"""Characters of a secret that is looked for by its value: a shorter one could be a word."""
MOST_VALUES = 64

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET_WORDS = frozenset(
    "secret secrets password passwords passwd passphrase credential credentials apikey".split()
)
_KEY_BEFORE = frozenset("api access private secret signing encryption".split())
_TOKEN_BEFORE = frozenset(
    "page next continuation cursor sync stop start end pad eos bos mask first last".split()
)
"""Words that make a `token` one of paging or of a model's text."""

_UNMISTAKABLE = frozenset(
    "password passwd passphrase clientsecret apikey xapikey accesstoken refreshtoken idtoken"
    " privatekey secretkey secretaccesskey authorization proxyauthorization cookie setcookie".split()
)

_HINTS = tuple(
    re.compile(word.encode() + rb'[^":]{0,40}"\s*:\s*["\[{]')
    for word in "secret token passw passphrase credential key authorization cookie".split()
)
"""Keys, in lower case, for which the JSON is parsed and searched. Eight expressions that each begin with a
word take a sixth of the time of one expression with eight words."""

_BODY_BYTES = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_+/=-"
_BODY = frozenset(_BODY_BYTES)
_ALONE = rb"(?![0-9A-Za-z_+/=-])"

_FORMS = tuple(
    re.compile(form)
    for form in (
        rb"AIza[0-9A-Za-z_-]{35}" + _ALONE,
        rb"ya29\.[0-9A-Za-z_-]{20,2000}" + _ALONE,
        rb"sk-[0-9A-Za-z_-]{20,200}" + _ALONE,
        rb"ghp_[0-9A-Za-z]{36,255}" + _ALONE,
        rb"gho_[0-9A-Za-z]{36,255}" + _ALONE,
        rb"github_pat_[0-9A-Za-z_]{20,255}" + _ALONE,
        rb"xox[abprs]-[0-9A-Za-z-]{10,200}" + _ALONE,
        rb"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-\"]*(?:-----END [A-Z ]{0,40}-----)?",
    )
)
"""Keys that are known by their form. Only whole words: Base64 data may contain anything."""

_BLOB = b'"inlineData":{"data":"'
SHORTEST_BLOB = 4096
"""Bytes of Base64 that are not looked through: more than any form of a key has."""

_STATES = frozenset({"state", "stateDelta", "state_delta"})
_PARTIAL = b'"partial":true'


class Secrets:
    """The secrets of one server."""

    def __init__(
        self,
        values: Iterable[str] = (),
        patterns: Collection[str] = (),
        revealed: Collection[str] = (),
    ) -> None:
        """`patterns`: of further keys, e.g. `*_pin`; `revealed`: keys that are not secret."""
        long = sorted({v for v in values if len(v) >= SHORTEST_VALUE}, key=len, reverse=True)
        self._values = [value.encode("utf-8", "surrogatepass") for value in long[:MOST_VALUES]]
        # As they are written in JSON, between the quotes.
        self._quoted = [encode_strictly(value)[1:-1] for value in long[:MOST_VALUES]]
        self._patterns = tuple(patterns)
        self._revealed = frozenset(revealed)

    def record(self, record: Record) -> Record:
        """Return a record as it may enter the log: the same one, if nothing in it is secret."""
        kind, data = pack(record)
        clean = self.payload(kind, data)
        return record if clean is data else unpack(kind, clean)

    def payload(self, kind: str, data: bytes) -> bytes:
        """Return a record's stored form without secrets: the same bytes, if there are none."""
        if kind == EVENT and _PARTIAL in data:
            return _without(self._quoted, data) if self._quoted else data
        return self.json(data)

    def json(self, data: bytes) -> bytes:
        """Return a JSON text without secrets: the same one, if there are none."""
        data = _without(self._quoted, data)
        if _may_hold_secrets(_without_blob(data), bool(self._patterns)):
            data = _without_forms(data)
            if self._patterns or _may_name_secrets(data):
                return self._without_keys(data)
        return data

    def text(self, text: str) -> str:
        """Return any text without the secret values in it."""
        data = text.encode("utf-8", "surrogatepass")
        clean = _without_forms(_without(self._values, data))
        return text if clean is data else clean.decode("utf-8", "surrogatepass")

    def redacting(self, report: Report) -> Report:
        """Return a report function that removes secret values first."""

        def redacted(diagnostic: Diagnostic) -> None:
            clean = {
                name: self.text(getattr(diagnostic, name))
                for name in ("detail", "cause", "message")
            }
            report(replace(diagnostic, **clean))

        return redacted

    def _without_keys(self, data: bytes) -> bytes:
        value = pydantic_core.from_json(data)
        clean = self._walk(value, in_state=False)
        return data if clean is value else encode_strictly(clean)

    def _walk(self, value: Any, *, in_state: bool) -> Any:
        """Return a value without what its keys call secret: itself, if there is nothing."""
        if isinstance(value, dict):
            return self._walk_dict(value, in_state=in_state)
        if isinstance(value, list):
            items = [self._walk(item, in_state=in_state) for item in value]
            return items if _differ(items, value) else value
        return value

    def _walk_dict(self, value: dict[str, Any], *, in_state: bool) -> dict[str, Any]:
        items = {
            key: REDACTED
            if self._is_secret(key, item, in_state=in_state)
            else self._walk(item, in_state=in_state or key in _STATES)
            for key, item in value.items()
        }
        return items if _differ(items.values(), value.values()) else value

    def _is_secret(self, key: str, item: Any, *, in_state: bool) -> bool:
        if not item or key in self._revealed or not isinstance(item, str | list | dict):
            return False  # numbers, booleans and null are not secrets
        if any(fnmatchcase(key, pattern) for pattern in self._patterns):
            return True
        if in_state:
            return _says_secret(key)
        return isinstance(item, str) and re.sub(r"[^a-z]", "", key.lower()) in _UNMISTAKABLE


def _without(values: Iterable[bytes], data: bytes) -> bytes:
    for value in values:
        if value in data:
            data = data.replace(value, REDACTED.encode())
    return data


def _without_forms(data: bytes) -> bytes:
    def replaced(match: re.Match[bytes]) -> bytes:
        before = match.start() - 1
        return match[0] if before >= 0 and match.string[before] in _BODY else REDACTED.encode()

    for form in _FORMS:
        if form.search(data) is not None:
            found = form.sub(replaced, data)
            data = data if found == data else found
    return data


def _without_blob(data: bytes) -> bytes:
    """Return the part of a JSON text to search: all but the first long run of Base64.

    A second of audio is 64 KB of it, in which no key can be found.
    """
    _, found, rest = data.partition(_BLOB)
    end = rest.find(b'"') if found else -1
    if end < SHORTEST_BLOB or rest[:end].translate(None, _BODY_BYTES):
        return data
    return data[: -len(rest)] + rest[end:]


def _may_hold_secrets(data: bytes, has_patterns: bool) -> bool:
    forms = (form.search(data) is not None for form in _FORMS)
    return has_patterns or any(forms) or _may_name_secrets(data)


def _may_name_secrets(data: bytes) -> bool:
    lowered = data.lower()
    return any(hint.search(lowered) is not None for hint in _HINTS)


def _differ(one: Iterable[Any], other: Iterable[Any]) -> bool:
    return any(a is not b for a, b in zip(one, other, strict=True))


def _says_secret(key: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(key)]
    before = words[-2] if len(words) > 1 else ""
    if not words:
        return False
    if words[-1] == "token":
        return before not in _TOKEN_BEFORE
    return (
        not _SECRET_WORDS.isdisjoint(words)
        or (words[-1] == "key" and before in _KEY_BEFORE)
        or re.sub(r"[^a-z]", "", key.lower()) in _UNMISTAKABLE
    )


# --------------------------------------------------------------------------- where values come from

_SECRET_VARIABLE = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$")


def secret_values(environ: Mapping[str, str], urls: Iterable[str]) -> list[str]:
    """Return the secrets that this process was given: by its environment, or inside a URL."""
    variables = [
        value
        for name, value in environ.items()
        # A path to a secret is not a secret.
        if _SECRET_VARIABLE.search(name.upper()) and not value.startswith(("/", ".", "~"))
    ]
    return [*variables, *filter(None, map(_password, urls))]


def _password(url: str) -> str:
    try:
        return unquote(urlsplit(url).password or "")
    except ValueError:
        return ""
