"""Documents are split into their values, wherever the bytes are cut; nothing else ever happens."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adk_prism.errors import SourceError
from adk_prism.features.captures.file_forms import DocumentSplitter
from adk_prism.features.captures.recording_file import read_run

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["events", '"\\']),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4) | st.sampled_from(["a", "events"]), inner, max_size=3)
    ),
    max_leaves=10,
)
_OBJECTS = st.dictionaries(st.sampled_from(["a", "b", '"', "\\", "[{"]), _JSON, max_size=3)


def _split(data: bytes, cuts: list[int]) -> list[Any]:
    splitter = DocumentSplitter(10**6)
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    values = [value for start, end in pairwise(places) for value in splitter.feed(data[start:end])]
    splitter.finish()
    return [json.loads(value.data) for value in values if not value.is_session]


@settings(max_examples=300, deadline=None)
@given(
    values=st.lists(_OBJECTS, max_size=4),
    indent=st.sampled_from([None, 0, 2]),
    form=st.sampled_from(["array", "session", "values"]),
    cuts=st.lists(st.integers(min_value=0), max_size=4),
)
def test_the_values_are_those_of_the_document(
    values: list[dict[str, Any]], indent: int | None, form: str, cuts: list[int]
) -> None:
    """An array, a session, or one value after the other; compact or pretty; cut anywhere."""
    about = {"id": "s", "state": {"events": [{"x": 1}], "]": "["}}
    document: Any = {
        "array": values,
        "session": {**about, "events": values, "rest": [{"events": [1]}, '"]}']},
        "values": None,
    }[form]
    if form == "values":
        text = "\n".join(json.dumps(value, indent=indent) for value in values)
    else:
        text = json.dumps(document, indent=indent)
    assert _split(text.encode(), cuts) == values


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """No other error can come of a file."""
    for start in (b"", b"{", b"[", b"data: ", b'{"author":"a"}\n', b'[{"author":"a"},'):
        try:
            list(read_run(start + data))
        except SourceError:
            continue


def _complaint(line: bytes) -> str:
    try:
        list(read_run(line))
    except SourceError as error:
        return error.detail[: len("Line 1 is not an ADK event")]
    return ""


@settings(max_examples=200, deadline=None)
@given(_JSON, st.sampled_from(["content", "actions", "error", "usage_metadata", "timestamp"]))
def test_any_value_at_adks_places_is_read_or_refused(value: Any, key: str) -> None:
    """Values of the wrong kind are named, not stumbled over."""
    inner = {"parts": value, "state_delta": value, "function_calls": value}
    for field in (value, inner):
        line = json.dumps({"author": "a", key: field}).encode() + b"\n"
        assert _complaint(line) in ("", "Line 1 is not an ADK event")


def test_a_value_that_never_ends_is_cut_off() -> None:
    """The end of the file is noticed in every place."""
    for data in (b"{", b'{"a": "x', b"[", b"[{}", b'{"events": [', b'{"events": [{}]'):
        splitter = DocumentSplitter(100)
        splitter.feed(data)
        with pytest.raises(SourceError, match="truncated"):
            splitter.finish()
