"""The table of OpenAI's types is what the two projections write: nothing more, nothing less."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
from tests.features.fields.runs import all_runs
from tests.features.fields.stream import entries
from tests.recordings.library import RECORDINGS, load

from adk_prism.features.fields.dispositions import OPENAI, Emitted
from adk_prism.features.fields.report import read_openai_releases
from adk_prism.features.openai import chat, responses

KNOWN = read_openai_releases()[-1].events

INSIDE = {
    ("ChatCompletionChunk", "choices"): "Choice",
    ("ChatCompletionChunk", "usage"): "CompletionUsage",
    ("Choice", "delta"): "ChoiceDelta",
    ("ChoiceDelta", "tool_calls"): "ChoiceDeltaToolCall",
    ("ChoiceDeltaToolCall", "function"): "ChoiceDeltaToolCallFunction",
    ("CompletionUsage", "completion_tokens_details"): "CompletionTokensDetails",
    ("CompletionUsage", "prompt_tokens_details"): "PromptTokensDetails",
}
"""The types of what chunks hold; a `response` and an `item` go by their name."""

OURS = {
    ("ChatCompletionChunk", "prism"),
    ("ChoiceDelta", "annotations"),
    ("ChoiceDelta", "reasoning_content"),
    ("response.function_call_arguments.done", "name"),
}
"""Keys that the package does not declare: what clients of Chat Completions read all the same, an extension
that our documentation names, and one that earlier releases require."""


def _objects(name: str, value: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield an object and those inside, each with its type."""
    yield name, value
    for key, held in value.items():
        for each in held if isinstance(held, list) else [held]:
            if key == "response":
                yield from _objects("Response", each)
            elif key == "item" or (name == "Response" and key == "output"):
                yield from _objects(each["type"], each)
            elif each is not None and (name, key) in INSIDE:
                yield from _objects(INSIDE[name, key], each)


@cache
def _written() -> list[tuple[str, dict[str, Any]]]:
    """Return every object of every run that there is, in both protocols."""
    runs = [*(entries(run.records) for run in all_runs()), *map(load, RECORDINGS)]
    found = []
    for spec in (chat.SPEC, responses.SPEC):
        for run in runs:
            reader = spec.format().reader()
            payloads = (payload.data for entry in run for payload in reader.feed(entry))
            frames = [msgspec.json.decode(each) for each in payloads if each != b"[DONE]"]
            for frame in frames:
                if "error" not in frame:
                    found += _objects(frame.get("type", "ChatCompletionChunk"), frame)
    broken = msgspec.json.decode(responses.SPEC.failure("It broke.")[0].data)
    return [*found, *_objects("error", broken)]


def test_the_table_is_what_is_written() -> None:
    """Over every recording and case: a key that never has a value is not emitted."""
    written = {(kind, key) for kind, each in _written() for key in each if each[key] is not None}
    promised = {
        (kind, key)
        for kind, row in OPENAI.items()
        for key, decided in row.keys.items()
        if isinstance(decided, Emitted)
    }
    assert {pair for pair in written if pair[1] != "type"} == promised | OURS
    assert {kind for kind, _ in written} == {
        kind for kind, row in OPENAI.items() if isinstance(row.itself, Emitted)
    }


def test_nothing_lacks_a_required_key() -> None:
    """The newest package finds all that it declares."""
    for kind, each in _written():
        assert set(KNOWN[kind].required) <= each.keys(), (kind, each)
