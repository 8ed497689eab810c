"""JSON Lines are split the same wherever the bytes are cut, and keep their line numbers."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adk_prism.errors import SourceError
from adk_prism.features.captures.streams import LineSplitter


class Case(NamedTuple):
    id: str
    wire: bytes
    lines: list[tuple[int, bytes]]


CASES = [
    Case("two lines", b"1\n2\n", [(1, b"1"), (2, b"2")]),
    Case("last line without an end", b"1\n2", [(1, b"1"), (2, b"2")]),
    Case("CRLF", b"1\r\n2\r\n", [(1, b"1"), (2, b"2")]),
    Case("CR at the very end", b"1\r", [(1, b"1")]),
    Case("a lone CR is white space", b"[1,\r2]\n", [(1, b"[1,\r2]")]),
    Case("blank lines are counted", b"\n1\n \t\r\n\n2\n\n", [(2, b"1"), (5, b"2")]),
    Case("byte order mark", b"\xef\xbb\xbf1\n2\n", [(1, b"1"), (2, b"2")]),
    Case("mark alone", b"\xef\xbb\xbf", []),
    Case("other line ends", "1\u2028\u0085\x0b2\n".encode(), [(1, "1\u2028\u0085\x0b2".encode())]),
    Case("nothing", b"", []),
]


def split(wire: bytes, size: int) -> list[tuple[int, bytes]]:
    splitter = LineSplitter()
    lines = []
    for start in range(0, len(wire), size):
        lines += splitter.feed(wire[start : start + size])
    return [(line.number, line.data) for line in lines + splitter.finish()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_splitting(case: Case) -> None:
    """Lines are the same whole, byte by byte and cut in two at each place."""
    assert split(case.wire, max(1, len(case.wire))) == case.lines
    assert split(case.wire, 1) == case.lines
    for cut in range(1, len(case.wire)):
        splitter = LineSplitter()
        lines = splitter.feed(case.wire[:cut]) + splitter.feed(case.wire[cut:])
        assert [(line.number, line.data) for line in lines + splitter.finish()] == case.lines


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_trailing_junk(case: Case) -> None:
    """A line that follows changes nothing before it."""
    assert split(case.wire + b"\n\xffjunk", 3)[:-1] == case.lines


def feed_in_pieces(splitter: LineSplitter, wire: bytes, size: int) -> None:
    for start in range(0, len(wire), size):
        splitter.feed(wire[start : start + size])


@pytest.mark.parametrize("size", [1, 1000])
def test_the_bound_is_terminal(size: int) -> None:
    """A line over the bound is refused with its number, before it is all in memory."""
    splitter = LineSplitter(max_line_bytes=8)
    assert len(splitter.feed(b"12345678\n" * 9)) == 9
    wire = b"1\n" + b"x" * 9
    with pytest.raises(SourceError, match="Line 11 "):
        feed_in_pieces(splitter, wire, size)
    with pytest.raises(SourceError, match="Line 11 "):
        splitter.feed(b"\n")


@settings(deadline=None)  # A busy machine is not a defect.
@given(st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b"")), max_size=9))
def test_every_line_that_is_not_blank_comes_out(lines: list[bytes]) -> None:
    """Nothing is lost and nothing is made up, whatever the bytes."""
    out = split(b"\n".join(lines) + b"\n", 5)
    kept = [line.removesuffix(b"\r") for line in lines]
    if kept:
        kept[0] = kept[0].removeprefix(b"\xef\xbb\xbf")
    assert [data for _, data in out] == [line for line in kept if line.strip()]
