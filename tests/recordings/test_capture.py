"""The captures under `raw/` are complete, and each is a file that a reader can trust."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.recordings.capture import CAPTURES, RAW


def test_every_capture_has_its_files() -> None:
    """No file without a capture, no capture without a file."""
    names = {path.name.split(".")[0] for path in RAW.glob("*.jsonl")}

    assert names == set(CAPTURES)


@pytest.mark.parametrize("path", sorted(RAW.glob("*.jsonl")), ids=lambda path: path.stem)
def test_each_line_is_an_event_or_the_error_at_the_end(path: Path) -> None:
    lines = path.read_text().splitlines()
    objects = [json.loads(line) for line in lines]

    assert all("invocationId" in event for event in objects[:-1])
    assert "invocationId" in objects[-1] or "error_details" in objects[-1]
