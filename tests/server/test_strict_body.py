"""A JSON body is parsed once, and what could not be stored or sent on is refused with a reason."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from adk_prism.errors import UsageError
from adk_prism.server.request_bodies import DEEPEST, parse_body


@dataclass(frozen=True)
class Bad:
    id: str
    raw: bytes
    says: str


BAD = [
    Bad("not json", b"{nope}", "not valid JSON"),
    Bad("cut", b'{"a":', "not valid JSON"),
    Bad("trailing", b"{} {}", "not valid JSON"),
    Bad("byte order mark", b"\xef\xbb\xbf{}", "not valid JSON"),
    Bad("blank", b"  ", "not valid JSON"),
    Bad("not utf-8", b'{"a":"\xff"}', "must be UTF-8"),
    Bad("surrogate as utf-8", b'{"a":"\xed\xa0\x80"}', "must be UTF-8"),
    Bad("NaN", b'{"a":NaN}', "NaN or Infinity"),
    Bad("Infinity", b"[Infinity]", "NaN or Infinity"),
    Bad("minus Infinity", b"[-Infinity]", "NaN or Infinity"),
    Bad("huge float", b"[1e400]", "not valid JSON"),
    Bad("huge integer", b"[1" + b"0" * 400 + b"]", "more than 64 bits"),
    Bad("integer past python's digits", b"[1" + b"0" * 6000 + b"]", ""),
    Bad("half a pair", b'{"a":"\\ud800"}', "surrogate"),
    Bad("half a pair, text after", b'{"a":"\\ud800abcdefghijkl"}', "surrogate"),
    Bad("low half", b'{"a":"\\udc00 and some text"}', "surrogate"),
    Bad("NUL", b'{"a":"x\\u0000y"}', "NUL"),
    Bad("NUL in a key", b'{"x\\u0000y":1}', "NUL"),
    Bad("raw NUL", b'{"a":"x\x00y"}', "not valid JSON"),
    Bad("deep arrays", b"[" * 101 + b"]" * 101, "nested deeper"),
    Bad("deep objects", b'{"a":' * 101 + b"1" + b"}" * 101, "nested deeper"),
    Bad("past python's stack", b"[" * 1_000_000, "nested deeper"),
]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.id)
def test_bad_bodies_are_refused_with_a_reason(case: Bad) -> None:
    """One line that says why, and nothing of the body in it."""
    with pytest.raises(UsageError) as caught:
        parse_body(case.raw)
    assert case.says in caught.value.detail
    assert "\n" not in caught.value.detail


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"null", None),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b'"\\ud83d\\ude00"', "😀"),
        (b'"\\\\u0000"', "\\u0000"),
        ('"\u2028\u0085"'.encode(), "\u2028\u0085"),
        (b"18446744073709551615", 2**64 - 1),
        (b"-9223372036854775808", -(2**63)),
        (b'"12345678901234567890123"', "12345678901234567890123"),
        (b'{"__proto__":{"x":1}}', {"__proto__": {"x": 1}}),
        (b"-0.0", -0.0),
    ],
)
def test_unusual_json_is_kept(raw: bytes, value: object) -> None:
    """Legal is legal, also where it looks odd."""
    assert parse_body(raw) == value


def test_depth_is_allowed_up_to_the_limit() -> None:
    """The limit itself is fine."""
    value = parse_body(b"[" * DEEPEST + b"]" * DEEPEST)
    for _ in range(DEEPEST - 1):
        [value] = value
    assert value == []


def test_a_large_flat_body_is_read() -> None:
    """Two hundred thousand keys are no more than that."""
    raw = b"{" + b",".join(b'"k%d":[1]' % number for number in range(200_000)) + b"}"
    assert len(parse_body(raw)) == 200_000


@pytest.mark.parametrize("piece", [b"[]", b"{}", b"0"], ids=["lists", "objects", "numbers"])
def test_a_body_that_is_larger_in_memory_is_refused(piece: bytes) -> None:
    """Before it is read: eight MiB of nothing, in many pieces."""
    many = b"[" + b",".join([piece] * (8 * 1024 * 1024 // (len(piece) + 1))) + b"]"
    with pytest.raises(UsageError, match="more than"):
        parse_body(many)
    few = b"[" + b",".join([piece] * 100_000) + b"]"
    assert len(parse_body(few)) == 100_000
