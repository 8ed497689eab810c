r"""JSON values made safe for strict readers: bytes in, bytes out, the same bytes where they are.

Decides what is repaired, and how:
- `NaN`, `Infinity`, `-Infinity` (Python's, not JSON's) become `null`;
- an escape of a lone surrogate becomes `\ufffd`, and bytes that are not UTF-8 become U+FFFD;
- the key `__proto__` becomes `(__proto__)`, and the key `prototype` of an object that stands under
  the key `constructor` becomes `(prototype)`: the AI SDK's parser throws at both (ai 6.0.326 and
  7.0.169, its copy of secure-json-parse); the brackets keep the name legible;
- the key `constructor` of a null becomes `(constructor)`: that parser falls over it in ai 6.0.0;
- what is nested deeper than `MAX_DEPTH` becomes the string `"[nested too deep]"`.
Numbers stay as they are written, whatever their size. It rewrites tokens and builds no values, so
the depth of its input costs no stack. What is not JSON at all is returned unchanged.
"""

from __future__ import annotations

import re

MAX_DEPTH = 255
"""Nothing that ADK can serialise is cut: pydantic stops one level earlier. Readers (Python's json,
msgspec) take about a thousand levels, so a frame around the value is possible."""

_TOO_DEEP = b'"[nested too deep]"'

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

_DEEP = b"[" * (MAX_DEPTH + 1)
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_ALL_BUT_STRUCTURE = bytes(set(range(256)) - set(b'[]{}"'))


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
    if (_CONSTRUCTOR.search(value) and _PROTOTYPE.search(value)) or _is_too_deep(value):
        value = _repair_structure(value)
    return value


def _is_sound(value: bytes) -> bool:
    """Tell cheaply that there is nothing to repair. A false negative only costs time."""
    return not (
        (_UNDERSCORE in value and b"__proto__" in value)
        or (b"constructor" in value and _is_trap(value))
        or (_BACKSLASH in value and _SUSPECT_ESCAPE.search(value))
        or (not value.isascii() and not _is_utf8(value))
        or (len(value) > 2 * MAX_DEPTH and _is_too_deep(value))
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


def _is_too_deep(value: bytes) -> bool:
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


def _repair_structure(value: bytes) -> bytes:
    """Rename `prototype` under `constructor`, and cut what is too deep."""
    out: list[bytes] = []
    copied = 0
    depth = 0
    inside: list[bool] = []
    """For each open container that is kept: whether it is under the key `constructor`."""
    under = False
    for match in _TOKEN.finditer(value):
        kind = match.lastgroup
        if kind == "open":
            depth += 1
            if depth <= MAX_DEPTH:
                inside.append(under)
            elif depth == MAX_DEPTH + 1:
                out += (value[copied : match.start()], _TOO_DEEP)
                copied = len(value)  # Until it closes, the rest is left out.
        elif kind == "close":
            if depth == MAX_DEPTH + 1:
                copied = match.end()
            elif 0 < depth <= MAX_DEPTH:
                inside.pop()
            depth -= 1
        elif kind == "prototype" and depth <= MAX_DEPTH and inside and inside[-1]:
            out += (value[copied : match.start()], b'"(prototype)"')
            copied = match.end()
        under = kind == "constructor"
    out.append(value[copied:])
    return b"".join(out)
