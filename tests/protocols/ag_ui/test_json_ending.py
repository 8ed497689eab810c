"""A JSON text that breaks off anywhere can be completed."""

from __future__ import annotations

import json

import pytest

from adk_prism.protocols.ag_ui.calls import ending

WHOLE = [
    '{"a":1}',
    '{"a": {"b": [1, -2.5e10, true, false, null, "x"]}, "c": "y"}',
    '{"q\\"uote\\\\":"\\u00e9\\n\\\\\\"", "list": [[], {}, [{"a": []}]]}',
    '{ "a" : [ 1 , 2 ] , "b" : { "c" : "" } }',
    '{"emoji": "\\ud83d\\ude00 😀"}',
]


@pytest.mark.parametrize("whole", WHOLE)
def test_every_beginning_can_be_completed(whole: str) -> None:
    """To an object; a whole text stays as it is."""
    assert ending(whole) == ""
    for end in range(1, len(whole)):
        begun = whole[:end]
        assert isinstance(json.loads(begun + ending(begun)), dict), begun


def test_nothing_is_not_completed() -> None:
    """No arguments are no JSON text that breaks off."""
    assert ending("") == ""
