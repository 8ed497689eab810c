"""Each recording gives the golden stream in each protocol, byte for byte."""

from __future__ import annotations

import pytest
from tests.golden.streams import (
    CASES,
    HERE,
    MESSAGES,
    PROTOCOLS,
    expected,
    golden_file,
    golden_text,
    readable,
)
from tests.recordings.library import RECORDINGS, load

from adk_prism.features.captures.replay import replay
from adk_prism.features.captures.streams import SseDecoder


@pytest.mark.parametrize(("folder", "name"), CASES, ids=lambda value: value)
def test_a_recording_gives_its_golden_stream(folder: str, name: str) -> None:
    """A difference is a change of what clients see: `python -m tests.golden.write`, and explain it."""
    file = golden_file(folder, name)
    wanted = file.read_bytes().decode() if file.exists() else expected(folder, name)
    assert wanted is not None, f"{file} is missing"
    lines = zip(golden_text(folder, name).split("\n"), wanted.split("\n"), strict=True)
    for came, wanted_line in lines:
        assert came == wanted_line


def test_there_is_no_golden_stream_without_its_recording() -> None:
    """What no recording makes would never be compared."""
    there = {path for folder in (*PROTOCOLS, *MESSAGES) for path in (HERE / folder).glob("*")}
    assert there <= {golden_file(*case) for case in CASES}


def test_a_dialect_keeps_only_what_the_default_does_not_tell() -> None:
    """A file that says the same again hides those that do not."""
    kept = [case for case in CASES if golden_file(*case).exists()]
    assert [case for case in kept if expected(*case) == golden_file(*case).read_text()] == []


@pytest.mark.parametrize("name", [name for name in RECORDINGS if len(load(name)) < 60])
def test_a_stream_is_the_same_however_it_is_cut(name: str) -> None:
    """Byte by byte a reader gets the golden frames, each under its position."""
    decoder = SseDecoder()
    body = b"".join(replay(load(name), PROTOCOLS["ai-sdk-6"]))
    events = [event for byte in body for event in decoder.feed(bytes([byte]))]
    lines = [readable(f"{event.id} {event.data}") for event in events]
    golden = golden_file("ai-sdk-6", name).read_bytes().decode().removesuffix("\n").split("\n")
    if body.isascii():
        assert lines == golden
    else:  # what U+2028 and its kin would cut is escaped on the wire
        assert [line.partition(" ")[0] for line in lines] == [g.partition(" ")[0] for g in golden]
