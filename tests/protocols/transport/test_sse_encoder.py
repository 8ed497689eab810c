"""Payloads become Server-Sent Events that no reader can split in the wrong place."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adk_prism.errors import ProtocolError
from adk_prism.features.a2a.server import JsonStreamEscaper
from adk_prism.features.captures.streams import SseDecoder
from adk_prism.protocols.contract import Payload
from adk_prism.protocols.sse import KEEP_ALIVE, encode


class Case(NamedTuple):
    id: str
    payloads: list[Payload]
    wire: bytes
    run: str = ""
    first: int = 1


CASES = [
    Case("one JSON payload", [Payload(b'{"a":1}')], b'id: 7.1\ndata: {"a":1}\n\n'),
    Case("nothing", [], b""),
    Case(
        "several payloads are numbered",
        [Payload(b"1"), Payload(b"2")],
        b"id: 7.1\ndata: 1\n\nid: 7.2\ndata: 2\n\n",
    ),
    Case(
        "a stream that goes on inside an entry",
        [Payload(b"2"), Payload(b"3")],
        b"id: 7.2\ndata: 2\n\nid: 7.3\ndata: 3\n\n",
        first=2,
    ),
    Case("a run prefix", [Payload(b"1")], b"id: r-1:7.1\ndata: 1\n\n", run="r-1"),
    Case("an event name", [Payload(b"1", "trace")], b"id: 7.1\nevent: trace\ndata: 1\n\n"),
    Case("the end marker", [Payload(b"[DONE]")], b"id: 7.1\ndata: [DONE]\n\n"),
    Case("empty text", [Payload(b"")], b"id: 7.1\ndata: \n\n"),
    Case("LF", [Payload(b"a\nb")], b"id: 7.1\ndata: a\ndata: b\n\n"),
    Case("CRLF", [Payload(b"a\r\nb")], b"id: 7.1\ndata: a\ndata: b\n\n"),
    Case("a lone CR", [Payload(b"a\rb")], b"id: 7.1\ndata: a\ndata: b\n\n"),
    Case(
        "an injected frame stays data",
        [Payload(b"a\n\nid: 9\ndata: x")],
        b"id: 7.1\ndata: a\ndata: \ndata: id: 9\ndata: data: x\n\n",
    ),
    Case("pretty-printed JSON", [Payload(b"[\n1]")], b"id: 7.1\ndata: [\ndata: 1]\n\n"),
    Case(
        "separators inside JSON are escaped",
        [Payload('{"a":"x\u2028y\u2029z\u0085é’"}'.encode())],
        'id: 7.1\ndata: {"a":"x\\u2028y\\u2029z\\u0085é’"}\n\n'.encode(),
    ),
    Case(
        "separators in text are line ends",
        [Payload("{x\u2028y\u2029z\u0085é’".encode())],
        "id: 7.1\ndata: {x\ndata: y\ndata: z\ndata: é’\n\n".encode(),
    ),
    Case(
        "JSON too deep to check is JSON",
        [Payload(b"[" * 5000 + '"\u2028"'.encode() + b"]" * 5000)],
        b"id: 7.1\ndata: " + b"[" * 5000 + b'"\\u2028"' + b"]" * 5000 + b"\n\n",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_encoding(case: Case) -> None:
    """A payload has exactly one form on the wire."""
    assert encode(case.run, 7, case.payloads, case.first) == case.wire


@pytest.mark.parametrize("bad", ["a\nb", "a\rb", "a\0b", "a\u2028b", "a\u0085b", "\ud800"])
def test_names_that_would_break_a_frame_are_refused(bad: str) -> None:
    """An event name or run id with a control character is our own mistake."""
    with pytest.raises(ProtocolError):
        encode("", 1, [Payload(b"1", bad)])
    with pytest.raises(ProtocolError):
        encode(bad, 1, [Payload(b"1")])


def test_keep_alive_is_silent() -> None:
    """A keep-alive makes no event and leaves the last id alone."""
    decoder = SseDecoder()
    decoder.feed(encode("r", 3, [Payload(b"1")]))
    assert decoder.feed(KEEP_ALIVE * 3) == []
    assert decoder.last_event_id == "r:3.1"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)  # A busy machine is not a defect.
@given(json_values, st.booleans())
def test_json_survives_the_round_trip(value: object, ascii_only: bool) -> None:
    """Whatever JSON goes in comes out of a decoder as the same value, in one event."""
    text = json.dumps(value, ensure_ascii=ascii_only).encode(errors="replace")
    wire = encode("run", 12, [Payload(text, "name")])
    (event,) = SseDecoder().feed(wire)
    assert json.loads(event.data) == json.loads(text)
    assert (event.event, event.id) == ("name", "run:12.1")
    assert len(wire.decode().splitlines()) == wire.count(b"\n")


@settings(deadline=None)  # A busy machine is not a defect.
@given(st.lists(st.text(st.characters(codec="utf-8")), max_size=4))
def test_text_survives_the_round_trip(texts: list[str]) -> None:
    """Text comes out the same but for its line ends, which all become LF."""
    payloads = [Payload(text.encode()) for text in texts]
    events = SseDecoder().feed(encode("", 1, payloads))
    expected = [text.replace("\r\n", "\n").replace("\r", "\n") for text in texts]
    for separator in "\u2028\u2029\u0085":
        expected = [text.replace(separator, "\n") for text in expected]
    plain = [text if not text.startswith(('"', "[", "{")) else None for text in texts]
    for event, text, original in zip(events, expected, plain, strict=True):
        assert original is None or event.data == text
    assert [event.id for event in events] == [f"1.{k + 1}" for k in range(len(texts))]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_separators_are_escaped_in_pieces(size: int) -> None:
    """Wherever a piece ends, also inside a character."""
    text = 'data: {"a": "x\u2028y\u2029\u0085z “quoted” é"}\n\n' * 3
    data, escaper = text.encode(), JsonStreamEscaper()
    starts = range(0, len(data), size)
    found = b"".join(escaper.feed(data[at : at + size], last=at == starts[-1]) for at in starts)
    escaped = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\u0085": "\\u0085"}
    assert found.decode() == "".join(escaped.get(letter, letter) for letter in text)
