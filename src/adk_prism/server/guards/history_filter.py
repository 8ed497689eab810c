"""Removes the history from the body of a chat request while the body arrives.

Chat clients post their whole history with every message, photos included; the server needs the last message,
and only role and id of the others. So the body is scanned piece by piece: each earlier message is replaced by
a stub `{"id", "role"}` as soon as it is complete. Short system messages stay, and so do results at the end of
the list, if a protocol has them as messages (`trailing_tool_results`). Memory is bounded by twice the limit.

The scan finds strings, brackets and commas only. What it keeps is parsed strictly afterwards, and so is each
earlier message before it is dropped, unless it alone is over the limit.
"""

from __future__ import annotations

import re

import msgspec

from adk_prism.errors import TooLarge, UsageError
from adk_prism.server.guards.strict_body import explain_invalid, too_deep
from adk_prism.server.guards.trailing_tool_results import HeldResults

MOST_MARKS = 2_000_000
"""Strings, brackets and separators in one body: a second's work, and ten thousand long messages."""

LONGEST_NAME = 1024
"""Bytes of an id that is kept of an earlier message; a longer one is none that this server knows."""

LONGEST_SYSTEM = 32 * 1024
"""Bytes of a system message that is kept whole."""

_LIST, _MESSAGE = 2, 3
"""Depths: inside `messages`, inside one of them."""

_MARK = re.compile(rb'["{}\[\],:]')
_BRACKET_OR_STRING = re.compile(rb'["{}\[\]]')
_IN_STRING = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_NAMES = {b'"id"', b'"role"'}
_INSTRUCTIONS = {b'"system"', b'"developer"'}


class HistoryFilter:
    """Takes a body in pieces; keeps it with its earlier messages cut down to stubs."""

    def __init__(self, limit: int, results: frozenset[bytes] = frozenset()) -> None:
        """`results` are the roles, as JSON strings, of messages that are kept at the end of the list."""
        self._limit = limit
        self._results = HeldResults(results, limit)
        self._kept = bytearray()
        self._message = bytearray()
        """What there is of the message that is being read."""
        self._is_over = False
        """That message is larger than the limit, and no longer kept."""
        self._depth = 0
        self._in_list = False
        self._in_string = False
        self._is_escaped = False
        """The last byte of the last piece was a backslash."""
        self._string: bytearray | None = None
        """The string that is being read, where it may be a name or the value of one."""
        self._previous = b""
        """The last mark at this depth, or `v` after a value."""
        self._name = b""
        self._stub: dict[bytes, bytes] = {}
        self._marks = 0

    def feed(self, data: bytes) -> None:
        """Take the next piece. Raise `TooLarge`, or `UsageError` for a body that cannot be read."""
        at = 0
        while at < len(data):
            at = self._rest_of_string(data, at) if self._in_string else self._next_mark(data, at)

    def finish(self) -> bytes:
        """Return what is kept of the body."""
        self._flush_message()  # of a body that breaks off
        return bytes(self._kept)

    # ------------------------------------------------------------------ scanning

    def _next_mark(self, data: bytes, at: int) -> int:
        inside = self._in_list and self._depth > _MESSAGE
        found = (_BRACKET_OR_STRING if inside else _MARK).search(data, at)
        if found is None:
            self._take(data[at:])
            return len(data)
        self._marks += 1
        if self._marks > MOST_MARKS:
            raise UsageError(f"The body has more than {MOST_MARKS} values; send a shorter history.")
        mark = found[0]
        self._take(data[at : found.start()])
        if mark == b'"':
            self._in_string = True
            self._string = bytearray() if self._is_named() else None
            self._take_string(mark)
        elif mark in b"{[":
            self._open(mark)
        elif mark in b"}]":
            self._close(mark)
        else:
            self._separate(mark)
        return found.end()

    def _rest_of_string(self, data: bytes, at: int) -> int:
        begin = at
        if self._is_escaped:
            self._is_escaped = False
            at += 1
        found = _IN_STRING.match(data, at)
        end = found.end() if found is not None else at
        if end < len(data) and data[end : end + 1] == b'"':
            self._take_string(data[begin : end + 1])
            self._end_string()
            return end + 1
        self._is_escaped = end < len(data)  # a backslash whose other half is in the next piece
        self._take_string(data[begin:])
        return len(data)

    def _is_named(self) -> bool:
        """Whether a string here is a name of the body or of a message, or such a name's value."""
        return self._depth == 1 or (self._in_list and self._depth == _MESSAGE)

    def _take_string(self, data: bytes) -> None:
        self._take(data)
        if self._string is not None:
            self._string += data
            if len(self._string) > LONGEST_NAME:
                self._string = None

    def _end_string(self) -> None:
        self._in_string = False
        text = bytes(self._string) if self._string is not None else b""
        self._string = None
        if not self._is_named():
            return
        if self._previous in (b"{", b","):
            self._name = text
        elif self._previous == b":":
            if self._in_list and self._name in _NAMES and text:
                self._stub[self._name] = text
            self._previous = b"v"

    # ------------------------------------------------------------------ structure

    def _open(self, mark: bytes) -> None:
        begins_list = (
            mark == b"["
            and not self._in_list
            and self._depth == 1
            and self._previous == b":"
            and self._name == b'"messages"'
        )
        self._take(mark)
        self._depth += 1
        self._in_list = self._in_list or begins_list
        # A list at these depths has no names: what follows its commas must not be taken for one.
        self._previous = mark if mark == b"{" else b""

    def _close(self, mark: bytes) -> None:
        if self._in_list and self._depth == _LIST:
            self._flush_message()
            self._in_list = False
        self._depth -= 1
        self._take(mark)
        self._previous = b"v"

    def _separate(self, mark: bytes) -> None:
        if self._in_list and self._depth == _LIST:
            self._forget_message()
            return
        self._take(mark)
        if self._previous or self._depth == 1:
            self._previous = mark

    # ------------------------------------------------------------------ what is kept

    def _take(self, data: bytes) -> None:
        if not self._in_list or self._depth < _LIST:
            self._kept += data
            if len(self._kept) > self._limit:
                raise self._too_large()
        elif not self._is_over:
            self._message += data
            if len(self._kept) + len(self._message) > self._limit:
                self._is_over = True
                self._message.clear()

    def _forget_message(self) -> None:
        """Another message follows: of this one a stub is kept."""
        message, is_over, stub = bytes(self._message), self._is_over, self._stub
        self._message.clear()
        self._is_over, self._stub = False, {}
        if not is_over:
            _check(message)
        role = stub.get(b'"role"', b"")
        is_short = role in _INSTRUCTIONS and not is_over and len(message) <= LONGEST_SYSTEM
        shown = message if is_short else _shortened(message, stub, is_over=is_over)
        if self._results.takes(role):
            self._results.add(b"" if is_over else message, shown)
        else:
            self._kept += self._results.dropped() + shown + b","
        if len(self._kept) + self._results.size > self._limit:
            self._results.shorten()
        if len(self._kept) + self._results.size > self._limit:
            raise self._too_large()

    def _flush_message(self) -> None:
        """The list is over: its last message is kept."""
        if self._is_over or not self._results.are_whole:
            raise self._too_large()
        self._kept += self._results.kept() + self._message
        self._message.clear()
        self._stub = {}

    def _too_large(self) -> TooLarge:
        return TooLarge(
            f"The body is larger than {self._limit} bytes without its earlier messages; the operator sets"
            " it with --body-limit."
        )


def _shortened(message: bytes, stub: dict[bytes, bytes], *, is_over: bool) -> bytes:
    if not is_over and not message.lstrip().startswith(b"{"):
        return b"null"
    return b"{" + b",".join(name + b":" + value for name, value in stub.items()) + b"}"


def _check(message: bytes) -> None:
    try:
        message.decode()  # what msgspec passes over it does not decode
        msgspec.json.decode(message, type=msgspec.Raw)
    except RecursionError:
        raise too_deep() from None
    except UnicodeDecodeError:
        raise UsageError("The body must be UTF-8.") from None
    except msgspec.MsgspecError as error:
        raise UsageError(explain_invalid(message, str(error))) from None
