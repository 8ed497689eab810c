"""The end of a JSON text that breaks off: what has to follow so that it can be read.

A call whose arguments stop in the middle stays in a client's messages, and clients parse them.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|"(?:[^"\\]|\\.)*\\?$|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}
_LITERALS = ("true", "false", "null")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def ending(text: str) -> str:
    """Return what completes a JSON text, with as little said as possible; empty for a whole one."""
    stack: list[str] = []
    before, last = "", ""
    for match in _TOKEN.finditer(text):
        before, last = last, match[0]
        if last in _CLOSERS:
            stack.append(last)
        elif last in ("}", "]") and stack:
            stack.pop()
    if not stack:
        return ""
    told = _value_ending(last)
    is_key = stack[-1] == "{" and before in ("{", ",") and last not in (*_CLOSERS, "}", "]", ",")
    if is_key:
        told += ":null"
    elif last == ":" or (last == "," and stack[-1] == "["):
        told += "null"
    elif last == ",":
        told += '"":null'
    return told + "".join(_CLOSERS[opener] for opener in reversed(stack))


def _value_ending(token: str) -> str:
    """Return what completes the last token."""
    if token.startswith('"'):
        return _string_ending(token)
    for literal in _LITERALS:
        if token and literal.startswith(token):
            return literal[len(token) :]
    is_cut = token[:1] in "-0123456789" and token and not _NUMBER.fullmatch(token)
    return "0" if is_cut else ""


def _string_ending(token: str) -> str:
    """Return what ends a string; an escape that is cut is completed first."""
    if len(token) > 1 and token.endswith('"') and not _is_escaped(token):
        return ""
    escape = re.search(r"(?:^|[^\\])(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)$", token)
    if escape is None:
        return '"'
    digits = len(escape[1]) - 2
    return ("\\" if digits < 0 else "0" * (4 - digits)) + '"'


def _is_escaped(token: str) -> bool:
    """Tell whether the quotation mark at the end is part of the string."""
    body = token[:-1]
    return (len(body) - len(body.rstrip("\\"))) % 2 == 1
