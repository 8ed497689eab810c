r"""JSON values made safe for strict readers: bytes in, bytes out, the same bytes where they are.

Decides what is repaired, and how:
- `NaN`, `Infinity`, `-Infinity` (Python's, not JSON's) become `null`;
- an escape of a lone surrogate becomes `\ufffd`, and bytes that are not UTF-8 become U+FFFD;
- the key `__proto__` becomes `(__proto__)`, and the key `prototype` of an object that stands under
  the key `constructor` becomes `(prototype)`: the AI SDK's parser throws at both (ai 6.0.326 and
  7.0.169, its copy of secure-json-parse); the brackets keep the name legible;
- the key `constructor` of a null becomes `(constructor)`: that parser falls over it in ai 6.0.0;
- what is nested too deep, and a number with too many digits, is cut (`runlog.json_bounds`). What enters a log
  is cut there; here it is what an older log or a file holds.
It rewrites tokens and builds no values, so the depth of its input costs no stack. What is not JSON at all is
returned unchanged.
"""

from __future__ import annotations

import re

from adk_prism.runlog.json_bounds import bound_structure

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
