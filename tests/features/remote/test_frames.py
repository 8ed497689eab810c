"""The frames of a stream of events."""

from __future__ import annotations

import pytest

from adk_prism.errors import SourceError
from adk_prism.features.captures.streams import SseDecoder
from adk_prism.features.remote.events import Frame, Frames

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


@pytest.mark.parametrize(
    ("stream", "has_other"),
    [
        (b"data: a\n\n", False),
        (b"data: a\r\n\r\n: alive\r\n", False),
        (b"\xef\xbb\xbfdata: a\n\n", False),
        (b"event: x\nid: 1\nretry: 2\n\n", False),
        (b"data: a\n\ndata: b", True),
        (b"data: a\n\ndata: b\n", True),
        (b"data: a\r\n\r\ndata: b\r\n", True),
        (b"<html>\n</html>", True),
        (b"data: a\r\n\r\n</html>", True),
    ],
)
def test_what_is_no_event_is_noticed(stream: bytes, has_other: bool) -> None:
    """A page of HTML, and an event that was cut off, wherever the stream is cut."""
    for size in (1, 2, 3, 5, len(stream)):
        frames = Frames(1000)
        for start in range(0, len(stream), size):
            frames.feed(stream[start : start + size])
        frames.finish()
        assert frames.has_other is has_other, size
