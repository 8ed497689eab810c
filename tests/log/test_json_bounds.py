"""The bounds of what is stored: what is beyond them is cut and marked, and nothing else is changed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from adk_prism.log.entry import AgentEvent, ChildEvent, Origin, RunId, RunStarted
from adk_prism.log.hooks import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_DIGITS,
    TOO_DEEP,
    bound_json,
    has_long_number,
    shrink,
    size_of,
)
from adk_prism.log.memory import MemoryLog


def lists(depth: int, inside: str = "1") -> bytes:
    return b"[" * depth + inside.encode() + b"]" * depth


@dataclass(frozen=True)
class Case:
    id: str
    value: bytes
    bounded: bytes


CASES = [
    Case("as deep as allowed", lists(MAX_DEPTH), lists(MAX_DEPTH)),
    Case("one deeper", lists(MAX_DEPTH + 1), lists(MAX_DEPTH, f'"{TOO_DEEP}"')),
    Case("brackets in a text", b'"' + b"[" * 999 + b'"', b'"' + b"[" * 999 + b'"'),
    Case("as long as allowed", b"1" * MAX_DIGITS, b"1" * MAX_DIGITS),
    Case("one digit more", b"1" * (MAX_DIGITS + 1), b'"[cut: a number of 4001 digits]"'),
    Case("digits of a text", b'"' + b"1" * 9999 + b'"', b'"' + b"1" * 9999 + b'"'),
    Case("a fraction", b"[0." + b"1" * 5000 + b"]", b'["[cut: a number of 5001 digits]"]'),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_is_beyond_a_bound_is_cut_and_marked(case: Case) -> None:
    """Everything else stays, byte for byte."""
    assert bound_json(case.value) == case.bounded
    assert bound_json(case.bounded) is case.bounded


def test_of_a_large_event_the_largest_values_are_cut() -> None:
    """What says who, when and what it was stays whole."""
    event = {
        "author": "agent",
        "content": {"parts": [{"functionResponse": {"id": "c1", "response": {"text": "é" * 9000, "ok":
        True}}}]}, "actions": {"stateDelta": {"rows": [{"n": n} for n in range(9000)]}},
        "timestamp": 1.5,
    }  # fmt: skip
    bounded = bound_json(json.dumps(event).encode(), 8000)
    assert len(bounded) < 16_000  # the é has six bytes as an escape, and two here
    read = json.loads(bounded)
    response = read["content"]["parts"][0]["functionResponse"]
    assert (read["author"], read["timestamp"], response["id"]) == ("agent", 1.5, "c1")
    assert response["response"]["ok"] is True
    assert response["response"]["text"].endswith("é[cut: 9000 characters]")
    rows = read["actions"]["stateDelta"]["rows"]
    assert rows[0] == {"n": 0}
    assert rows[-1] == f"[cut: {9000 - len(rows) + 1} more]"


def test_half_of_a_file_is_no_file() -> None:
    """It is left out, and its name says how large it was."""
    part = {"inlineData": {"data": "A" * 4000, "mimeType": "image/png"}}
    (inline,) = json.loads(bound_json(json.dumps(part).encode(), 1000)).values()
    assert inline == {
        "data": "",
        "mimeType": "image/png",
        "displayName": "[cut: a file of 3000 bytes]",
    }


def test_many_bytes_that_are_no_json_are_a_note() -> None:
    assert bound_json(b"<html>" * 1000, 1000) == b'{"cut":"[cut: 6000 bytes that are not JSON]"}'


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=30), inner),
    max_leaves=200,
)


@settings(deadline=None)  # A busy machine is not a defect.
@given(json_values, st.integers(200, 2000))
def test_any_value_fits(value: Any, most: int) -> None:
    """What fits is kept as it is; of the rest there is about as much as allowed."""
    shrunk = shrink(value, most)
    if size_of(value) <= most:
        assert shrunk == value
    assert size_of(shrunk) <= most * 2


def test_a_value_that_is_there_often_is_measured_once() -> None:
    """Sixty levels of two equal halves are more bytes than there are, and cost nothing."""
    value: Any = ["x"]
    for _ in range(60):
        value = [value, value]
    assert size_of(value) > 2**60
    assert size_of(shrink(value, 10_000)) < 20_000


def test_digits_are_estimated() -> None:
    assert not has_long_number(10 ** (MAX_DIGITS - 50))
    assert has_long_number(10 ** (MAX_DIGITS + 1))


async def test_nothing_larger_enters_a_log() -> None:
    """Whoever appends it, and in whatever record."""
    log = MemoryLog()
    await log.open()
    deep = lists(500)
    event = b'{"author":"a","output":%b,"text":"%b"}' % (deep, b"x" * (MAX_BYTES + 1))
    start = RunStarted(
        run="r", origin=Origin(app="a", user="u", session="s"), state={"odd": Raw(deep)}
    )
    await log.append(RunId("r"), [start])
    await log.append(RunId("r"), [AgentEvent(event)])
    await log.append(RunId("r"), [ChildEvent(call="c", event=Raw(event))])
    async for batch in log.read(RunId("r")):
        stored = [entry.record for entry in batch]
    assert TOO_DEEP.encode() in bytes(stored[0].state["odd"])  # type: ignore[union-attr] # a start
    for record in stored[1:]:
        data = bytes(record.event)  # type: ignore[union-attr] # events
        assert TOO_DEEP.encode() in data
        assert len(data) <= MAX_BYTES
        assert b'"author":"a"' in data
