"""Each recording gives the golden stream in each protocol, byte for byte."""

from __future__ import annotations

import pytest
from tests.golden.streams import CASES, HERE, MESSAGES, PROTOCOLS, golden_file, golden_text


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
