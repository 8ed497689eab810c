"""What every record passes on its way into a run log: the bounds of JSON, redaction, and an observer.

Bounds and redaction are here because `append` is the only way into a log: no writer can forget them. They
work on a record's stored form, so a record is encoded once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import structs

from adk_prism.log import contract
from adk_prism.log.entry import EVENT, AgentEvent, Record, RunId, RunStarted, is_recorded, unpack
from adk_prism.log.run_state import Packed, RunState, pack_all

# ---------------------------------------------------------------------------
# How deep, how long and how large a JSON value may be that is stored, and what is left of a larger one.
#
# Readers have limits of their own, and fail at a value beyond them: pydantic reads 200 levels and
# writes 255, Python refuses an integer of more than 4,300 digits, and recursive readers run out of
# stack. One such value would make everything that holds it unreadable, so it is cut where it enters,
# and a text in its place says so:
#
# - `"[cut: nested too deep]"` for what lies below the last level;
# - `"[cut: a number of 6001 digits]"`;
# - in an event that is too large, the longest texts end with `[cut: 52428800 characters]`, the longest
#   lists
#   with
#   `"[cut: 90000 more]"`, the largest objects with a key `[cut]`, and a file is named `[cut: a file of …
#   bytes]`.
#
# Bytes in, bytes out: the same object if nothing is cut. Depth costs no stack. Pure.

MAX_DEPTH = 128
"""Levels of a record. Of the readers pydantic's takes the fewest, 200; some wrap the value ten levels
deep."""

MAX_VALUE_DEPTH = 100
"""Levels of a value that agent code or a client makes: an event around it stays below `MAX_DEPTH`."""

MAX_DIGITS = 4_000
"""Digits of a number: Python reads and writes 4,300."""

MAX_BYTES = 32 * 1024**2
"""Of one record, the start of a run apart, whose message the server limits (`--history-limit`). No model
reads as much: two million tokens are eight MiB."""

TOO_DEEP = "[cut: nested too deep]"

_SHORT = 2 * MAX_DEPTH
"""Bytes below which nothing can be too deep or have too many digits."""
_LEAST = 64
"""Bytes that each member of an object or list should keep; members beyond that are left out."""
_LONGEST_KEY = 1024
_MARK = 48
"""Bytes that a mark takes, at most."""

_STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_TOKEN = re.compile(rb"(?P<string>" + _STRING + rb")|(?P<open>[\[{])|(?P<close>[\]}])", re.DOTALL)
_DIGITS = bytes(ord("0") if byte in b"0123456789" else ord("x") for byte in range(256))
_LONG = b"0" * (MAX_DIGITS + 1)
_NUMBER = re.compile(
    rb"(?P<string>" + _STRING + rb")|(?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)",
    re.DOTALL,
)
_DEEP = b"[" * (MAX_DEPTH + 1)
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_ALL_BUT_STRUCTURE = bytes(set(range(256)) - set(b'[]{}"'))

Json = Any


def bound_json(value: bytes, most: int = MAX_BYTES) -> bytes:
    """Return a JSON value within the bounds: the same object if it is. What is not JSON stays as it is."""
    if len(value) <= _SHORT:
        return value
    value = bound_structure(value)
    return value if len(value) <= most else _shrink_json(value, most)


def bound_structure(value: bytes) -> bytes:
    """Return a JSON value that is neither too deep nor has too long a number."""
    if len(value) <= _SHORT:
        return value
    if is_too_deep(value):
        value = _cut_depth(value)
    # Nine in ten bytes are skipped; a pattern looks at each, and takes ten times as long.
    if len(value) > MAX_DIGITS and _LONG in value.translate(_DIGITS):
        cut = _NUMBER.sub(_cut_number, value)
        return value if cut == value else cut
    return value


def has_long_number(value: int) -> bool:
    """Return whether an integer has more digits than a stored one may have."""
    # A decimal digit is 3.32 bits. To count the digits takes time in the square of their number.
    return value.bit_length() > MAX_DIGITS * 3.3


def number_mark(digits: int) -> str:
    """Return what stands for a number that is too long."""
    return f"[cut: a number of {digits} digits]"


def _cut_number(match: re.Match[bytes]) -> bytes:
    number = match["number"]
    if number is None or len(number) <= MAX_DIGITS:
        return match[0]
    return msgspec.json.encode(number_mark(sum(map(number.count, b"0123456789"))))


# --------------------------------------------------------------------------- depth


def is_too_deep(value: bytes) -> bool:
    """Measure the depth by peeling: each round takes the innermost brackets away."""
    if not _has_many_brackets(value):
        return False
    # With escaped quotation marks gone, every second piece between the others is outside strings.
    value = value.replace(rb"\\", b"").replace(rb"\"", b"")
    brackets = b"".join(value.translate(_BRACKETS, _ALL_BUT_STRUCTURE).split(b'"')[::2])
    if _DEEP in brackets:
        return True
    for _ in range(MAX_DEPTH):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)


def _has_many_brackets(value: bytes) -> bool:
    """Return whether there are enough of them to be too deep. Counted by leaving them out: that jumps from
    one to the next, where `count` looks at every byte, and takes four times as long."""
    rest = value.replace(b"[", b"").replace(b"{", b"")
    return len(value) - len(rest) > MAX_DEPTH


def _cut_depth(value: bytes) -> bytes:
    out: list[bytes] = []
    copied = depth = 0
    for match in _TOKEN.finditer(value):
        kind = match.lastgroup
        if kind == "open":
            depth += 1
            if depth == MAX_DEPTH + 1:
                out += (value[copied : match.start()], msgspec.json.encode(TOO_DEEP))
                copied = len(value)  # Until it closes, the rest is left out.
        elif kind == "close":
            if depth == MAX_DEPTH + 1:
                copied = match.end()
            depth -= 1
    out.append(value[copied:])
    return b"".join(out)


# --------------------------------------------------------------------------- size


def _shrink_json(value: bytes, most: int) -> bytes:
    try:
        tree = msgspec.json.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # Nothing can be kept of what nobody can read. The text says how much there was.
        return msgspec.json.encode({"cut": f"[cut: {len(value)} bytes that are not JSON]"})
    return msgspec.json.encode(shrink(tree, most))


def shrink(value: Json, most: int) -> Json:
    """Return a JSON value of about `most` bytes: what is small stays, what is largest is cut most."""
    sizes: dict[int, int] = {}
    _measure(value, sizes)
    return _fit(value, most, sizes)


def size_of(value: Json) -> int:
    """Return about how many bytes a value has as JSON. What occurs often is counted as often."""
    return _measure(value, {})


def _measure(value: Json, sizes: dict[int, int], depth: int = 0) -> int:
    """Return about how many bytes a value has; note it for every object and list in it."""
    if isinstance(value, str | bytes):
        return len(value) + 2
    if isinstance(value, int):
        return 1 + value.bit_length() // 3
    if not isinstance(value, dict | list | tuple) or depth > MAX_DEPTH:
        return 20
    known = sizes.get(id(value))
    if known is not None:
        return known
    if isinstance(value, dict):
        own = sum(len(str(key)) + 4 for key in value)
        items = [_measure(item, sizes, depth + 1) for item in value.values()]
    else:
        own, items = len(value), [_measure(item, sizes, depth + 1) for item in value]
    sizes[id(value)] = size = 2 + own + sum(items)
    return size


def _fit(value: Json, most: int, sizes: dict[int, int], depth: int = 0) -> Json:
    if isinstance(value, str):
        return value if len(value) <= most else _cut_text(value, most)
    if not isinstance(value, dict | list | tuple) or _measure(value, sizes) <= most:
        return value
    if depth >= MAX_DEPTH:
        return TOO_DEEP
    if most < _LEAST + _MARK:
        return f"[cut: {len(value)} more]"
    if isinstance(value, dict):
        return _fit_object(value, most, sizes, depth)
    limit, kept = _shares([_measure(item, sizes) + 1 for item in value], most)
    items = [_fit(item, limit, sizes, depth + 1) for item in value[:kept]]
    return items if kept == len(value) else [*items, f"[cut: {len(value) - kept} more]"]


def _fit_object(value: dict[str, Json], most: int, sizes: dict[int, int], depth: int) -> Json:
    file = value.get("data")
    if isinstance(file, str) and len(file) > most // 2 and value.keys() & {"mimeType", "mime_type"}:
        # Half of a file's base64 is no file: its name says what was there.
        return value | {"data": "", "displayName": f"[cut: a file of {len(file) * 3 // 4} bytes]"}
    own = [_measure(item, sizes) + len(str(key)) + 4 for key, item in value.items()]
    limit, kept = _shares(own, most)
    fitted: dict[str, Json] = {}
    for key, item in list(value.items())[:kept]:
        name = str(key)
        name = name if len(name) <= _LONGEST_KEY else _cut_text(name, _LONGEST_KEY)
        fitted[name] = _fit(item, max(limit - len(name) - 4, _MARK), sizes, depth + 1)
    return fitted if kept == len(value) else fitted | {"[cut]": f"{len(value) - kept} more"}


def _shares(sizes: list[int], most: int) -> tuple[int, int]:
    """Return the most bytes that a member may have, and how many members stay, so that all fit."""
    kept = min(len(sizes), max(1, (most - _MARK) // _LEAST))
    left, waiting = most - _MARK, kept
    for size in sorted(sizes[:kept]):
        if size * waiting > left:
            return max(left // waiting, _MARK), kept
        left, waiting = left - size, waiting - 1
    return most, kept


def _cut_text(text: str, most: int) -> str:
    begin = text[: max(most - _MARK, 0)].encode(errors="replace")[: max(most - _MARK, 0)]
    return f"{begin.decode(errors='ignore')}[cut: {len(text)} characters]"


# ---------------------------------------------------------------------------

_START = RunStarted.__name__


def _bounded(kind: str, payload: bytes) -> bytes:
    """Return a record's stored form within the bounds. The message that starts a run was limited already."""
    return bound_structure(payload) if kind == _START else bound_json(payload)


class HookedLog:
    """Base class of run logs: holds the hooks, and applies the redaction."""

    _redact: contract.Redact | None = None
    _streams: Callable[[], contract.StreamRedact] | None = None
    _observer: contract.LogObserver = contract.LogObserver()

    def attach(
        self,
        *,
        redact: contract.Redact | None = None,
        streams: Callable[[], contract.StreamRedact] | None = None,
        observer: contract.LogObserver | None = None,
    ) -> None:
        """Redact everything that is appended from now on, and call an observer."""
        self._redact = redact or self._redact
        self._streams = streams or self._streams
        self._observer = observer or self._observer

    def _packed(
        self, live: RunState, records: Sequence[Record], times: Sequence[float] | None
    ) -> tuple[Sequence[Record], list[Packed], Sequence[float] | None]:
        """Return records as they may be stored, with their stored forms and times. Raise `UsageError`.

        They can be more than were given: what was held back of a stream comes before its end.
        """
        if (event := self._clean_event(live, records)) is not None:  # nearly always
            return records, [(EVENT, event.event)], times
        packed, stream = pack_all(records), self._stream_of(live)
        stored: list[Packed] = []
        of: list[int] = []
        for index, (kind, payload) in enumerate(packed):
            bounded = _bounded(kind, payload)
            found = (
                stream.feed(kind, bounded)
                if stream is not None
                else [(kind, self._redacted(kind, bounded))]
            )
            stored += found
            of += [index] * len(found)
        if len(stored) == len(packed) and all(
            a[1] is b[1] for a, b in zip(stored, packed, strict=True)
        ):
            return records, packed, times
        new_times = None if times is None else [times[index] for index in of]
        return [unpack(*each) for each in stored], stored, new_times

    def _redacted(self, kind: str, payload: bytes) -> bytes:
        return payload if self._redact is None else self._redact(kind, payload)

    def _stream_of(self, live: RunState) -> contract.StreamRedact | None:
        """Return what redacts the records of a run; None: each record is redacted by itself."""
        if live.redaction is None and self._streams is not None and not is_recorded(live.run):
            live.redaction = self._streams()
        return live.redaction

    def _clean_event(self, live: RunState, records: Sequence[Record]) -> AgentEvent | None:
        """Return the one event of `records`, if it can certainly be stored as it is."""
        event = records[0] if len(records) == 1 else None
        if type(event) is not AgentEvent or _bounded(EVENT, event.event) is not event.event:
            return None
        stream = self._stream_of(live)
        if stream is not None:
            return event if stream.passes(event.event) else None
        return event if self._redacted(EVENT, event.event) is event.event else None

    def clean_texts(self, texts: Sequence[bytes]) -> list[bytes]:
        """Return texts of the side store as they may be stored."""
        return [self._redacted(contract.TEXT, bound_json(text)) for text in texts]

    def clean_value(self, value: contract.SideValue) -> contract.SideValue:
        """Return a value of the side store as it may be stored. Raise `UsageError`."""
        return contract.check_value(
            structs.replace(value, value=self._redacted(contract.VALUE, value.value))
        )

    @contextmanager
    def _observed(self, run: RunId, *, follow: bool) -> Iterator[None]:
        """Notify the observer of a reader that follows a run."""
        if not follow:
            yield
            return
        self._observer.following(run)
        try:
            yield
        finally:
            self._observer.left(run)
