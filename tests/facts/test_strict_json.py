"""A repaired value parses in every strict reader and is otherwise what it was."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple, NoReturn

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adk_prism.facts.state import repair
from adk_prism.log.hooks import MAX_DEPTH, MAX_DIGITS


class Case(NamedTuple):
    id: str
    value: bytes
    repaired: bytes


def same(id: str, value: bytes) -> Case:
    return Case(id, value, value)


CUT = b'"[cut: nested too deep]"'

CASES = [
    Case("NaN", b"NaN", b"null"),
    Case("infinities", b"[Infinity,-Infinity , NaN]", b"[null,null , null]"),
    same("names of numbers in strings", rb'{"NaN":"Infinity \"NaN\" -NaN"}'),
    Case("lone high surrogate", rb'"a\ud800b"', rb'"a\ufffdb"'),
    Case("lone low surrogate", rb'"\uDFFF"', rb'"\ufffd"'),
    Case("two high ones", rb'"\ud800\ud800\udc00"', rb'"\ufffd\ud800\udc00"'),
    Case("pair the wrong way round", rb'"\udc00\ud800"', rb'"\ufffd\ufffd"'),
    Case("in a key", rb'{"\ud800":1}', rb'{"\ufffd":1}'),
    same("a pair", rb'"\ud83d\ude00"'),
    same("an escaped backslash before it", rb'"\\ud800"'),
    Case("an odd number of them", rb'"\\\ud800"', rb'"\\\ufffd"'),
    Case("bytes that are not UTF-8", b'"a\xff\xc3"', '"a\ufffd\ufffd"'.encode()),
    Case("an encoded surrogate", b'"\xed\xa0\x80"', '"\ufffd\ufffd\ufffd"'.encode()),
    Case("__proto__", b'{"__proto__" : {"a":1}}', b'{"(__proto__)" : {"a":1}}'),
    Case("deep __proto__", b'[{"a":[{"__proto__":1}]}]', b'[{"a":[{"(__proto__)":1}]}]'),
    Case("disguised __proto__", rb'{"\u005f_pr\u006Fto\u005F_":1}', b'{"(__proto__)":1}'),
    same("__proto__ as a value", b'["__proto__",{"a":"__proto__"}]'),
    same("__proto__ inside a string", rb'{"a":"{\"__proto__\":1}","\"__proto__":2}'),
    same("longer names", b'{"__proto__s":1,"a__proto__":2}'),
    Case(
        "prototype under constructor",
        b'{"constructor": {"x":{}, "prototype" :{"a":1}}}',
        b'{"constructor": {"x":{}, "(prototype)" :{"a":1}}}',
    ),
    Case(
        "disguised both",
        rb'{"\u0063onstructor":{"prototyp\u0065":1}}',
        rb'{"\u0063onstructor":{"(prototype)":1}}',
    ),
    same("constructor alone", b'{"constructor":{"a":{"prototype":1}}}'),
    same("prototype alone", b'{"prototype":{"constructor":1}}'),
    same("prototype beside constructor", b'{"constructor":1,"prototype":2}'),
    same("constructor as a value", b'["constructor",{"prototype":1}]'),
    same("an array between", b'{"constructor":[{"prototype":1}]}'),
    same("the one before", b'[{"constructor":1},{"prototype":1}]'),
    same("large numbers", b"[1e400,-0," + b"9" * MAX_DIGITS + b",0.1e-999,9007199254740993]"),
    Case(
        "a number that Python does not read",
        b'["' + b"9" * 6001 + b'",-' + b"9" * 6001 + b",1]",
        b'["' + b"9" * 6001 + b'","[cut: a number of 6001 digits]",1]',
    ),
    same("as deep as allowed", b"[" * MAX_DEPTH + b"]" * MAX_DEPTH),
    Case(
        "one deeper",
        b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1),
        b'{"a":' * MAX_DEPTH + CUT + b"}" * MAX_DEPTH,
    ),
    Case(
        "very deep, and what comes after",
        b'[{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}," + b"[" * 300 + b"]" * 300 + b",1]",
        b'[{"a":'
        + (b"[" * (MAX_DEPTH - 2) + CUT + b"]" * (MAX_DEPTH - 2))
        + b"},"
        + (b"[" * (MAX_DEPTH - 1) + CUT + b"]" * (MAX_DEPTH - 1))
        + b",1]",
    ),
    same("wide is not deep", b"[" + b",".join([rb'{"a":["\\","[\"["]}'] * 999) + b"]"),
    same("brackets in strings", b'"' + b"[" * 1000 + b'"'),
    same("nothing", b""),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_repairs(case: Case) -> None:
    """Each defect has one repair; everything else stays, byte for byte."""
    assert repair(case.value) == case.repaired
    assert repair(case.repaired) == case.repaired


def test_sound_values_are_not_copied() -> None:
    """The common case costs a look, no copy."""
    value = b'{"text":"hello ' + b"x" * 1000 + b'"}'
    assert repair(value) is value


def refuse(token: str) -> NoReturn:
    raise AssertionError(token)


def assert_strict(value: bytes) -> Any:
    msgspec.json.decode(value, type=msgspec.Raw)
    plain = json.loads(value.decode(), parse_constant=refuse)
    json.dumps(plain, ensure_ascii=False).encode()
    return plain


def assert_no_traps(value: Any) -> None:
    """What the AI SDK's parser looks for is nowhere in the value."""
    rest = [value]
    while rest:
        node = rest.pop()
        if isinstance(node, dict):
            assert "__proto__" not in node
            constructor = node.get("constructor")
            assert not (isinstance(constructor, dict) and "prototype" in constructor)
            rest += node.values()
        elif isinstance(node, list):
            rest += node


KEYS = st.sampled_from(["__proto__", "constructor", "prototype", "a", "NaN", "\ud800"]) | st.text()
nasty_text = st.text(st.characters() | st.sampled_from('\ud800\udfff"\\[]{}'), max_size=6)
nasty_values = st.recursive(
    st.none() | st.floats() | st.integers() | nasty_text | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


@settings(deadline=None)  # A busy machine is not a defect.
@given(nasty_values, st.booleans())
def test_whatever_python_writes_is_strict_afterwards(value: object, ascii_only: bool) -> None:
    """Any value as Python's json writes it comes out strict, without traps, and stable."""
    text = json.dumps(value, ensure_ascii=ascii_only).encode(errors="surrogatepass")
    repaired = repair(text)
    assert_no_traps(assert_strict(repaired))
    assert repair(repaired) == repaired


# Hypothesis also draws words that it finds in the code under test, and some of them are defects.
plain_keys = st.text().filter(lambda key: key not in ("__proto__", "constructor", "prototype"))
plain_values = st.recursive(
    st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain_keys, inner, max_size=3),
    max_leaves=12,
)


@settings(deadline=None)  # A busy machine is not a defect.
@given(plain_values, st.booleans())
def test_strict_values_stay(value: object, ascii_only: bool) -> None:
    """A value without a defect keeps every byte."""
    text = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert repair(text) == text


@settings(deadline=None)  # A busy machine is not a defect.
@given(st.integers(0, 600), st.integers(0, 3), st.sampled_from([b"[%b]", b'{"a":%b}']))
def test_depth_is_bounded(depth: int, extra: int, shell: bytes) -> None:
    """However deep the input, the output is not deeper than the bound."""
    value = b"1"
    for _ in range(depth):
        value = shell % value
    plain = assert_strict(repair(b"[%b]" % b",".join([value] * (extra + 1))))
    levels = 0
    while isinstance(plain, list | dict):
        levels += 1
        plain = next(iter(plain.values() if isinstance(plain, dict) else plain))
    assert levels == min(depth + 1, MAX_DEPTH)
    assert plain == (1 if depth < MAX_DEPTH else CUT.decode().strip('"'))


@settings(deadline=None)  # A busy machine is not a defect.
@given(st.binary(max_size=80))
def test_any_bytes_are_answered(value: bytes) -> None:
    """What is not JSON raises nothing here: whoever reads it says what is wrong."""
    assert isinstance(repair(value), bytes)
    assert isinstance(repair(b"[" * 300 + value), bytes)


def test_python_agrees_on_the_numbers() -> None:
    """A number too large for a float is left to the reader: it is JSON."""
    assert math.isinf(json.loads(repair(b"1e400")))
