"""The stream of a remote server."""

from __future__ import annotations

from tests.fuzz.target import Target, split

from adk_prism.errors import SourceError
from adk_prism.features.captures.streams import SseDecoder


def _read_sse(data: bytes) -> None:
    """Any stream, whole and in pieces: the same events, and no ids that it did not send."""
    step, rest = split(data, 7)
    whole = SseDecoder(4096).feed(rest)
    pieces = SseDecoder(4096)
    size = step + 1
    found = [e for at in range(0, len(rest), size) for e in pieces.feed(rest[at : at + size])]
    assert found == whole


def _sse_seeds() -> list[bytes]:
    return [
        b"\0data: hello\n\nid: 1\r\ndata: a\rdata: b\r\n\r\n",
        b"\1\xef\xbb\xbfevent: x\ndata\n\nretry: 10\nid\n\n: comment\n\n",
        b"\2data: \xc2\x85 \xe2\x80\xa8\nid: a\0b\n\n",
    ]


TARGET = Target(_read_sse, (SourceError,), _sse_seeds, ("data: ", "id: ", "\r\n", "\r"))
