"""The page of the protocol names every event and every field, and none that there is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adk_prism.protocols.studio import frames as studio

PAGE = (Path(__file__).parents[3] / "docs" / "protocols" / "studio.md").read_text()
EVENTS = PAGE.partition("## Events")[2].partition("## Graph")[0]
ROWS = dict(re.findall(r"^\| `([a-z_]+)`[^|]*\| ((?:[^|\\]|\\\|)+) \|$", EVENTS, re.MULTILINE))
"""The table of events: their names, and what is said of their data."""
TRACES = EVENTS.partition("**Traces**")[2]
FRAMES = (
    *studio.Trace.__subclasses__(),
    *studio.Message.__subclasses__(),
    studio.Session,
    studio.Chunk,
    studio.End,
)
PLAIN = (studio.Session, studio.Chunk, studio.End)


def test_every_event_has_its_row_and_no_row_is_too_many() -> None:
    assert ROWS.keys() == {frame.event for frame in FRAMES}


@pytest.mark.parametrize("frame", [f for f in FRAMES if f not in PLAIN], ids=lambda f: f.__name__)
def test_every_field_is_named(frame: type[studio.Frame]) -> None:
    """In the row of its event; those of traces in the table of traces, or among the schema's."""
    said = TRACES if frame.event == "trace" else ROWS[frame.event]
    named = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`]+)`", said))))
    assert set(frame.__struct_encode_fields__) - named == set()


def test_the_row_names_no_field_that_there_is_not() -> None:
    """A client would wait for it."""
    for frame in FRAMES:
        if frame in PLAIN or frame.event == "trace":
            continue
        row = re.sub(r": \{[^}]*\}", "", ROWS[frame.event])  # what a field holds
        inside = re.findall(r"\{([^}]*)", row)[0]
        named = re.findall(r"(?:^|, )([a-z_]+)\??", inside)
        assert set(named) <= set(frame.__struct_encode_fields__)
