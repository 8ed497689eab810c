"""Every frame fits the types of OpenAI's own package, for every recording."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel
from tests.recordings.library import CAPTURES, RECORDINGS, load

from adk_prism.features.openai import chat, responses
from adk_prism.protocols.contract import ProtocolSpec
from adk_prism.testing.laws import check_laws

_EVENTS: dict[str, type[BaseModel]] = {
    get_args(kind.model_fields["type"].annotation)[0]: kind
    for kind in get_args(get_args(ResponseStreamEvent)[0])
}
"""The classes of events by their `type`."""


def _frames(spec: ProtocolSpec, name: str, dialect: str = "") -> list[dict]:
    reader = spec.format(dialect).reader()
    payloads = [payload for entry in load(name) for payload in reader.feed(entry)]
    return [json.loads(payload.data) for payload in payloads if payload.data != b"[DONE]"]


@pytest.mark.parametrize("name", [*RECORDINGS, *CAPTURES])
def test_the_chunks_are_those_of_the_package(name: str) -> None:
    """In both dialects; and what they add up to is its completion."""
    for dialect in chat.DIALECTS:
        chunks = [each for each in _frames(chat.SPEC, name, dialect) if "error" not in each]
        for chunk in chunks:
            ChatCompletionChunk.model_validate(chunk)
        ChatCompletion.model_validate(chat.completion(chunks))


@pytest.mark.parametrize("name", [*RECORDINGS, *CAPTURES])
def test_the_events_are_those_of_the_package(name: str) -> None:
    """And the last one has the whole response."""
    events = _frames(responses.SPEC, name)
    for event in events:
        _EVENTS[event["type"]].model_validate(event)
    if "response" in events[-1]:
        Response.model_validate(events[-1]["response"])


@pytest.mark.parametrize("name", RECORDINGS)
def test_hidden_tools_change_nothing_but_the_reasoning(name: str) -> None:
    """The answer is the same."""
    shown, hidden = (
        chat.completion(each for each in _frames(chat.SPEC, name, dialect) if "error" not in each)
        for dialect in chat.DIALECTS
    )
    for whole in (shown, hidden):
        whole["choices"][0]["message"].pop("reasoning_content", None)
    assert shown == hidden


@pytest.mark.parametrize("spec", [chat.SPEC, responses.SPEC], ids=lambda spec: spec.name)
def test_a_stream_that_lacks_its_end_breaks_a_law(spec: ProtocolSpec) -> None:
    """The grammar is checked at all."""
    entries = load("approval")
    assert check_laws(entries, [spec.format()]) == []
    grammar = spec.grammar
    assert grammar is not None
    reader = spec.format().reader()
    frames = [reader.feed(entry) for entry in entries]
    cut = [*frames[:-1], frames[-1][:-1]]
    assert list(grammar.terminated(entries, cut))
    twice = [[*frames[0], *frames[0]], *frames[1:]]
    assert list(grammar.balanced(entries, twice))
