"""The decoder reads an event stream as WHATWG HTML says, wherever the bytes are cut."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adk_prism.errors import SourceError
from adk_prism.features.captures.streams import SseDecoder, SseEvent


def event(data: str, id: str = "", event: str = "message", retry: int | None = None) -> SseEvent:
    return SseEvent(event, data, id, retry)


class Case(NamedTuple):
    id: str
    wire: bytes
    events: list[SseEvent]
    last_id: str = ""


CASES = [
    Case("one event", b"data: a\n\n", [event("a")]),
    Case("several lines", b"data: a\ndata: b\ndata\ndata: c\n\n", [event("a\nb\n\nc")]),
    Case("CR", b"data: a\rdata: b\r\r", [event("a\nb")]),
    Case("CRLF", b"data: a\r\ndata: b\r\n\r\n", [event("a\nb")]),
    Case("mixed line ends", b"data: a\rdata: b\r\ndata: c\n\r\n", [event("a\nb\nc")]),
    Case("byte order mark", b"\xef\xbb\xbfdata: a\n\n", [event("a")]),
    Case(
        "only one mark is dropped", b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", [event("b")]
    ),
    Case("mark later on is a name", b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [event("a")]),
    Case("UTF-8", "data: é\u2028𝄞\u0085\n\n".encode(), [event("é\u2028𝄞\u0085")]),
    Case("broken UTF-8", b"data: a\xffb\xc3\n\n", [event("a\ufffdb\ufffd")]),
    Case("one space is dropped", b"data:a\ndata: b\ndata:  c\n\n", [event("a\nb\n c")]),
    Case("comment", b": hello\ndata: a\n:\n\n", [event("a")]),
    Case("colon in the value", b"data: a: b\n\n", [event("a: b")]),
    Case("empty data is an event", b"data:\n\ndata\n\n", [event(""), event("")]),
    Case("two empty lines", b"data\ndata\n\n", [event("\n")]),
    Case("unknown field", b"datum: x\ndata : y\nDATA: z\ndata: a\n\n", [event("a")]),
    Case("event name", b"event: x\ndata: a\n\ndata: b\n\n", [event("a", event="x"), event("b")]),
    Case("event name without data", b"event: x\n\ndata: b\n\n", [event("b")]),
    Case("empty event name", b"event: x\nevent:\ndata: a\n\n", [event("a")]),
    Case("id stays", b"id: 1\ndata: a\n\ndata: b\n\n", [event("a", "1"), event("b", "1")], "1"),
    Case("id is emptied", b"id: 1\ndata: a\n\nid\ndata: b\n\n", [event("a", "1"), event("b")]),
    Case("id with NUL", b"id: 1\ndata: a\n\nid: 2\0\n\n", [event("a", "1")], "1"),
    Case("id without data", b"id: 5\n\n", [], "5"),
    Case("id of a cut block does not count", b"id: 1\n\nid: 2\n", [], "1"),
    Case(
        "no phantom after keep-alives",
        b"id: 1\ndata: a\n\n: ping\n\n: ping\n\n\n\n",
        [event("a", "1")],
        "1",
    ),
    Case("retry", b"retry: 3000\ndata: a\n\ndata: b\n\n", [event("a", retry=3000), event("b")]),
    Case("retry that is no number", b"retry: 3s\nretry: -1\nretry:\ndata: a\n\n", [event("a")]),
    Case("retry of other digits", "retry: ٣\ndata: a\n\n".encode(), [event("a")]),
    Case("retry too long", b"retry: " + b"9" * 5000 + b"\ndata: a\n\n", [event("a")]),
    Case("unterminated event", b"data: a\n\ndata: b\n", [event("a")]),
    Case("unterminated line", b"data: a\n\ndata: b", [event("a")]),
    Case("nothing", b"", []),
    Case("blank lines", b"\n\r\n\r\n\n", []),
]


def read(wire: bytes, size: int) -> tuple[list[SseEvent], str]:
    decoder = SseDecoder()
    events = []
    for start in range(0, len(wire), size):
        events += decoder.feed(wire[start : start + size])
    assert decoder.feed(b"") == []
    return events, decoder.last_event_id


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_decoding(case: Case) -> None:
    """A stream gives the same events whole, byte by byte and cut in two at each place."""
    expected = (case.events, case.last_id)
    assert read(case.wire, max(1, len(case.wire))) == expected
    assert read(case.wire, 1) == expected
    for cut in range(min(len(case.wire), 100)):
        decoder = SseDecoder()
        events = decoder.feed(case.wire[:cut]) + decoder.feed(case.wire[cut:])
        assert (events, decoder.last_event_id) == expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_trailing_junk(case: Case) -> None:
    """What follows an event's end cannot change it."""
    events, _ = read(case.wire + b"\xff\xfejunk: \xc3\ndata", 3)
    assert events == case.events


def test_an_event_that_is_complete_does_not_wait_for_a_line_feed() -> None:
    """A CR at the end of a chunk ends its line at once, and the LF that may follow is its own."""
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\r\r") == [event("a")]
    assert decoder.feed(b"\n") == []
    assert decoder.feed(b"data: b\r\n\r") == [event("b")]


OVER = {
    "one long line": b"data: " + b"x" * 40,
    "many short lines": b"data: x\n" * 20,
    "comments count": b": x\n" * 20,
    "an unfinished name": b"x" * 40,
}


def feed_in_pieces(decoder: SseDecoder, wire: bytes, size: int) -> None:
    for start in range(0, len(wire), size):
        decoder.feed(wire[start : start + size])


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("wire", OVER.values(), ids=OVER)
def test_the_bound_is_terminal(wire: bytes, size: int) -> None:
    """An event over the bound ends the reading for good, however it arrives."""
    decoder = SseDecoder(max_event_bytes=32)
    assert decoder.feed(b"data: 1\n\ndata: 2\n\n" * 50) != []
    with pytest.raises(SourceError):
        feed_in_pieces(decoder, wire, size)
    for rest in (b"", b"\n\n", b"data: a\n\n"):
        with pytest.raises(SourceError):
            decoder.feed(rest)


@settings(deadline=None)  # A busy machine is not a defect.
@given(st.binary(max_size=200), st.integers(1, 9))
def test_any_bytes_read_the_same_in_pieces(wire: bytes, size: int) -> None:
    """No input raises, and none reads differently when it is cut."""
    assert read(wire, size) == read(wire, 1000)


@settings(deadline=None)  # A busy machine is not a defect.
@given(st.text(alphabet="data:ie vnt\r\n\ufeff", max_size=60))
def test_streams_of_fields_read_the_same_in_pieces(text: str) -> None:
    """The same for streams that look like event streams."""
    assert read(text.encode(), 1) == read(text.encode(), 1000)
