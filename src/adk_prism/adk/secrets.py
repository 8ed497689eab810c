"""Remove secrets from everything that enters the log: the one rule, for every record of every source.

ADK's own redaction (`redaction.py`) knows credentials where ADK keeps them. This is for the rest: a token in
the state, a password among a tool's arguments, an API key in a text. It is replaced in the log, and so in
everything that is computed from the log; the agent and its session keep the real value. A secret is found

- by the **name** of what holds it (`secret_names.py`): the key of an object, or the name in a pair such as
  `{"name": "Authorization", "value": …}` and `["Authorization", …]`; also inside JSON that is a string;
- by its **value**: those that this process was given (`known_secrets.py`), in any text or key;
- by its **form** (`secret_forms.py`), in any text.

The log applies the rule (`log/hooks.py`), so that no writer can go around it. What a run streams in
pieces is in `stream_redaction.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
import pydantic_core
from msgspec.structs import replace

from adk_prism.adk import secret_forms as forms
from adk_prism.adk.plain_json import encode_strictly
from adk_prism.errors import Diagnostic, Report, SourceError
from adk_prism.log.entry import FRAMED, Record, pack, unpack

# ---------------------------------------------------------------------------
# Which secrets this process was given: by its environment, an app's `.env`, a setting.
#
# A value is one if its variable has a secret name, or if it is a password inside a URL, a connection
# string or JSON (`DATABASE_URL`). The path of a file is none: it says where a secret is.

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
    return _VARIABLE.search(name) is not None or forms.verdict(name) != forms.NO


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
    yield from (value for name, value in named if forms.verdict(name) != forms.NO)


def _assigned(value: str) -> Iterator[str]:
    for name, said in _ASSIGNED.findall(value):
        if forms.verdict(name) != forms.NO:
            yield said.strip("\"'")


def _in_json(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, str):
        if name and forms.verdict(name) != forms.NO:
            yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _in_json(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _in_json(item, name)


# ---------------------------------------------------------------------------

SHORTEST_VALUE, SHORTEST_WORD = 8, 12
"""Characters of a secret that is looked for by its value; the second if it has letters only, or digits only:
a shorter one could be a word or a number of any text."""
MOST_VALUES = 256
"""Values that are looked for: each is looked for in each text."""
DEEPEST_TEXT = 4
"""How often JSON is looked for in the strings of JSON: some tools wrap an answer twice."""

_STATES = frozenset({"state", "stateDelta", "state_delta"})
_ADK_CREDENTIALS = frozenset(
    "rawAuthCredential exchangedAuthCredential authCredential raw_auth_credential exchanged_auth_credential"
    " auth_credential credentialService credential_service".split()
)
"""Objects in which ADK's own redaction has left only what a client needs to sign in."""
_NAMES = "name key header field variable parameter param label Name Key k".split()
_VALUES = "value values val content Value stringValue string_value secretValue v".split()
"""The keys of a pair."""
_KINDS = ("id", "type")
"""Keys of many other things, so only a name that is a secret for certain counts."""
_SCHEMA = frozenset(
    "type format description title default enum const example examples properties required items prefixItems"
    " anyOf any_of oneOf allOf not $ref $defs $schema defs nullable minLength maxLength min_length max_length"
    " minItems maxItems min_items max_items minProperties maxProperties minimum maximum exclusiveMinimum"
    " exclusiveMaximum multipleOf pattern additionalProperties additional_properties propertyOrdering"
    " property_ordering uniqueItems writeOnly readOnly deprecated".split()
)
"""The keys of a JSON Schema: what a tool takes, not what it is given."""
_TELLING = frozenset("type $ref anyOf any_of oneOf allOf properties enum".split())


class _Place(NamedTuple):
    """Where a value stands."""

    in_state: bool = False
    above: forms.Verdict = forms.NO
    """What the names around it say."""
    texts: int = 0
    """In how many JSON texts it is."""


class Secrets:
    """The secrets of one server."""

    def __init__(
        self,
        values: Iterable[str] = (),
        patterns: Collection[str] = (),
        revealed: Collection[str] = (),
    ) -> None:
        """`patterns`: of further keys, e.g. `*_pin`; `revealed`: keys that are not secret."""
        self._patterns = tuple(patterns)
        self._revealed = frozenset(revealed)
        self._anywhere: re.Pattern[str] | None = None
        self.values: list[str] = []
        """Known values, the longest first."""
        self.learn(values)

    def learn(self, values: Iterable[str]) -> None:
        """Look for more values from now on. Those that are too short to be looked for are left out."""
        long = {value for value in values if _can_be_looked_for(value)} | {*self.values}
        if len(long) == len(self.values):
            return
        self.values = sorted(long, key=lambda value: (-len(value), value))[:MOST_VALUES]
        # The leftmost, and of those the longest.
        self._anywhere = re.compile("|".join(map(re.escape, self.values)))

    def learn_variables(self, variables: Mapping[str, str]) -> None:
        """Look for the secrets among environment variables from now on."""
        self.learn(secret_values(variables))

    # ----------------------------------------------------------------------- the rule

    def record(self, record: Record) -> Record:
        """Return a record as it may enter the log: the same one, if nothing in it is secret."""
        kind, data = pack(record)
        clean = self.payload(kind, data)
        return record if clean is data else unpack(kind, clean)

    def payload(self, kind: str, data: bytes) -> bytes:
        """Return a record's stored form without secrets: the same bytes, if there are none."""
        clean = self.json(data)
        if clean is not data and kind in FRAMED and not _can_be_read(kind, clean):
            # A part of the record itself has a key that sounds secret: an id that a client chose.
            value = _map_texts(pydantic_core.from_json(data, cache_strings="none"), self.text)
            clean = encode_strictly(value)
        return clean

    def json(self, data: bytes) -> bytes:
        """Return a JSON text without secrets: the same one, if there are none."""
        try:
            value = pydantic_core.from_json(data, cache_strings="none")
        except ValueError:
            # Nested too deeply, or a number that is too long: what can be read of it is its text.
            text = data.decode("utf-8", "replace")
            clean = self.text(text)
            return data if clean is text else clean.encode()
        clean = self.value(value)
        return data if clean is value else encode_strictly(clean)

    def value(self, value: Any) -> Any:
        """Return JSON data without secrets: itself, if there are none."""
        return self._walk(value, _Place())

    def text(self, text: str) -> str:
        """Return any text without the secret values in it, and what has the form of a secret."""
        return forms.without_forms(self.without_values(text))

    def without_values(self, text: str) -> str:
        """Return a text without the known values: the same object, if there are none."""
        if self._anywhere is None or not self.holds_value(text):
            return text
        return self._anywhere.sub(forms.REDACTED, text)

    def holds_value(self, text: str) -> bool:
        """Return whether a known value is in a text."""
        for value in self.values:  # noqa: SIM110 - a loop takes half the time of `any`, and this is for every delta
            if value in text:
                return True
        return False

    def _is_plain(self, text: str) -> bool:
        """Return whether a string in JSON can hold no secret. True is certain; False costs a search."""
        return not (
            forms.may_hold_forms(text) or "{" in text or "[" in text or self.holds_value(text)
        )

    def redacting(self, report: Report) -> Report:
        """Return a report function that removes secret values first."""

        def redacted(diagnostic: Diagnostic) -> None:
            clean = {
                name: self.text(getattr(diagnostic, name))
                for name in ("detail", "cause", "message")
            }
            report(replace(diagnostic, **clean))

        return redacted

    # ----------------------------------------------------------------------- the walk

    def _walk(self, value: Any, place: _Place) -> Any:
        """Return a value without secrets."""
        if isinstance(value, str):
            return self._walk_text(value, place)
        if isinstance(value, dict):
            return self._walk_dict(value, place)
        return self._walk_list(value, place) if isinstance(value, list) else value

    def _walk_text(self, value: str, place: _Place) -> str:
        if place.above == forms.IF_OPAQUE and forms.looks_opaque(value):
            return forms.REDACTED
        if self._is_plain(value):
            return value
        inner = _json_in(value) if place.texts < DEEPEST_TEXT else None
        if inner is not None:
            clean = self._walk(inner, place._replace(texts=place.texts + 1))
            return value if clean is inner else json.dumps(clean, ensure_ascii=False)
        return self.text(value)

    def _walk_list(self, value: list[Any], place: _Place) -> Any:
        if place.above == forms.IF_OPAQUE:
            # A list with a word in it is a list of words.
            strings = [item for item in value if isinstance(item, str) and item]
            if not all(map(forms.looks_opaque, strings)):
                place = place._replace(above=forms.NO)
        items = [self._walk(item, place) for item in value]
        if len(items) == 2 and all(isinstance(item, str) for item in items):
            name, said = items
            if self._verdict(name, place.in_state) != forms.NO and forms.looks_opaque(said):
                items[1] = forms.REDACTED  # a pair, as in a list of headers
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value

    def _walk_dict(self, value: dict[str, Any], place: _Place) -> dict[str, Any]:
        items = {}
        is_same = True
        for key, item in value.items():
            clean = self._walk_item(key, item, place)
            name = key if self._anywhere is None else self.without_values(key)
            is_same = is_same and clean is item and name is key
            items[name] = clean
        pair = self._pair(value, place.in_state)
        if pair:
            return items | dict.fromkeys(pair, forms.REDACTED)
        return value if is_same else items

    def _walk_item(self, key: str, item: Any, place: _Place) -> Any:
        if not item or not isinstance(item, str | list | dict):
            return item  # numbers, booleans and null are not secrets
        in_state = place.in_state or key in _STATES
        said = self._verdict(key, in_state)
        if said == forms.NO:
            said = forms.NO if key in self._revealed else place.above
        if said == forms.SECRET:
            if isinstance(item, dict | list) and key in _ADK_CREDENTIALS:
                said = forms.NO
            elif isinstance(item, dict) and _is_schema(item):
                said = forms.IF_OPAQUE
            else:
                return forms.REDACTED
        return self._walk(item, _Place(in_state, said, place.texts))

    def _pair(self, value: dict[str, Any], in_state: bool) -> list[str]:
        """Return the keys of the values that the names of a pair call secret."""
        for key in (*_NAMES, *_KINDS):
            name = value.get(key)
            if not isinstance(name, str):
                continue
            said = self._verdict(name, in_state)
            if said == forms.NO or (key in _KINDS and said != forms.SECRET):
                continue
            return [
                k
                for k in _VALUES
                if k != key and (v := value.get(k)) and isinstance(v, str | list | dict)
                if said == forms.SECRET or (isinstance(v, str) and forms.looks_opaque(v))
            ]
        return []

    def _verdict(self, name: str, in_state: bool) -> forms.Verdict:
        if name in self._revealed:
            return forms.NO
        if self._patterns and any(fnmatchcase(name, pattern) for pattern in self._patterns):
            return forms.SECRET
        return forms.verdict(name, in_state=in_state)


def _can_be_read(kind: str, data: bytes) -> bool:
    try:
        unpack(kind, data)
    except SourceError:
        return False
    return True


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_map_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {key: _map_texts(item, change) for key, item in value.items()}
    return value


def _json_in(text: str) -> Any:
    """Return the object or list that a text is the JSON of; None if it is not."""
    bare = text.strip()
    if bare[:1] not in ("{", "[") or bare[-1:] not in ("}", "]"):
        return None
    try:
        found = pydantic_core.from_json(bare, cache_strings="none")
    except ValueError:
        return None
    return found if isinstance(found, dict | list) else None


def _is_schema(value: dict[str, Any]) -> bool:
    return not _TELLING.isdisjoint(value) and _SCHEMA.issuperset(value)


def _can_be_looked_for(value: str) -> bool:
    if len(value) >= SHORTEST_WORD:
        return True
    return len(value) >= SHORTEST_VALUE and not value.isalpha() and not value.isdigit()
