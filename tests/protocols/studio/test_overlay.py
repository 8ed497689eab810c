"""What a node was asked and answered, in snapshots of a state that does not say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from tests.protocols.studio.logs import (
    Json,
    begins,
    child,
    ended,
    ends,
    event,
    frames,
    log,
    started,
)

from adk_prism.log.entry import Record, to_raw

BOTH = {"input": ["query"], "output": ["query", "response"]}


def asked(text: str = "hi", state: Json | None = None) -> Record:
    return started(state, message=to_raw({"role": "user", "parts": [{"text": text}]}))


def call(name: str, args: Json, author: str = "a") -> Record:
    return event({"functionCall": {"id": "c1", "name": name, "args": args}}, author=author)


def traces(*records: Record) -> dict[str, Json]:
    """Return the last trace of each name of a node, and `done`."""
    said = [data for name, data in frames(log(*records)) if name == "trace"]
    return {data.get("node", data["type"]): data for data in said}


def shown(data: Json) -> tuple[Any, Any, Any]:
    return data["state_snapshot"]["input"], data["state_snapshot"]["output"], data.get("overlay")


@dataclass(frozen=True)
class Case:
    id: str
    records: tuple[Record, ...]
    node: str
    input: Json
    output: Json
    overlay: Json | None
    result: Any = None


A = begins("1", "a", path="a@1")
SAYS = event({"text": "Hello."}, author="a")
WITHHELD = (
    event({"text": "The secret"}, author="a", partial=True),
    event({"text": "No."}, author="a"),
)

CASES = (
    Case(
        "an agent that writes no state",
        (asked(), A, SAYS, ends("1")),
        "a",
        {"query": "hi"},
        {"query": "hi", "response": "Hello."},
        BOTH,
        "Hello.",
    ),
    Case(
        "the run",
        (asked(), A, SAYS, ends("1")),
        "done",
        {"query": "hi"},
        {"query": "hi", "response": "Hello."},
        BOTH,
    ),
    Case(
        "keys of the state are never covered",
        (asked(state={"query": 1}), A, SAYS, ends("1", state={"response": None})),
        "a",
        {"query": 1},
        {"query": 1, "response": None},
        None,
        "Hello.",
    ),
    Case(
        "a key that the node wrote is the state's in the output alone",
        (asked(state={"k": 1}), A, SAYS, ends("1", state={"query": "own"})),
        "a",
        {"query": "hi", "k": 1},
        {"k": 1, "query": "own", "response": "Hello."},
        {"input": ["query"], "output": ["response"]},
        "Hello.",
    ),
    Case(
        "replaced text is no response",
        (asked(), A, *WITHHELD, ends("1")),
        "a",
        {"query": "hi"},
        {"query": "hi", "response": "No."},
        BOTH,
        "No.",
    ),
    Case(
        "the last model call answers",
        (
            asked(),
            A,
            event({"text": "I look."}, author="a"),
            call("look", {}),
            event({"functionResponse": {"id": "c1", "name": "look", "response": {}}}, author="a"),
            SAYS,
            ends("1"),
        ),
        "a",
        {"query": "hi"},
        {"query": "hi", "response": "Hello."},
        BOTH,
        "Hello.",
    ),
    Case(
        "thoughts are no response",
        (asked(), A, event({"text": "Hm.", "thought": True}, author="a"), ends("1")),
        "a",
        {"query": "hi"},
        {"query": "hi"},
        {"input": ["query"], "output": ["query"]},
    ),
    Case(
        "a failed agent has no result, but what it said",
        (asked(), A, SAYS, ends("1", "failed", error="ValueError")),
        "a",
        {"query": "hi"},
        {"query": "hi", "response": "Hello."},
        BOTH,
    ),
    Case(
        "a message that has no text, or is none",
        (started(message=to_raw({"parts": 3})), A, SAYS, ends("1")),
        "a",
        {},
        {"response": "Hello."},
        {"output": ["response"]},
        "Hello.",
    ),
    Case(
        "a function is given a value, which nobody knows",
        (
            asked(),
            begins("1", "f", "function", path="flow@1/f@1"),
            event(author="flow", output=3, nodeInfo={"path": "flow@1/f@1"}),
            ends("1"),
        ),
        "f",
        {},
        {},
        None,
        3,
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_is_laid_over_the_state(case: Case) -> None:
    """Listed beside the snapshot; `state_keys` are the keys that are shown."""
    data = traces(*case.records, ended())[case.node]
    assert shown(data) == (case.input, case.output, case.overlay)
    assert data["state_keys"] == list(case.output)
    assert data.get("result") == case.result


ARGUMENTS: tuple[tuple[Json, Any], ...] = (
    ({"request": "Translate."}, "Translate."),
    ({"city": "Porto", "days": 2}, {"city": "Porto", "days": 2}),
    (
        {"request": "x", "more": {"a": {"b": {"c": 1}}}},
        {"request": "x", "more": {"a": "{… 1 key}"}},
    ),
)


@pytest.mark.parametrize(("arguments", "query"), ARGUMENTS, ids=str)
def test_a_called_agent_is_asked_by_its_call(arguments: Json, query: Any) -> None:
    """What it says there is its own response, and no response of its caller."""
    found = traces(
        asked(),
        A,
        call("child", arguments),
        begins("2", "child", "tool", call="c1", parent="1"),
        begins("3", "child", path="child@1", parent="2", call="c1"),
        child("c1", {"text": "Bom dia."}, node="2"),
        ends("3"),
        ends("2"),
        ends("1"),
        ended(),
    )
    assert shown(found["child"])[:2] == ({"query": query}, {"query": query, "response": "Bom dia."})
    assert (found["child"]["result"], found["child"]["call"]) == ("Bom dia.", "c1")
    assert shown(found["a"])[1] == {"query": "hi"}
    assert shown(found["done"])[1] == {"query": "hi"}


def flow(kind: str, *steps: Record) -> Json:
    return traces(asked(), begins("1", "all", "workflow", path=kind), *steps, ends("1"), ended())


def member(node: str, path: str = "") -> tuple[Record, Record, Record]:
    name = f"m{node}"
    speaks = event({"text": f"I am {name}."}, author=name, id=name)
    return begins(node, name, path=path, parent="1"), speaks, ends(node)


def test_members_that_ran_last_answer_for_the_composite() -> None:
    """One after the other: the last. Side by side: all. Whoever says nothing does not count."""
    first, second = member("2"), member("3")
    assert shown(flow("", *first, *second)["all"])[1]["response"] == "I am m3."
    side_by_side = [record for pair in zip(first, second, strict=True) for record in pair]
    assert shown(flow("", *side_by_side)["done"])[1]["response"] == "I am m2.\n\nI am m3."
    silent = (begins("4", "m4", parent="1"), ends("4"))
    assert shown(flow("", *first, *silent)["all"])[1]["response"] == "I am m2."


def test_only_the_first_nodes_of_a_workflow_are_asked_what_it_is_asked() -> None:
    """The next is given what the one before gave on; the older composite agents all see the message."""
    new = flow("all@1", *member("2", "all@1/m2@1"), *member("3", "all@1/m3@1"))
    assert [shown(new[name])[0] for name in ("m2", "m3")] == [{"query": "hi"}, {}]
    old = flow("", *member("2"), *member("3"))
    assert [shown(old[name])[0] for name in ("m2", "m3")] == [{"query": "hi"}, {"query": "hi"}]


def test_who_is_handed_over_to_answers_for_the_run() -> None:
    """It begins below an agent that has ended, and is asked the same."""
    guide = event({"text": "I guide."}, author="guide", nodeInfo={"path": "a@1/guide@1"})
    begun = begins("2", "guide", path="a@1/guide@1", parent="1")
    found = traces(asked(), A, SAYS, ends("1"), begun, guide, ends("2"), ended())
    assert shown(found["guide"])[1] == {"query": "hi", "response": "I guide."}
    assert shown(found["done"])[1] == {"query": "hi", "response": "I guide."}
