"""Steps: what a stock client looks at to decide whether it should post again by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.laws.events import Json, answer, call, confirmation, event, placeholder, text
from tests.protocols.chunks import DONE, chunks

from adk_prism.log.entry import Continues, Decision, to_raw

LEFT = {"author": "left", "branch": "par.left"}
RIGHT = {"author": "right", "branch": "par.right"}
PAY = call("pay", "c1")


def whole(*parts: Json, **fields: Any) -> Json:
    return event(*parts, partial=False, **fields)


def going_on(**more: Any) -> dict[str, Any]:
    decisions = {"c1": Decision(approval="a1", approved=True)}
    fields = {"open_calls": {"c1": "pay"}, "decisions": decisions, **more}
    return {"continues": Continues(message="run-0", **fields)}


@dataclass(frozen=True)
class Case:
    id: str
    events: list[Json]
    steps: str
    """`[` and `]` are steps; t text, c call, a answer, ? approval, i streamed input, f file, s source."""
    how: dict[str, Any] = field(default_factory=dict)


CASES = [
    Case("text alone", [whole(text("Hi"))], "[t]"),
    Case(
        "text after an answer is in a new step",
        [whole(call("f", "c1")), event(answer("f", "c1")), whole(text("Done."))],
        "[ca][t]",
    ),
    Case(
        "text and its call are in one step",
        [whole(text("So: "), call("f", "c1")), event(answer("f", "c1")), whole(text("Done."))],
        "[tca][t]",
    ),
    Case(
        "answers of a batch come before the next step",
        [
            whole(call("f", "c1"), call("f", "c2")),
            event(answer("f", "c2")),
            event(answer("f", "c1")),
            whole(text("Done.")),
        ],
        "[ccaa][t]",
    ),
    Case(
        "a call that waits keeps its step open",
        [whole(call("f", "c1"), call("g", "c2")), event(answer("f", "c1")), whole(text("Hm."))],
        "[ccat]",
        {"outcome": "finished"},
    ),
    Case(
        "a run that ends with an answer gets an empty step",
        [whole(call("f", "c1")), event(answer("f", "c1"))],
        "[ca][]",
    ),
    Case(
        "one that ends with a call that waits does not",
        [whole(call("f", "c1"))],
        "[c]",
        {"outcome": "finished"},
    ),
    Case(
        "nor does one that waits for a person beside an answer",
        [
            whole(call("f", "c2"), PAY),
            event(answer("f", "c2")),
            event(confirmation(PAY)),
            placeholder(PAY),
        ],
        "[cca?]",
    ),
    Case("two texts without a call are one step", [whole(text("a")), whole(text("b"))], "[tt]"),
    Case(
        "a step is not closed over an open block of another lane",
        [
            event(text("L"), partial=True, **LEFT),
            whole(call("f", "c1"), **RIGHT),
            event(answer("f", "c1"), **RIGHT),
            whole(text("R"), **RIGHT),
            whole(text("L"), **LEFT),
            whole(text("RR"), **RIGHT),
        ],
        "[tcat][t]",
    ),
    Case(
        "input that streams keeps its step open: a call lies in one step",
        [
            whole(call("f", "c1"), **LEFT),
            event(call("g", "c2", None, willContinue=True), partial=True, **RIGHT),
            event(answer("f", "c1"), **LEFT),
            whole(text("L"), **LEFT),
            whole(call("g", "c2"), **RIGHT),
            event(answer("g", "c2"), **RIGHT),
            whole(text("R"), **RIGHT),
        ],
        "[ciatca][t]",
    ),
    Case(
        "an agent that is called speaks in steps of its own",
        [
            whole(call("helper", "c1")),
            whole(text("Hi"), author="helper", branch="helper@c1"),
            event(answer("helper", "c1")),
            whole(text("Done.")),
        ],
        "[c][tat]",
    ),
    Case(
        "the provider's tools are settled for a client",
        [
            whole(
                {"toolCall": {"id": "p", "toolType": "X"}},
                {"toolResponse": {"id": "p", "toolType": "X"}},
            )
        ],
        "[ca]",
    ),
    Case(
        "a tool's picture is in the step after its answer",
        [
            whole(call("f", "c1")),
            event(answer("f", "c1", {}, parts=[{"inlineData": {"data": "AAAA"}}])),
            whole(text("Done.")),
        ],
        "[ca][ft]",
    ),
    Case(
        "a source has a step, also before anything is said",
        [
            event(groundingMetadata={"groundingChunks": [{"web": {"uri": "https://a"}}]}),
            whole(text("a")),
        ],
        "[st]",
    ),
    Case("nothing at all", [], "[]"),
    Case(
        "a failure after an answer",
        [whole(call("f", "c1")), event(answer("f", "c1"))],
        "[ca][]",
        {"outcome": "failed"},
    ),
    Case(
        "a cancellation after an answer",
        [whole(call("f", "c1")), event(answer("f", "c1"))],
        "[ca][]",
        {"outcome": "cancelled"},
    ),
    Case(
        "a continuation: answers first, then a step",
        [event(answer("pay", "c1")), whole(text("Paid."))],
        "a[t]",
        going_on(),
    ),
    Case("a continuation that says nothing more", [event(answer("pay", "c1"))], "a[]", going_on()),
    Case(
        "a run that only keeps an answer leaves the last step as it was",
        [],
        "",
        going_on(
            decisions={}, answers={"c1": to_raw(1)}, held=True, open_calls={"c1": "f", "c2": "pay"}
        ),
    ),
]

_LETTERS = {
    "start-step": "[",
    "finish-step": "]",
    "text-start": "t",
    "tool-input-start": "i",
    "tool-input-available": "c",
    "tool-output-available": "a",
    "tool-output-error": "a",
    "tool-approval-request": "?",
    "file": "f",
    "source-url": "s",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_where_steps_begin_and_end(case: Case) -> None:
    """A new step before output that follows answers; an empty one where answers would be the last word."""
    kinds = [chunk["type"] for chunk in chunks(*case.events, **case.how) if chunk != DONE]
    assert "".join(_LETTERS.get(kind, "") for kind in kinds) == case.steps
