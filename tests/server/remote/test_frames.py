"""The quick ways through a stream of events give what the slow ones give."""

from __future__ import annotations

import pytest

from adk_prism.errors import SourceError
from adk_prism.source.remote.delta_pattern import DeltaPattern
from adk_prism.source.remote.frames import Frame, Frames
from adk_prism.transport.sse_decoder import SseDecoder

STREAMS = {
    "plain": b'data: {"a":1}\n\ndata: {"b":2}\n\n',
    "named": b'event: error\ndata: {"a":1}\n\ndata: x\n\n',
    "two lines": b"data: a\ndata: b\n\n: alive\n\ndata:c\n\n",
    "carriage returns": b"data: a\r\n\r\ndata: b\n\ndata: c\r\rdata: d\n\n",
    "mixed": b"data: a\n\ndata: b\r\n\r\ndata: c\n\n",
    "not UTF-8": b"data: \xff\n\ndata: \xc3\xa4\n\n",
    "cut off": b"data: a\n\n\n\ndata: b",
    "mark": b"\xef\xbb\xbfdata: a\n\ndata: b\n\n",
}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_every_cut(stream: bytes) -> None:
    """Frames are those of the standard's decoder, wherever the stream is cut."""
    wanted = [Frame(each.data.encode(), each.event) for each in SseDecoder().feed(stream)]
    for cut in range(len(stream) + 1):
        frames = Frames(1000)
        assert frames.feed(stream[:cut]) + frames.feed(stream[cut:]) == wanted, cut
    frames = Frames(1000)
    assert [f for i in range(len(stream)) for f in frames.feed(stream[i : i + 1])] == wanted


@pytest.mark.parametrize("stream", [b"data: " + b"x" * 200, b"data: " + b"x" * 200 + b"\n\n"])
@pytest.mark.parametrize("by", [1, 50, 300])
def test_a_frame_has_a_size(stream: bytes, by: int) -> None:
    """An endless line and a large frame are refused."""
    frames = Frames(100)
    pieces = [stream[start : start + by] for start in range(0, len(stream), by)]
    with pytest.raises(SourceError):
        _ = [frames.feed(piece) for piece in pieces]


def _delta(text: bytes, id: str = "e1", time: bytes = b"1.5", more: bytes = b"") -> bytes:
    return (
        b'{"content":{"parts":[{"text":"%b"}],"role":"model"},"partial":true,"author":"root",%b'
        b'"id":"%b","timestamp":%b}' % (text, more, id.encode(), time)
    )


@pytest.mark.parametrize(
    ("data", "matches"),
    [
        (_delta(b"other"), True),
        (_delta(b""), True),
        (_delta(rb"a \"quote\" and \n", "e2", b"17.25"), True),
        (_delta("naïve".encode()), True),
        (_delta(b"a\nb"), False),
        (_delta(rb"\ud800"), False),
        (_delta(b'x"},{"text":"y'), False),
        (_delta(b'x","thought":true,"y":"'), False),
        (_delta(b"x", more=b'"errorMessage":"secret",'), False),
        (_delta(b"x", time=b"1763359999123"), False),
        (_delta(b"x", time=b'"now"'), False),
        (_delta(b"x")[:-1], False),
        (_delta(b"x") + b"}", False),
        (_delta(b"x").replace(b"root", b"tool"), False),
        (_delta(b"x").replace(b'"partial":true', b'"partial":null'), False),
    ],
)
def test_deltas_alike(data: bytes, matches: bool) -> None:
    """Only text, id and time may differ, each in a form that needs no second look."""
    pattern = DeltaPattern()
    assert not pattern.matches(data)
    pattern.learn(_delta(b"first"))
    assert pattern.matches(data) is matches
    pattern.forget()
    assert not pattern.matches(data)


def test_events_without_id_or_time() -> None:
    """What Go's server sends has no time."""
    pattern = DeltaPattern()
    pattern.learn(b'{"content":{"parts":[{"text":"a"}]},"partial":true}')
    assert pattern.matches(b'{"content":{"parts":[{"text":"bcd"}]},"partial":true}')
