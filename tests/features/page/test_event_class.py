"""Every event is of one class, and ADK's `finishReason` has no say in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.laws.events import answer, call, event, text, thought
from tests.recordings.library import CAPTURES, load

from adk_prism.features.page.panels import CLASSES, classify
from adk_prism.log.entry import AgentEvent

CASES: dict[str, tuple[Any, str]] = {
    "a call": (event(call("look")), "function call"),
    "a call with words": (
        event(text("I look."), call("look"), finishReason="STOP"),
        "function call",
    ),
    "two calls": (event(call("look"), call("see", "c2")), "function call"),
    "a response": (event(answer("look", response={"a": 1})), "function response"),
    "a response of the client": (event(answer("look"), author="user"), "function response"),
    "words": (event(text("So.")), "model text"),
    "a piece of words": (event(text("So"), partial=True), "model text"),
    "a call that is announced": (event(call("look"), partial=True), "other"),
    "a response that is announced": (event(answer("look"), partial=True), "other"),
    "words with a call that is announced": (
        event(text("I look."), call("look"), partial=True),
        "model text",
    ),
    "a thought": (event(thought("Hm.")), "model text"),
    "words with an end": (event(text("So."), finishReason="STOP"), "model text"),
    "the user's words": (event(text("Well?"), author="user"), "other"),
    "no words": (event(text("")), "other"),
    "a change of state": (event(actions={"stateDelta": {"a": 1}}), "other"),
    "an end without content": (event(finishReason="STOP"), "other"),
    "an error": (event(errorCode="Overload"), "other"),
    "a picture": (event({"inlineData": {"mimeType": "image/png", "data": "aa"}}), "other"),
    "no content": (event(content=None), "other"),
}


@pytest.mark.parametrize(("given", "wanted"), CASES.values(), ids=CASES)
def test_an_event_has_one_class(given: Any, wanted: str) -> None:
    """A call decides, then a response, then words."""
    assert classify(json.dumps(given).encode()) == wanted


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"null", b'{"content":5}', b'{"author":NaN}', b"\xff"]
)
def test_what_cannot_be_read_is_of_no_class(raw: bytes) -> None:
    """And nothing raises."""
    assert classify(raw) == "other"


@pytest.mark.parametrize("name", CAPTURES)
def test_every_event_of_a_capture_has_one(name: str) -> None:
    """Whatever ADK sends."""
    events = [e.record.event for e in load(name) if isinstance(e.record, AgentEvent)]
    assert {classify(raw) for raw in events} <= set(CLASSES)
