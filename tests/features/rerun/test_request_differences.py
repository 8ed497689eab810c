"""What counts when two requests to a model are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from adk_prism.errors import UsageError
from adk_prism.features.rerun.recorded_requests import (
    LONGEST_RULE,
    LONGEST_SHOWN,
    MOST_RULES,
    ChangedPart,
    ComparedRequest,
    Rules,
    find_cause,
)

Json = dict[str, Any]


def text(words: str, role: str = "user") -> Json:
    return {"role": role, "parts": [{"text": words}]}


def called(call_id: str) -> Json:
    return {"role": "model", "parts": [{"functionCall": {"id": call_id, "name": "f", "args": {}}}]}


def request(instruction: str = "Be kind.", **more: Any) -> Json:
    config = {"systemInstruction": instruction} | more.pop("config", {})
    return {"config": config, "contents": [text("hi")], "tools": [], **more}


class Case(NamedTuple):
    """Two requests, the rules, and the parts that differ."""

    before: Json
    after: Json
    parts: Sequence[str] = ()
    rules: Sequence[str] = ()


ADDED = (
    "Continue processing previous requests as instructed. Exit or provide a summary if no more outputs"
    " are needed."
)
ONE, TWO = {"name": "one", "description": "1"}, {"name": "two"}
CASES = {
    "the same": Case(request(), request()),
    "an instruction": Case(request(), request("Be rude."), ["instruction"]),
    "no instruction": Case(request(), request(""), ["instruction"]),
    "a setting": Case(request(), request(config={"temperature": 1}), ["config/temperature"]),
    "labels": Case(
        request(), request(config={"labels": {"a": "b"}, "httpOptions": {"timeout": 1}})
    ),
    "a drawn id": Case(request(contents=[called("adk-1")]), request(contents=[called("adk-2")])),
    "an id of the model": Case(
        request(contents=[called("c-1")]), request(contents=[called("c-2")]), ["contents/0"]
    ),
    "the order of tools": Case(
        request(tools=[{"functionDeclarations": [ONE, TWO]}]),
        request(tools=[{"functionDeclarations": [TWO]}, {"functionDeclarations": [ONE]}]),
    ),
    "a description": Case(
        request(tools=[{"functionDeclarations": [ONE]}]),
        request(tools=[{"functionDeclarations": [ONE | {"description": "2"}]}]),
        ["tools/one"],
    ),
    "a tool of the model": Case(
        request(), request(tools=[{"googleSearch": {}}]), ["tools/googleSearch"]
    ),
    "what ADK adds": Case(request(contents=[text("hi"), text(ADDED)]), request()),
    "a message more": Case(request(), request(contents=[text("hi"), text("ho")]), ["contents/1"]),
    "a message of another": Case(
        request(), request(contents=[text("hi", "model")]), ["contents/0"]
    ),
    "a secret": Case(request("Key: [redacted], so."), request("Key: abc, so.")),
    "more than a secret": Case(
        request("Key: [redacted], so."), request("Key: abc."), ["instruction"]
    ),
    "a clock": Case(request("It is 10:30."), request("It is 11:45."), [], ["clock"]),
    "a clock and a word": Case(
        request("It is 10:30."), request("It was 11:45."), ["instruction"], ["clock"]
    ),
    "a content that was not kept": Case(request(contents=[None]), request(), ["contents/0"]),
    "a cache": Case(
        {"config": {"cachedContent": "c/1"}, "contents": [text("b")], "tools": []},
        request(contents=[text("a"), text("b")], tools=[{"functionDeclarations": [ONE]}]),
    ),
    "a cache and another message": Case(
        {"config": {"cachedContent": "c/1"}, "contents": [text("b")], "tools": []},
        request(contents=[text("a"), text("c")]),
        ["contents/1"],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_differs(case: Case) -> None:
    """Each part by its name."""
    before, after = ComparedRequest.read(case.before, "m"), ComparedRequest.read(case.after, "m")
    rules = Rules(case.rules)
    assert [part.part for part in before.differing(after, rules)] == list(case.parts)
    assert before.is_same(after, rules) == (not case.parts)


CAUSES = {
    "a date": ("On 2026-01-02T03:04:05Z.", "On 2027-01-02T03:04:06Z.", "clock"),
    "a time and a random id": ("At 9:05, a0123456789b.", "At 9:06, b0123456789a.", "clock hex"),
    "a time": ("At 9:05 PM.", "At 10:06 AM.", "clock"),
    "a uuid": (
        "Id 123e4567-e89b-12d3-a456-426614174000.",
        "Id 923e4567-e89b-12d3-a456-426614174fff.",
        "uuid",
    ),
    "a random id": ("Id 0123456789abcdef.", "Id fedcba9876543210.", "hex"),
    "a number": ("You have 3 orders.", "You have 14 orders.", "number"),
    "words": ("Be kind.", "Be rude.", ""),
    "a date and words": ("On 2026-01-02, be kind.", "On 2026-01-03, be rude.", ""),
    "nothing before": ("", "At 9:05.", ""),
}


@pytest.mark.parametrize(("before", "after", "rule"), CAUSES.values(), ids=CAUSES)
def test_the_cause_is_pointed_out(before: str, after: str, rule: str) -> None:
    """Only if leaving it out would make the requests the same."""
    found, sentence = find_cause([ChangedPart("instruction", before, after)])
    assert " ".join(found) == rule
    assert bool(sentence) == bool(rule)
    if rule:
        words = " ".join(f"--ignore {each}" for each in found)
        assert sentence.endswith(f"out: {words}.")


def test_a_long_part_is_shown_around_its_first_difference() -> None:
    """Bounded, with both sides at the same place."""
    same = "word " * 20_000
    shown = ChangedPart("instruction", f"{same}old", f"{same}new").shown()
    assert len(shown.before) <= LONGEST_SHOWN + 1
    assert shown.before.endswith("old")
    assert shown.after.endswith("new")
    lines = ChangedPart("contents/0", "a\n" * 500, "b\n" * 500).lines()
    assert lines[-1].startswith("  … and ")
    assert len(lines) == 41


@pytest.mark.parametrize(
    "rules", [["("], [""], ["x" * (LONGEST_RULE + 1)], ["a"] * (MOST_RULES + 1)]
)
def test_rules_that_cannot_be_used_are_refused(rules: list[str]) -> None:
    """Before anything is run."""
    with pytest.raises(UsageError):
        Rules(rules)
