"""The graph as it ran: who led to whom, how often, and which state keys went along."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.features.page.entries import Log
from tests.recordings.library import load

from adk_prism.features.page.film import fold
from adk_prism.features.page.graph import END, START
from adk_prism.log.entry import NodeStarted

Passage = tuple[str, str, str]


def graph(log: Log, cursor: int | None = None) -> dict[str, Any]:
    shown: dict[str, Any] = fold(log.entries).at(cursor, "graph")["graph"]
    return shown


def passages(edges: list[dict[str, Any]]) -> list[Passage]:
    return [(edge["from"], edge["to"], edge["kind"]) for edge in edges]


def sequence(log: Log) -> None:
    for node in "abc":
        log.start(node)
        log.end(node)
    log.over()


def parallel_and_join(log: Log) -> None:
    for node in "abc":
        log.start(node)
    for node in "cab":
        log.end(node)
    log.start("join", kind="join")
    log.end("join")
    log.over()


def two_after_two(log: Log) -> None:
    log.start("a")
    log.start("b")
    log.end("a")
    log.end("b")
    log.start("c")
    log.start("d")
    log.over("failed")


def one_goes_on_while_the_other_runs(log: Log) -> None:
    log.start("slow")
    log.start("quick")
    log.end("quick")
    log.start("next")
    log.end("slow")
    log.end("next")
    log.start("last")


def inside_a_workflow(log: Log) -> None:
    log.start("flow", kind="workflow")
    log.start("a", "flow")
    log.end("a")
    log.start("b", "flow")
    log.end("b")
    log.end("flow")
    log.over()


def tools(log: Log) -> None:
    log.start("agent")
    log.start("look", "agent", "tool")
    log.end("look")
    log.end("agent")
    log.over()


def an_agent_behind_a_tool(log: Log) -> None:
    log.start("boss")
    log.start("helper1", "boss", "tool")
    log.start("helper2", "helper1")
    log.start("look", "helper2", "tool")
    log.end("look")
    log.end("helper2")
    log.end("helper1")
    log.end("boss")
    log.over()


@dataclass(frozen=True)
class Case:
    play: Callable[[Log], None]
    expected: list[Passage]


CASES = [
    Case(
        sequence,
        [
            (START, "a", "sequence"),
            ("a", "b", "sequence"),
            ("b", "c", "sequence"),
            ("c", END, "sequence"),
        ],
    ),
    Case(
        parallel_and_join,
        [
            *((START, node, "sequence") for node in "abc"),
            *((node, "join", "sequence") for node in "cab"),
            ("join", END, "sequence"),
        ],
    ),
    Case(
        two_after_two,
        [
            (START, "a", "sequence"),
            (START, "b", "sequence"),
            ("a", "c", "sequence"),
            ("b", "c", "sequence"),
            ("a", "d", "sequence"),
            ("b", "d", "sequence"),
        ],
    ),
    Case(
        one_goes_on_while_the_other_runs,
        [
            (START, "slow", "sequence"),
            (START, "quick", "sequence"),
            ("quick", "next", "sequence"),
            ("slow", "last", "sequence"),
            ("next", "last", "sequence"),
        ],
    ),
    Case(
        inside_a_workflow,
        [
            (START, "flow", "sequence"),
            ("flow", "a", "delegation"),
            ("a", "b", "sequence"),
            ("flow", END, "sequence"),
        ],
    ),
    Case(
        tools,
        [
            (START, "agent", "sequence"),
            ("agent", "look", "tool"),
            ("agent", END, "sequence"),
        ],
    ),
    Case(
        an_agent_behind_a_tool,
        [
            (START, "boss", "sequence"),
            ("boss", "helper2", "delegation"),
            ("helper2", "look", "tool"),
            ("boss", END, "sequence"),
        ],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.play.__name__)
def test_passages_are_read_from_what_ran(case: Case) -> None:
    """Siblings that had finished lead on; what begins inside is delegated; a tool hangs on its agent."""
    log = Log()
    case.play(log)
    assert passages(graph(log)["asItRan"]) == case.expected


def test_a_loop_is_one_edge_with_a_count() -> None:
    """Summed up by name; as it ran, every round is its own."""
    log = Log()
    for round_ in range(1, 4):
        for name in ("writer", "critic"):
            log.start(f"{name}{round_}", iteration=round_)
            log.end(f"{name}{round_}", "finished" if round_ < 3 else "failed")
    log.over("failed")
    shown = graph(log)
    assert [
        (*passage, edge["count"])
        for passage, edge in zip(passages(shown["edges"]), shown["edges"], strict=True)
    ] == [
        (START, "writer", "sequence", 1),
        ("writer", "critic", "sequence", 3),
        ("critic", "writer", "sequence", 2),
    ]
    assert len(shown["asItRan"]) == 6
    assert shown["nodes"] == [
        {
            "id": name,
            "kind": "agent",
            "runs": 3,
            "failures": 1,
            "duration": 1.5,
            "status": "failed",
        }
        for name in ("writer", "critic")
    ]


def test_an_edge_carries_the_keys_that_its_node_left_behind() -> None:
    """Seen at run time; what a later node writes or removes is not on an earlier edge.

    The end gets what the run added or changed, not what was there before.
    """
    log = Log(topic="x", place="y")
    log.start("a")
    log.event("a", delta={"plan": 1})
    log.end("a")
    log.start("b")
    log.end("b", state={"draft": 2}, gone=["topic"])
    log.start("c")
    log.end("c")
    log.over()
    carried = {(e["from"], e["to"]): e["keys"] for e in graph(log)["asItRan"]}
    assert carried == {
        (START, "a"): [],
        ("a", "b"): ["topic", "place", "plan"],
        ("b", "c"): ["place", "plan", "draft"],
        ("c", END): ["plan", "draft"],
    }
    assert [edge["keys"] for edge in graph(log)["edges"]] == list(carried.values())


def test_the_graph_grows_with_the_playhead() -> None:
    """A node that has not begun is not there; one that has not ended is running and leads nowhere."""
    log = Log()
    sequence(log)
    assert graph(log, 1) == {"nodes": [], "edges": [], "asItRan": []}
    assert [(n["id"], n["status"]) for n in graph(log, 4)["nodes"]] == [
        ("a", "finished"),
        ("b", "running"),
    ]
    assert passages(graph(log, 4)["asItRan"]) == CASES[0].expected[:2]
    assert passages(graph(log, 7)["asItRan"]) == CASES[0].expected[:3]


def test_an_agent_is_shown_as_a_tool_only_until_it_begins() -> None:
    """A tool that runs an agent is no node of its own once that is known, and is not counted twice."""
    log = Log()
    an_agent_behind_a_tool(log)
    assert [(n["id"], n["kind"]) for n in graph(log, 3)["nodes"]] == [
        ("boss", "agent"),
        ("helper", "tool"),
    ]
    assert [(n["id"], n["kind"], n["runs"]) for n in graph(log)["nodes"]] == [
        ("boss", "agent", 1),
        ("helper", "agent", 1),
        ("look", "tool", 1),
    ]


def test_who_is_handed_over_to_stands_in_the_place_of_the_other() -> None:
    """ADK puts it below the agent that handed over, which has ended; the last of them leads to the end."""
    log = Log()
    log.start("top")
    log.end("top", state={"asked": 1})
    log.start("mid", "top")
    log.start("look", "mid", kind="tool")
    log.end("look")
    log.end("mid")
    last = log.start("leaf", "mid")
    assert passages(graph(log)["asItRan"])[-1] == ("mid", "leaf", "transfer")
    log.end("leaf", state={"found": 2})
    log.over()
    shown = graph(log)
    assert passages(shown["asItRan"]) == [
        (START, "top", "sequence"),
        ("top", "mid", "transfer"),
        ("mid", "look", "tool"),
        ("mid", "leaf", "transfer"),
        ("leaf", END, "sequence"),
    ]
    assert [edge["keys"] for edge in shown["edges"]] == [
        [],
        ["asked"],
        [],
        ["asked"],
        ["asked", "found"],
    ]
    assert passages(graph(log, last)["asItRan"]) == passages(shown["asItRan"])[:-1]


Carried = dict[tuple[str, str], list[str]]
FLOWS: tuple[tuple[str, Carried], ...] = (
    ("tool", {("tour", "get_weather"): ["city", "sky", "celsius", "synthetic"]}),
    ("agent_tool", {("tour", "translator"): ["request", "result"]}),
    (
        "parallel_specialists",
        {
            ("tour", "weather_specialist"): ["request", "result"],
            ("tour", "food_specialist"): ["request", "result"],
            ("tour", "budget_specialist"): ["request", "result"],
            ("weather_specialist", "get_weather"): ["city", "sky", "celsius", "synthetic"],
        },
    ),
    ("x_failed_sub_agent", {("parent", "child"): ["request", "result"]}),
)


@pytest.mark.parametrize(("recording", "carried"), FLOWS, ids=lambda case: str(case)[:20])
def test_the_edge_of_a_call_carries_its_arguments_and_its_result(
    recording: str, carried: Carried
) -> None:
    """Of tools, of agents behind tools and of called agents; in the sum and as it ran."""
    shown = fold(load(recording)).at(None, "graph")["graph"]
    kinds = ("tool", "delegation")
    edges = [edge for edge in shown["edges"] if edge["kind"] in kinds and edge["keys"]]
    assert {(edge["from"], edge["to"]): edge["keys"] for edge in edges} == carried
    ran = [edge["keys"] for edge in shown["asItRan"] if edge["kind"] in kinds and edge["keys"]]
    assert ran == list(carried.values())


def test_a_result_is_carried_from_where_it_was_given() -> None:
    """Before, the edge has the arguments alone."""
    entries = load("tool")
    film = fold(entries)
    began = next(e.cursor for e in entries if isinstance(e.record, NodeStarted) and e.record.call)
    before = film.at(began, "graph")["graph"]
    assert [e["keys"] for e in before["asItRan"] if e["kind"] == "tool"] == [["city"]]
    assert [e["keys"] for e in before["edges"] if e["kind"] == "tool"] == [["city"]]
