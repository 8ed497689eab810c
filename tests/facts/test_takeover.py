"""After a takeover: what is said again is shown once, and what is said otherwise replaces what was shown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from adk_prism.facts import model as fact
from adk_prism.facts.run_reader import Reader
from adk_prism.log.entry import (
    AgentEvent,
    Entry,
    Origin,
    Record,
    RunEnded,
    RunStarted,
    RunTakenOver,
)
from adk_prism.protocols.ai_sdk.history import rebuild, settled
from adk_prism.protocols.ai_sdk.projection import AiSdkProjection
from adk_prism.protocols.contract import Options

START = RunStarted(run="run-1", origin=Origin(app="a", user="u", session="s"))
END = RunEnded(outcome="finished")
Json = dict[str, Any]


def event(*parts: Json, partial: bool = False, **more: Any) -> AgentEvent:
    tree: Json = {
        "author": "agent",
        "nodeInfo": {"path": "agent@1"},
        "content": {"role": "model", "parts": list(parts)},
        **({"partial": True} if partial else {}),
        **more,
    }
    return AgentEvent(json.dumps(tree, separators=(",", ":")).encode())


def said(*words: str, thought: bool = False) -> list[AgentEvent]:
    about = {"thought": True} if thought else {}
    return [event({"text": word} | about, partial=True) for word in words]


def whole(text: str, **more: Any) -> AgentEvent:
    return event({"text": text}, finishReason="STOP", **more)


TAKEN = RunTakenOver(epoch=1)


@dataclass(frozen=True)
class Case:
    id: str
    before: list[Record]
    after: list[Record]
    shown: list[tuple[str, str]]
    """Blocks: kind and text."""
    replaced: int = 0
    """Of them, those that were open when they were replaced."""
    gone: int = -1
    """The first ones that do not stand; as many as were replaced, unless said."""

    @property
    def stands(self) -> list[tuple[str, str]]:
        return self.shown[self.replaced if self.gone < 0 else self.gone :]


CASES = [
    Case(
        "equal",
        said("Once ", "upon"),
        [*said("Once ", "upon ", "a time")],
        [("text", "Once upon a time")],
    ),
    Case(
        "equal, other pieces",
        said("Once ", "upon"),
        said("On", "ce upon a", " time"),
        [("text", "Once upon a time")],
    ),
    Case(
        "shorter",
        said("Once upon"),
        [*said("Once"), whole("Once")],
        [("text", "Once upon"), ("text", "Once")],
        1,
    ),
    Case(
        "other",
        said("Once upon"),
        said("Twice ", "upon"),
        [("text", "Once upon"), ("text", "Twice upon")],
        1,
    ),
    Case(
        "other in the middle",
        said("Once upon"),
        said("Once ", "more"),
        [("text", "Once upon"), ("text", "Once more")],
        1,
    ),
    Case(
        "not streamed",
        said("Once upon"),
        [whole("Once upon a time")],
        [("text", "Once upon a time")],
    ),
    Case(
        "not streamed, other",
        said("Once upon"),
        [whole("No.")],
        [("text", "Once upon"), ("text", "No.")],
        1,
    ),
    Case(
        "thought and text",
        [*said("Hm", "m", thought=True), *said("Once")],
        [*said("Hmm", thought=True), *said("On", "ce more")],
        [("reasoning", "Hmm"), ("text", "Once more")],
    ),
    Case(
        "another thought",
        [*said("Hmm", thought=True), *said("Once")],
        [*said("Well", thought=True), *said("Once more")],
        [("reasoning", "Hmm"), ("text", "Once"), ("reasoning", "Well"), ("text", "Once more")],
        1,
        2,
    ),
    Case(
        "a thought that was not there",
        said("Once"),
        [*said("Hm", thought=True), *said("Once.")],
        [("text", "Once"), ("reasoning", "Hm"), ("text", "Once.")],
        1,
    ),
    Case("nothing was said", [], said("Once"), [("text", "Once")]),
    Case("nothing more is said", said("Once"), [], [("text", "Once")]),
    Case(
        "twice",
        said("Once ", "upon"),
        [*said("Once"), RunTakenOver(epoch=2), *said("Once upon a")],
        [("text", "Once upon a")],
    ),
]


def read(*records: Record) -> list[fact.Fact]:
    reader = Reader()
    entries = [Entry(number, 0.0, record) for number, record in enumerate(records, 1)]
    return [item for entry in entries for item in reader.feed(entry)]


def blocks(facts: list[fact.Fact]) -> list[tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for item in facts:
        if isinstance(item, fact.BlockBegan):
            assert item.block not in found, "an id is used once"
            found[item.block] = (item.kind, "")
        elif isinstance(item, fact.BlockGrew):
            kind, text = found[item.block]
            found[item.block] = (kind, text + item.text)
    return list(found.values())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_is_said_again(case: Case) -> None:
    """Equal words go on in their block; others replace it. Every block ends once."""
    facts = read(START, *case.before, TAKEN, *case.after, END)
    assert blocks(facts) == case.shown
    ends = [item for item in facts if isinstance(item, fact.BlockEnded)]
    assert len(ends) == len(case.shown)
    assert sum(item.replaced for item in ends) == case.replaced


def test_a_takeover_is_told() -> None:
    """With its epoch, and the calls that are in doubt, which an answer still closes."""
    call = event({"functionCall": {"id": "c1", "name": "pay", "args": {}}})
    answer = event({"functionResponse": {"id": "c1", "name": "pay", "response": {"ok": 1}}})
    taken = RunTakenOver(epoch=3, in_doubt=["c1"])
    facts = read(START, call, taken, answer, whole("Paid."), END)
    assert fact.TakenOver(3, [], ["c1"]) in facts
    assert [i.call for i in facts if isinstance(i, fact.CallAnswered)] == ["c1"]
    assert not [i for i in facts if isinstance(i, fact.CallAbandoned)]
    facts = read(START, call, taken, whole("Well."), END)
    assert [i.call for i in facts if isinstance(i, fact.CallAbandoned)] == ["c1"]


def test_arguments_that_were_being_written() -> None:
    """The call is given up with the takeover: it is made anew, under another id."""
    piece = {"id": "c1", "name": "pay", "willContinue": True,
             "partialArgs": [{"jsonPath": "$.sum", "numberValue": 1}]}  # fmt: skip
    again = event({"functionCall": {"id": "c2", "name": "pay", "args": {"sum": 1}}})
    facts = read(START, event({"functionCall": piece}, partial=True), TAKEN, again, END)
    assert [i.call for i in facts if isinstance(i, fact.CallAbandoned)] == ["c1"]
    assert [i.call for i in facts if isinstance(i, fact.CallRequested)] == ["c2"]


def test_agents_that_run_again() -> None:
    """What finished agents below a call without an answer said is superseded by what they say anew."""
    call = event({"functionCall": {"id": "c1", "name": "child", "args": {}}})
    child = {"author": "child", "nodeInfo": {"path": "agent@1/child@c1"}, "branch": "child@c1"}
    spoken = event({"text": "First."}, **child, finishReason="STOP")
    facts = read(START, call, spoken, TAKEN, spoken, END)
    begun = [item.block for item in facts if isinstance(item, fact.BlockBegan)]
    [taken] = [item for item in facts if isinstance(item, fact.TakenOver)]
    assert (taken.superseded, len(begun)) == (begun[:1], 2)


def test_a_node_that_is_told_again() -> None:
    """A workflow repeats what its finished nodes gave; once, and it is no news."""
    output = {"author": "flow", "nodeInfo": {"path": "flow@1/one@1"}, "output": 5}
    tree = AgentEvent(json.dumps(output).encode())
    facts = read(START, tree, TAKEN, tree, tree, END)
    assert len([item for item in facts if isinstance(item, fact.NodeOutput)]) == 2


@pytest.mark.parametrize("name", ["6", "7"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_a_client_holds(case: Case, name: str) -> None:
    """Dialect 7 takes back what was replaced; dialect 6 marks it, and a page that loads later omits it."""
    projection = AiSdkProjection(Options(dialect=name))
    records = (START, *case.before, TAKEN, *case.after, END)
    entries = [Entry(number, 0.0, record) for number, record in enumerate(records, 1)]
    message = rebuild(frame for entry in entries for frame in projection.feed(entry))
    told = [part for part in message["parts"] if part["type"] == "data-prism-takeover"]
    assert told[0]["data"] == {"epoch": 1, "superseded": []}
    assert _spoken(message) == (case.shown if name == "6" else case.stands)
    assert _spoken(settled(message)) == case.stands


def _spoken(message: Json) -> list[tuple[str, str]]:
    parts = message["parts"]
    return [(p["type"], p["text"]) for p in parts if p["type"] in ("text", "reasoning")]
