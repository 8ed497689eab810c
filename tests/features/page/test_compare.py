"""Two runs compared: what counts as a difference, what does not, and which steps belong together."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from tests.features.page.entries import Log
from tests.recordings.library import CAPTURES, RECORDINGS, load

from adk_prism.features.compare.comparison import Comparison, Row, compare
from adk_prism.features.page.outline import ModelRequest, Outline, outline
from adk_prism.log.entry import Entry, pack, unpack

_DRAWN = re.compile(rb"(?<=adk-)[0-9a-f]{8}(?=-)|(?<=run-)[0-9a-f]{8}|(?<=\"e-)[0-9a-f]{8}(?=-)")

Build = Callable[[Log], None]


def of(a: Sequence[Entry], b: Sequence[Entry]) -> Comparison:
    return compare(outline(a), outline(b))


def made(build: Build, **state: Any) -> Sequence[Entry]:
    """Return a run of an agent that does something."""
    log = Log("hello", **state)
    log.start("a1")
    build(log)
    log.end("a1")
    log.over()
    return log.entries


def call(log: Log, call: str, name: str = "search", parent: str = "a1", **more: Any) -> None:
    """Let the agent call a tool, and the tool answer."""
    given, got = more.get("given", {"q": 1}), more.get("got", {"found": 1})
    log.event("a", parts=[{"functionCall": {"id": call, "name": name, "args": given}}])
    log.start(f"{call}-{name}", parent, "tool", call=call)
    log.end(f"{call}-{name}")
    log.event("a", parts=[{"functionResponse": {"id": call, "name": name, "response": got}}])


def shown(compared: Comparison) -> list[str]:
    """Return the rows that are not the same, in short."""
    return [brief(row) for row in compared.steps if row.change != "same"]


def brief(row: Row) -> str:
    return " ".join([row.change, row.name, *row.differs])


def again(entries: Sequence[Entry]) -> list[Entry]:
    """Return the same run as it would be recorded a second time: other ids, other times."""
    renamed = []
    for entry in entries:
        kind, payload = pack(entry.record)
        payload = _DRAWN.sub(lambda found: found[0][::-1], payload)
        renamed.append(Entry(entry.cursor, entry.time * 1.5 + 100, unpack(kind, payload)))
    return renamed


@pytest.mark.parametrize("name", [*RECORDINGS, *CAPTURES])
def test_a_run_equals_itself_with_other_ids_and_times(name: str) -> None:
    """Whatever it contains; and every step is matched with itself."""
    compared = of(load(name), again(load(name)))
    assert compared.differs == []
    assert compared.same
    assert shown(compared) == []
    assert all(row.a and row.b and row.a.cursor == row.b.cursor for row in compared.steps)


def test_the_order_of_what_ran_side_by_side_does_not_count() -> None:
    """Of parallel agents, and of calls that were made at once."""

    def parallel(*order: str) -> Build:
        def build(log: Log) -> None:
            for name in order:
                log.start(name, "a1", branch=f"a.{name}", path=f"a/{name}")
            for name in reversed(order):
                log.event(
                    name,
                    text=f"{name} says so.",
                    branch=f"a.{name}",
                    nodeInfo={"path": f"a/{name}"},
                )
                log.end(name)
            parts = [
                {"functionCall": {"id": f"c-{name}", "name": "look", "args": {"for": name}}}
                for name in order
            ]
            log.event("a", parts=parts)

        return build

    compared = of(made(parallel("x", "y", "z")), made(parallel("z", "x", "y")))
    assert compared.same
    assert shown(compared) == []


def test_the_order_of_what_ran_one_after_the_other_counts() -> None:
    """As few steps as can be are said to have moved."""

    def calls(*order: int) -> Build:
        def made_calls(log: Log) -> None:
            for q in order:
                call(log, f"c{q}", given={"q": q})

        return made_calls

    compared = of(made(calls(1, 2, 3, 4, 5)), made(calls(1, 5, 2, 3, 4)))
    assert shown(compared) == ["moved search"]
    assert compared.differs == ["tools"]


def test_of_repeated_calls_the_missing_one_is_found() -> None:
    """Not all that came after it; equal calls are matched in their order."""

    def calls(*numbers: int) -> Build:
        def made_calls(log: Log) -> None:
            for place, number in enumerate(numbers):
                call(log, f"id{place}", given={"q": number}, got={"found": number})

        return made_calls

    compared = of(made(calls(1, 2, 2, 3, 4, 2)), made(calls(1, 2, 2, 4, 2)))
    assert shown(compared) == ["removed search"]
    (gone,) = (row for row in compared.steps if row.change == "removed")
    assert gone.a is not None
    assert gone.a.input == {"q": 3}


def test_an_extra_agent_is_all_that_is_added() -> None:
    """With what is in it, at its place in the order."""

    def build(*names: str) -> Build:
        def agents(log: Log) -> None:
            for name in names:
                log.start(f"{name}1", "a1")
                call(log, f"c-{name}", parent=f"{name}1")
                log.end(f"{name}1")

        return agents

    compared = of(made(build("first", "last")), made(build("first", "extra", "last")))
    names = [(row.depth, row.name, row.change) for row in compared.steps if row.kind != "tool"]
    assert names == [
        (0, "a", "same"),
        (1, "first", "same"),
        (1, "extra", "added"),
        (1, "last", "same"),
    ]
    assert compared.differs == ["tools", "nodes"]


def test_a_renamed_agent_is_the_same_agent() -> None:
    """Whether its contents are the same or not, as long as no other can be meant."""

    def build(name: str, got: int) -> Build:
        def agents(log: Log) -> None:
            log.start(f"{name}1", "a1", path=f"a/{name}")
            log.event(name, text=f"It is {got}.", nodeInfo={"path": f"a/{name}"})
            log.end(f"{name}1")

        return agents

    assert shown(of(made(build("old", 1)), made(build("new", 1)))) == ["changed old name"]
    assert shown(of(made(build("old", 1)), made(build("new", 2)))) == ["changed old name text"]


@pytest.mark.parametrize(
    ("change", "differs", "rows"),
    [
        ({"given": {"q": 2}}, ["tools"], ["changed search input"]),
        ({"got": {"found": 2}}, ["results"], ["changed search output"]),
        ({"got": {"error": "no"}}, ["tools", "results"], ["changed search status output"]),
        ({"name": "find"}, ["tools"], ["changed search name"]),
        (
            {"name": "find", "given": {"q": 2}},
            ["tools"],
            ["removed search", "added find"],
        ),
    ],
)
def test_a_call_differs_in_what_it_was_given_and_gave(
    change: dict[str, Any], differs: list[str], rows: list[str]
) -> None:
    """Tools: name, arguments, how it ended. What it returned is a difference of its own."""
    compared = of(made(lambda log: call(log, "c1")), made(lambda log: call(log, "c9", **change)))
    assert compared.differs == differs
    assert sorted(shown(compared)) == sorted(rows)


def test_answer_state_and_outcome_are_told_apart() -> None:
    """Each by itself; the state with the keys that differ, `temp:` apart."""

    def says(text: str, **delta: Any) -> Build:
        def said(log: Log) -> None:
            log.event("a", text=text, delta=delta)

        return said

    base = made(says("Yes.", kept=1, changed=1, **{"temp:x": 1}), removed=1)
    assert of(base, made(says("No.", kept=1, changed=1), removed=1)).differs == ["answer"]
    other = of(base, made(says("Yes.", kept=1, changed=2, added=1)))
    assert other.differs == ["state"]
    assert {row.key: row.change for row in other.state} == {
        "removed": "removed",
        "changed": "changed",
        "added": "added",
    }
    assert other.answer == {"same": True, "a": "Yes.", "b": "Yes."}
    failed = list(base[:-1])
    log = Log()
    log.entries = failed
    log.over("failed", code="Oops")
    assert of(base, log.entries).differs == ["outcome"]


def test_ids_inside_values_are_no_difference() -> None:
    """A result that names its call, and a state that keeps it."""

    def build(name: str) -> Build:
        def calls(log: Log) -> None:
            call(log, name, got={"receipt": name, "for": ["x", name]})
            log.event("a", delta={"last": {"call": name}})

        return calls

    assert of(made(build("call-one")), made(build("call-another"))).same
    assert not of(made(build("call-one")), made(lambda log: call(log, "call-another"))).same


@pytest.mark.parametrize("deep", [True, False])
def test_large_runs_are_compared(deep: bool) -> None:
    """Nested deeper than Python's stack, or wide; also one that is cut off, and one with nothing."""
    log = Log("hello")
    for index in range(3000):
        log.start(f"n{index}", f"n{index - 1}" if deep and index else "")
    compared = of(log.entries, log.entries[:-1])
    assert shown(compared) == ["removed n"]
    assert msgspec.json.encode(compared)
    assert of(log.entries[:1], log.entries[:1]).same
    assert not of([], log.entries).same


def test_requests_to_models_are_compared_where_both_runs_have_them() -> None:
    """By model, instruction, tools and config: the first two that differ are shown, and nothing else is."""

    def asking(model: str = "m", is_kept: bool = True, **parts: Any) -> Outline:
        log = Log("hello")
        log.start("a1")
        cursors = [log.called("a", "a1") for _ in range(2)]
        log.event("a", text="Yes.")
        log.end("a1")
        log.over()
        written = {name: msgspec.json.encode(value) for name, value in parts.items()}
        request = ModelRequest(model=model, is_kept=is_kept, **written)
        same = ModelRequest(model=model, is_kept=is_kept)
        return outline(log.entries, dict(zip(cursors, [same, request], strict=True)))

    base = asking(instruction="Be brief.", tools=[{"name": "look"}])
    assert compare(base, asking(instruction="Be brief.", tools=[{"name": "look"}])).same
    other = compare(base, asking("n", instruction="Be long.", tools=[{"name": "look"}]))
    assert other.differs == ["requests"]
    assert shown(other) == ["changed a model"]
    other = compare(base, asking(instruction="Be long.", tools=[{"name": "look"}]))
    assert shown(other) == ["changed a model's instruction"]
    (row,) = (row for row in other.steps if row.request)
    assert row.request == {"a": {"instruction": "Be brief."}, "b": {"instruction": "Be long."}}
    assert compare(base, asking(is_kept=False)).same, "what one run did not keep is no difference"
