"""Whatever a server sends, it is judged: no frame, however odd, ends the judgement with an exception."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.slow import examples

from adk_prism.features.captures.streams import SseEvent
from adk_prism.features.conform.adk import Events
from adk_prism.features.conform.ag_ui import EventSchema, Run
from adk_prism.features.conform.ai_sdk import ChunkSchema, Message
from adk_prism.features.conform.checks import MAX_EXCERPT, Sheet, checks_of, read_items
from adk_prism.features.conform.openai import Completion
from adk_prism.features.conform.studio import Stream
from adk_prism.features.fields.report import accepted, read_ag_ui_releases, read_releases

CHUNKS = {kind.replace("*", "x"): keys for kind, keys in accepted(read_releases()).items()}
EVENTS = {kind: keys.names for kind, keys in read_ag_ui_releases()[-1].events.items()}
TRACES = {
    kind: ("node", "step", "duration_ms", "total_steps", "state_snapshot", "state_keys")
    for kind in ("node_start", "node_end", "state", "done", "other")
}
NAMES = """session chunk thinking trace tool_call tool_result log interrupt resume end error
    nonsense""".split()
PARTS = ("functionCall", "functionResponse", "text", "thought")

WORDS = st.sampled_from(["", "a", "b", "tool_call", "adk_request_confirmation", "assistant", "{"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(0, 1) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["id", "name", "args", "input", "output", "op", "path", "type", *PARTS]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


def typed(kinds: dict[str, tuple[str, ...]]) -> st.SearchStrategy[dict[str, Any]]:
    """Frames with a type of the protocol, and any values under its keys."""

    def of(kind: str) -> st.SearchStrategy[dict[str, Any]]:
        keys = {key: VALUES for key in kinds[kind]}
        return st.fixed_dictionaries({"type": st.just(kind)}, optional=keys)

    return st.sampled_from(sorted(kinds)).flatmap(of)


ADK_EVENTS = st.fixed_dictionaries(
    {"author": WORDS, "id": WORDS},
    optional={
        "content": st.fixed_dictionaries(
            {
                "parts": st.lists(
                    st.dictionaries(st.sampled_from(PARTS), VALUES, max_size=2), max_size=2
                )
            }
        )
        | VALUES,
        "partial": VALUES,
        "errorCode": VALUES,
        "invocationId": VALUES,
        "error": VALUES,
    },
)


def judge_ai_sdk(sheet: Sheet, frames: tuple[SseEvent, ...]) -> None:
    schema, message = ChunkSchema(), Message(sheet)
    for item in read_items(sheet, frames, "[DONE]"):
        if schema.check(sheet, item):
            message.take(item)
    message.finish(0, is_last=False)


def judge_ag_ui(sheet: Sheet, frames: tuple[SseEvent, ...]) -> None:
    schema, run = EventSchema(), Run(sheet, "t", "r")
    for item in read_items(sheet, frames):
        if schema.check(sheet, item):
            run.take(item)
    run.finish()


def judge_adk(sheet: Sheet, frames: tuple[SseEvent, ...]) -> None:
    events = Events(sheet, set())
    for item in read_items(sheet, frames):
        events.take(item)
    events.finish()


def judge_studio(sheet: Sheet, frames: tuple[SseEvent, ...]) -> None:
    stream = Stream(sheet)
    for number, frame in enumerate(frames):
        name = NAMES[(number * 7 + len(frame.data)) % len(NAMES)]
        stream.take(SseEvent(name, frame.data, "", None))
    stream.finish()


COMPLETIONS = st.fixed_dictionaries(
    {
        "id": WORDS,
        "object": st.just("chat.completion.chunk"),
        "created": st.just(1),
        "model": WORDS,
        "choices": st.lists(
            st.fixed_dictionaries(
                {"index": st.integers(0, 1) | VALUES},
                optional={
                    "delta": st.fixed_dictionaries(
                        {},
                        optional={
                            "content": VALUES,
                            "role": VALUES,
                            "tool_calls": st.lists(
                                st.fixed_dictionaries(
                                    {"index": VALUES, "function": VALUES}, optional={"id": VALUES}
                                )
                                | VALUES,
                                max_size=2,
                            ),
                        },
                    )
                    | VALUES,
                    "finish_reason": VALUES,
                },
            )
            | VALUES,
            max_size=2,
        ),
    },
    optional={"usage": VALUES, "error": VALUES},
)


def judge_openai(sheet: Sheet, frames: tuple[SseEvent, ...]) -> None:
    completion = Completion(sheet)
    for item in read_items(sheet, frames, "[DONE]"):
        completion.take(item)
    completion.end(frames)


CASES: dict[str, tuple[Any, Callable[..., None]]] = {
    "ai-sdk": (typed(CHUNKS), judge_ai_sdk),
    "ag-ui": (typed(EVENTS), judge_ag_ui),
    "adk": (ADK_EVENTS, judge_adk),
    "openai": (COMPLETIONS | VALUES, judge_openai),
    "studio": (typed(TRACES) | VALUES, judge_studio),
}


@pytest.mark.parametrize("protocol", CASES)
def test_odd_frames(protocol: str) -> None:
    """Known kinds with any values, and text that is nothing at all."""
    frames, judge = CASES[protocol]

    @settings(max_examples=examples(100), deadline=None)
    @given(st.lists(frames.map(json.dumps) | WORDS, max_size=5))
    def run(texts: list[str]) -> None:
        sheet = Sheet(checks_of(protocol))
        judge(sheet, tuple(SseEvent("message", text, "", None) for text in texts))
        for result in sheet.results():
            assert all(len(fault.came) <= MAX_EXCERPT for fault in result.faults)

    run()


@pytest.mark.parametrize("protocol", CASES)
def test_deep_frames(protocol: str) -> None:
    """JSON that is nested deeper than a program can follow is a fault, and no crash."""
    _, judge = CASES[protocol]
    for depth in (100, 400, 900, 100_000):
        text = '{"type": "data-x", "data": ' + "[" * depth + "]" * depth + "}"
        judge(Sheet(checks_of(protocol)), (SseEvent("trace", text, "", None),))
