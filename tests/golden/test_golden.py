"""Each recording gives the golden stream in each protocol, byte for byte."""

from __future__ import annotations

import pytest
from tests.golden.streams import CASES, HERE, MESSAGES, PROTOCOLS, golden_file, golden_text
from tests.recordings.library import RECORDINGS, load

from adk_prism.pipeline.replay import replay
from adk_prism.transport.sse_decoder import SseDecoder


@pytest.mark.parametrize(("folder", "name"), CASES, ids=lambda value: value)
def test_a_recording_gives_its_golden_stream(folder: str, name: str) -> None:
    """A difference is a change of what clients see: `python -m tests.golden.write`, and explain it."""
    wanted = golden_file(folder, name).read_bytes().decode()
    lines = zip(golden_text(folder, name).split("\n"), wanted.split("\n"), strict=True)
    for came, expected in lines:
        assert came == expected


def test_there_is_no_golden_stream_without_its_recording() -> None:
    """What no recording makes would never be compared."""
    there = {path for folder in (*PROTOCOLS, *MESSAGES) for path in (HERE / folder).glob("*")}
    assert there == {golden_file(*case) for case in CASES}


@pytest.mark.parametrize("name", [name for name in RECORDINGS if len(load(name)) < 60])
def test_a_stream_is_the_same_however_it_is_cut(name: str) -> None:
    """Byte by byte a reader gets the golden frames, each under its position."""
    decoder = SseDecoder()
    body = b"".join(replay(load(name), PROTOCOLS["ai-sdk-6"]))
    events = [event for byte in body for event in decoder.feed(bytes([byte]))]
    lines = [f"{event.id} {event.data}" for event in events]
    golden = golden_file("ai-sdk-6", name).read_bytes().decode().removesuffix("\n").split("\n")
    if body.isascii():
        assert lines == golden
    else:  # what U+2028 and its kin would cut is escaped on the wire
        assert [line.partition(" ")[0] for line in lines] == [g.partition(" ")[0] for g in golden]
