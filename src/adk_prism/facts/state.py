"""Session state at any point of a run: what it began with, and every change since.

A fold of three things, in the order of the log: the state in `RunStarted`, the deltas of events, and
the differences that nodes found. Values stay the JSON they came as, and nothing is ever copied deeply:
a change costs as much as it changes, and what is shown is put together again only after a change.

`cut` is the state for a wire that wants a glance, not everything. The state itself is the first level;
an object or a list below the last level becomes a string that says how much is missing,
`"{… 4 keys}"` or `"[… 10 items]"`. Empty ones stay, for there is nothing to cut. The log has it all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from adk_prism.facts.model import Fact, NodeBegan, NodeFinished, RunBegan, StateChanged
from adk_prism.log.entry import NOTHING
from adk_prism.log.hooks import bound_structure

# ---------------------------------------------------------------------------
# JSON values made safe for strict readers: bytes in, bytes out, the same bytes where they are.
#
# Decides what is repaired, and how:
# - `NaN`, `Infinity`, `-Infinity` (Python's, not JSON's) become `null`;
# - an escape of a lone surrogate becomes `�`, and bytes that are not UTF-8 become U+FFFD;
# - the key `__proto__` becomes `(__proto__)`, and the key `prototype` of an object that stands under
#   the key `constructor` becomes `(prototype)`: the AI SDK's parser throws at both (ai 6.0.326 and
#   7.0.169, its copy of secure-json-parse); the brackets keep the name legible;
# - the key `constructor` of a null becomes `(constructor)`: that parser falls over it in ai 6.0.0;
# - what is nested too deep, and a number with too many digits, is cut (`log.hooks`). What enters a
#   log
#   is cut there; here it is what an older log or a file holds.
# It rewrites tokens and builds no values, so the depth of its input costs no stack. What is not JSON at
# all is
# returned unchanged.

# Rare bytes, looked for first. Numbers: `int in bytes` costs a seventh of `bytes in bytes`.
_UNDERSCORE, _BACKSLASH, _N, _I = b"_\\NI"


def _key(name: str) -> bytes:
    """Return a pattern for a key, each letter of it perhaps disguised as an escape.

    In JSON a bare quotation mark begins or ends a string. One with a backslash before it does not
    begin any, so what matches is a whole string; the colon makes it a key.
    """
    letters = "".join(rf"(?:{c}|\\u00(?i:{ord(c):02x}))" for c in name)
    return rf'(?<!\\)"{letters}"(?=\s*:)'.encode()


# An escaped ASCII letter or underscore may hide a key; a surrogate starts with \ud8 … \udf.
_SUSPECT_ESCAPE = re.compile(rb"\\u(?:00[4-7]|[dD][89a-fA-F])")
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\.",
    re.DOTALL,
)
_STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_NAN = re.compile(rb"(?P<string>" + _STRING + rb")|-?(?:NaN|Infinity)", re.DOTALL)
_PROTO = re.compile(_key("__proto__"))
_CONSTRUCTOR = re.compile(_key("constructor"))
_NULL_CONSTRUCTOR = re.compile(_key("constructor") + rb"(?=\s*:\s*null)")
_PROTOTYPE = re.compile(_key("prototype"))
_TOKEN = re.compile(
    rb"(?P<prototype>" + _key("prototype") + rb")"
    rb"|(?P<constructor>" + _key("constructor") + rb")"
    rb"|(?P<string>" + _STRING + rb")|(?P<open>[\[{])|(?P<close>[\]}])",
    re.DOTALL,
)


def repair(value: bytes, *, parsed: bool = False) -> bytes:
    """Return a JSON value that strict readers accept: the same object if it already is one.

    `parsed` says that msgspec has read the value, which takes no NaN: two looks less.
    """
    if _is_sound(value) and (parsed or _has_numbers_only(value)):
        return value
    if not _is_utf8(value):
        value = value.decode(errors="replace").encode()
    value = _ESCAPE.sub(lambda match: rb"\ufffd" if match["lone"] else match[0], value)
    if _N in value or _I in value:
        value = _NAN.sub(lambda match: match["string"] or b"null", value)
    value = _PROTO.sub(b'"(__proto__)"', value)
    value = _NULL_CONSTRUCTOR.sub(b'"(constructor)"', value)
    if _CONSTRUCTOR.search(value) and _PROTOTYPE.search(value):
        value = _rename_prototypes(value)
    return bound_structure(value)


def sound(value: Raw) -> Raw:
    """Return a value that msgspec has read as JSON that every client reads."""
    before = bytes(value)
    after = repair(before, parsed=True)
    return value if after is before else Raw(after)


def _is_sound(value: bytes) -> bool:
    """Tell cheaply that there is nothing to repair. A false negative only costs time."""
    return not (
        (_UNDERSCORE in value and b"__proto__" in value)
        or (b"constructor" in value and _is_trap(value))
        or (_BACKSLASH in value and _SUSPECT_ESCAPE.search(value))
        or (not value.isascii() and not _is_utf8(value))
        or bound_structure(value) is not value
    )


def _is_trap(value: bytes) -> bool:
    """Tell what the word `constructor` may be part of, once it is there."""
    return b"prototype" in value or _NULL_CONSTRUCTOR.search(value) is not None


def _has_numbers_only(value: bytes) -> bool:
    """Return whether there are surely no NaN and no infinities; a fast test."""
    return not ((_N in value and b"NaN" in value) or (_I in value and b"Infinity" in value))


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _rename_prototypes(value: bytes) -> bytes:
    """Rename `prototype` in objects under the key `constructor`."""
    out: list[bytes] = []
    copied = 0
    inside: list[bool] = []
    """For each open container: whether it is under the key `constructor`."""
    under = False
    for match in _TOKEN.finditer(value):
        kind = match.lastgroup
        if kind == "open":
            inside.append(under)
        elif kind == "close" and inside:
            inside.pop()
        elif kind == "prototype" and inside and inside[-1]:
            out += (value[copied : match.start()], b'"(prototype)"')
            copied = match.end()
        under = kind == "constructor"
    out.append(value[copied:])
    return b"".join(out)


# ---------------------------------------------------------------------------
# Raw JSON as Python values, for the few facts that inspect a value.
#
# Never raises: tools and models may write anything into their values.


def read_value(raw: Raw | bytes) -> Any:
    """Return the value, repaired if strict readers reject it; None if it is not JSON."""
    if raw is NOTHING:
        return None  # most absent values: saves two failing parsers
    sound = repair(bytes(raw))
    try:
        return msgspec.json.decode(sound)
    except msgspec.MsgspecError:
        pass
    try:
        return json.loads(sound)  # it accepts numbers outside the range of a double
    except ValueError:
        return None


def read_stored(raw: Raw | bytes) -> Any:
    """Return the value as it was stored; repaired only if it cannot be read, None if it is not JSON."""
    try:
        return msgspec.json.decode(bytes(raw))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return read_value(raw)


def read_object(raw: Raw | bytes) -> dict[str, Any]:
    """Return the object; an empty one for any other value."""
    value = read_value(raw)
    return value if isinstance(value, dict) else {}


def is_given(raw: Raw) -> bool:
    """Return whether a value is present; some writers omit absent ones, others write null."""
    # The length saves copying the bytes of a long one.
    return raw is not NOTHING and (len(raw) > len(b"null") or bytes(raw) not in (b"", b"null"))


def same_json(ours: Raw, theirs: Raw) -> bool:
    """Compare values as a JavaScript client can keep them: every number is a double."""
    return bool(
        _doubles(msgspec.json.decode(bytes(ours))) == _doubles(msgspec.json.decode(bytes(theirs)))
    )


def _doubles(value: Any) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return [_doubles(item) for item in value]
    if isinstance(value, dict):
        return {key: _doubles(item) for key, item in value.items()}
    return float(value)


# ---------------------------------------------------------------------------

DEPTH = 3
"""Levels that a glance shows: a key, what it holds, and what that holds."""

_encode = msgspec.json.Encoder().encode
_read_object = msgspec.json.Decoder(dict[str, Raw]).decode
_read_list = msgspec.json.Decoder(list[Raw]).decode


class Difference(NamedTuple):
    """How one state differs from another: what to set, and what to take away."""

    state: dict[str, Raw]
    gone: list[str]


class StateFold(Mapping[str, Raw]):
    """The state of one run, as far as its log has been read."""

    def __init__(self, state: Mapping[str, Raw] | None = None) -> None:
        self._values: dict[str, Raw] = dict(state or {})
        self._whole: Raw | None = None
        """What `snapshot` returned, until something changes."""
        self._cut: dict[str, bytes] = {}
        """What `cut` shows of each key, until it changes."""
        self._glance: Raw | None = None
        """What `cut` returned, until something changes."""

    def __getitem__(self, key: str) -> Raw:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def feed(self, fact: Fact) -> bool:
        """Read the facts of an entry; return whether it was about the state."""
        match fact:
            case RunBegan():
                self.change(fact.state, [key for key in self if key not in fact.state])
            case StateChanged():
                self.change(fact.delta)
            case NodeBegan() | NodeFinished():
                self.change(fact.state, fact.gone)
            case _:
                return False  # every other fact leaves the state alone
        return True

    def change(self, values: Mapping[str, Raw], gone: Iterable[str] = ()) -> None:
        """Set some keys and take others away."""
        for key, value in values.items():
            self._values[key] = value
            self._forget(key)
        for key in gone:
            if self._values.pop(key, None) is not None:
                self._forget(key)

    def _forget(self, key: str) -> None:
        self._whole = self._glance = None
        self._cut.pop(key, None)

    def difference(self, state: Mapping[str, Raw]) -> Difference:
        """Return what leads from here to another state. Equal JSON text is equal; else it is set."""
        added = {
            key: value
            for key, value in state.items()
            if key not in self._values or bytes(self._values[key]) != bytes(value)
        }
        return Difference(added, [key for key in self._values if key not in state])

    def snapshot(self) -> Raw:
        """Return the whole state as one JSON object: the same one as before, unless it changed."""
        if self._whole is None:
            self._whole = _join(
                {key: _member(key, bytes(value)) for key, value in self._values.items()}
            )
        return self._whole

    def cut(self) -> Raw:
        """Return the state down to `DEPTH` levels, with markers for deeper values."""
        if self._glance is None:
            for key, value in self._values.items():
                if key not in self._cut:
                    self._cut[key] = _member(key, cut_value(bytes(value), DEPTH - 1))
            self._glance = _join({key: self._cut[key] for key in self._values})
        return self._glance


def _member(key: str, value: bytes) -> bytes:
    return b"%b:%b" % (_encode(key), value)


def _join(members: Mapping[str, bytes]) -> Raw:
    return Raw(b"{%b}" % b",".join(members.values()))


# --------------------------------------------------------------------------- cutting one value


def cut_value(value: bytes, depth: int) -> bytes:
    """Return a JSON value whose objects and lists nest at most `depth` deep, markers below."""
    value = value.strip()
    first = value[:1]
    if first not in (b"{", b"[") or value.count(b"{") + value.count(b"[") <= depth:
        return value
    try:
        return _cut_object(value, depth) if first == b"{" else _cut_list(value, depth)
    except msgspec.MsgspecError:
        sound = repair(value)
        # What no reader can take apart is shown as the text it is.
        return cut_value(sound, depth) if sound is not value else _encode(sound.decode())


def _cut_object(value: bytes, depth: int) -> bytes:
    members = _read_object(value)
    if members and depth <= 0:
        return _encode(f"{{… {_counted(members, 'key')}}}")
    kept = (_member(key, cut_value(bytes(item), depth - 1)) for key, item in members.items())
    return b"{%b}" % b",".join(kept)


def _cut_list(value: bytes, depth: int) -> bytes:
    items = _read_list(value)
    if items and depth <= 0:
        return _encode(f"[… {_counted(items, 'item')}]")
    return b"[%b]" % b",".join(cut_value(bytes(item), depth - 1) for item in items)


def _counted(what: Sized, noun: str) -> str:
    return f"{len(what)} {noun}" if len(what) == 1 else f"{len(what)} {noun}s"
