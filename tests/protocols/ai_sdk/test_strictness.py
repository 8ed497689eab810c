"""What tools put into values cannot break the stream: it is repaired on its way out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from tests.conformance.judge import Judge
from tests.laws.events import Json, call, entries, event, text
from tests.protocols.chunks import chunks, of_kind

from adk_prism.facts.model import FACTS, BlockGrew
from adk_prism.features.captures.replay import replay
from adk_prism.features.captures.streams import SseDecoder
from adk_prism.features.run import command as readable
from adk_prism.protocols.ai_sdk.projection import AiSdkProjection, LiveAiSdkProjection
from adk_prism.protocols.registry import protocol

MADE = event(call("f", "c1"), partial=False)


def answered(response: str) -> bytes:
    part = f'{{"functionResponse":{{"id":"c1","name":"f","response":{response}}}}}'
    return f'{{"author":"agent","content":{{"parts":[{part}]}}}}'.encode()


@dataclass(frozen=True)
class Case:
    id: str
    response: str
    output: Any


CASES = [
    Case("__proto__", '{"__proto__":{"a":1}}', {"(__proto__)": {"a": 1}}),
    Case(
        "constructor.prototype",
        '{"constructor":{"prototype":1}}',
        {"constructor": {"(prototype)": 1}},
    ),
    Case("constructor of null", '{"constructor":null}', {"(constructor)": None}),
    Case("NaN", '{"a":[NaN,-Infinity]}', {"a": [None, None]}),
    Case("half a pair", '{"a":"\\ud800"}', {"a": "\ufffd"}),
    Case("U+2028", '{"a":"\u2028"}', {"a": "\u2028"}),
    Case("null", "null", None),
    Case("false", "false", False),
    Case("text", '"done"', "done"),
    Case("a number of any size", "12345678901234567890123", 12345678901234567890123),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_an_output_is_repaired_and_not_more(case: Case) -> None:
    """What strict readers refuse is made safe; everything else stays as it was."""
    (shown,) = of_kind("tool-output-available", MADE, answered(case.response))
    assert shown["output"] == case.output


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_oldest_client_reads_it(case: Case, judge: Judge) -> None:
    """ai 6.0.0, whose parser is the strictest, through to the end of the message."""
    run = entries([MADE, answered(case.response), event(text("Done."))])
    verdict = judge(b"".join(replay(run, protocol("ai-sdk").format())), "ai-6.0.0")
    assert verdict.ok, verdict.why


@pytest.mark.parametrize(
    "place",
    [
        lambda value: event(output=value),
        lambda value: event(actions={"stateDelta": value}),
        lambda value: event(actions={"stateDelta": {"k": value}}),
        lambda value: event(customMetadata=value),
        lambda value: event({"executableCode": value}),
        lambda value: event({"somethingNew": value}),
        lambda value: event(call("f", "c1", value), partial=False),
        lambda value: event(call("adk_request_input", "i1", value)),
        lambda value: event(groundingMetadata=value),
        lambda value: event(text("a"), usageMetadata=value),
    ],
    ids="output state state-value custom code unknown input request grounding usage".split(),
)
def test_every_place_is_safe(place: Any) -> None:
    """Wherever a value of the app's comes out, no key of it can kill the client's parser."""
    tree: Json = {"__proto__": {"a": 1}, "constructor": {"prototype": 2}}
    shown = json.dumps(chunks(place(tree)))
    assert "(__proto__)" in shown
    assert '"__proto__"' not in shown
    assert '"prototype"' not in shown


def test_a_separator_never_ends_a_line() -> None:
    """U+2028, U+2029 and U+0085 in a delta arrive, and no reader sees a line end in them."""
    said = "a\u2028b\u2029c\u0085d\r\ne"
    body = b"".join(replay(entries([event(text(said))]), protocol("ai-sdk").format()))
    assert all(
        line.startswith(("id: ", "data: ")) or not line for line in body.decode().splitlines()
    )
    frames = [json.loads(e.data) for e in SseDecoder().feed(body) if e.data != "[DONE]"]
    assert [frame["delta"] for frame in frames if frame["type"] == "text-delta"] == [said]


def test_every_fact_has_its_row() -> None:
    """In the projection, where the most frequent one is handled before the table, and in the words
    that a terminal shows."""
    facts = set(FACTS)
    assert facts - {BlockGrew} == set(AiSdkProjection.SHOW) == set(LiveAiSdkProjection.SHOW)
    assert facts == {*readable._SHOW, *readable._LINES, *readable.NOT_SHOWN}
