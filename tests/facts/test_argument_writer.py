"""Streamed arguments: pieces with paths become a JSON text that grows, and is always a prefix of JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_prism.facts.open_calls import ArgumentWriter, parse_path

Piece = dict[str, Any]


def string(path: str, value: str, *, more: bool = False) -> Piece:
    return {"jsonPath": path, "stringValue": value} | ({"willContinue": True} if more else {})


def number(path: str, value: float) -> Piece:
    return {"jsonPath": path, "numberValue": value}


@pytest.mark.parametrize(
    ("path", "tokens"),
    [
        ("$.city", ("city",)),
        ("$.a.b", ("a", "b")),
        ("$.stops[0].name", ("stops", 0, "name")),
        ("$.m[1][2]", ("m", 1, 2)),
        ("$['two words']", ("two words",)),
        ("city", ("city",)),
        ("$", ()),
        ("", ()),
    ],
)
def test_a_path_names_members_and_indexes(path: str, tokens: tuple[str | int, ...]) -> None:
    """As Gemini writes them, and without the dollar."""
    assert parse_path(path) == tokens


@dataclass(frozen=True)
class Case:
    id: str
    pieces: list[Piece]
    text: str


CASES = [
    Case("a string", [string("$.a", "x")], '{"a":"x"'),
    Case("a split string", [string("$.a", "x", more=True), string("$.a", "y")], '{"a":"xy"'),
    Case(
        "a split string with what needs escapes",
        [
            string("$.a", 'q"', more=True),
            string("$.a", "\\\n\u2028é", more=True),
            string("$.a", ""),
        ],
        '{"a":"q\\"\\\\\\n\u2028é"',
    ),
    Case("a string that never ends", [string("$.a", "x", more=True)], '{"a":"x'),
    Case(
        "a string that another member cuts short",
        [string("$.a", "x", more=True), number("$.b", 1)],
        '{"a":"x","b":1',
    ),
    Case("numbers", [number("$.a", 1), number("$.b", -2.5)], '{"a":1,"b":-2.5'),
    Case("true and false", [{"jsonPath": "$.a", "boolValue": False}], '{"a":false'),
    Case("null", [{"jsonPath": "$.a", "nullValue": "NULL_VALUE"}], '{"a":null'),
    Case(
        "nulls for what is absent",
        [{"jsonPath": "$.a", "stringValue": None, "numberValue": 3, "nullValue": None}],
        '{"a":3',
    ),
    Case("no value", [{"jsonPath": "$.a"}], ""),
    Case("no path", [{"stringValue": "x"}], ""),
    Case("nested", [number("$.a.b.c", 1), number("$.a.d", 2)], '{"a":{"b":{"c":1},"d":2'),
    Case("an array", [number("$.a[0]", 1), number("$.a[1]", 2)], '{"a":[1,2'),
    Case(
        "objects in an array",
        [number("$.a[0].x", 1), number("$.a[1].x", 2), number("$.b", 3)],
        '{"a":[{"x":1},{"x":2}],"b":3',
    ),
    Case("arrays in an array", [number("$.a[0][0]", 1), number("$.a[1][0]", 2)], '{"a":[[1],[2'),
    Case(
        "a member that changes its kind is written again",
        [number("$.a.x", 1), number("$.a[0]", 2)],
        '{"a":{"x":1},"a":[2',
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_pieces_become_json(case: Case) -> None:
    """Whole, and piece by piece: the text is the same."""
    assert ArgumentWriter().write(case.pieces) == case.text
    writer = ArgumentWriter()
    assert "".join(writer.write([piece]) for piece in case.pieces) == case.text


def _pieces(path: str, value: Any) -> list[Piece]:
    """Cut a value into pieces, as a model would stream it."""
    match value:
        case dict():
            return [p for key in value for p in _pieces(f"{path}['{key}']", value[key])]
        case list():
            return [p for i, item in enumerate(value) for p in _pieces(f"{path}[{i}]", item)]
        case str():
            half = len(value) // 2
            return [string(path, value[:half], more=True), string(path, value[half:])]
        case bool():
            return [{"jsonPath": path, "boolValue": value}]
        case None:
            return [{"jsonPath": path, "nullValue": "NULL_VALUE"}]
        case _:
            return [number(path, value)]


names = st.text(st.sampled_from("abc é"), min_size=1, max_size=4)
leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6)
trees = st.dictionaries(
    names,
    st.recursive(
        leaves,
        # Never empty: an empty container cannot be said in pieces.
        lambda inner: (
            st.lists(inner, min_size=1, max_size=3)
            | st.dictionaries(names, inner, min_size=1, max_size=3)
        ),
        max_leaves=8,
    ),
    min_size=1,
    max_size=4,
)


@given(trees)
def test_whatever_is_streamed_comes_out(tree: dict[str, Any]) -> None:
    """Closed with what is still open, the text is the arguments."""
    writer = ArgumentWriter()
    text = writer.write(_pieces("$", tree))
    closers = "".join(container.closer for container in reversed(writer._open))
    assert json.loads(text + closers) == tree
