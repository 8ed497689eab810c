"""The laws hold for runs made at random, with nodes that start and end as no app would let them."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.protocols.studio.logs import begins, child, ended, ends, event, log, started
from tests.slow import examples

from adk_prism.log.entry import Agent, Entry, Record
from adk_prism.protocols.registry import protocol
from adk_prism.testing.laws import check_laws

NODES = st.sampled_from(["1", "2", "3", "4"])
NAMES = st.sampled_from(["root", "left", "right", "__START__"])
KINDS = st.sampled_from(["agent", "tool", "workflow", "function", "join", "node"])
STATUSES = st.sampled_from(["finished", "failed", "cancelled", "waiting"])
KEYS = st.sampled_from(["a", "b", "user:c", "__proto__", "ü\n"])
VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
STATES = st.dictionaries(KEYS, VALUES, max_size=3)
GONE = st.lists(KEYS, max_size=2)
AGENTS = [Agent(name="root", model="m", tools=1), Agent(name="left", model="m")]


def _parts(number: int) -> list[dict[str, Any]]:
    call = {"id": f"c{number % 3}", "name": "look"}
    return [
        {"text": f"word {number} "},
        {"text": "hm", "thought": True},
        {"functionCall": {**call, "args": {"n": number}}},
        {"functionResponse": {**call, "response": {"result": number}}},
        {"executableCode": {"code": "1", "language": "PYTHON"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
    ]


@st.composite
def records(draw: st.DrawFn) -> Record:
    """One record, whatever came before."""
    kind = draw(st.sampled_from(["begins", "ends", "event", "event", "child"]))
    if kind == "begins":
        about = {"parent": draw(NODES), "gone": draw(GONE), "iteration": draw(st.integers(1, 3))}
        return begins(draw(NODES), draw(NAMES), draw(KINDS), draw(STATES), **about)
    if kind == "ends":
        return ends(draw(NODES), draw(STATUSES), draw(STATES), gone=draw(GONE))
    part = draw(st.sampled_from(_parts(draw(st.integers(0, 5)))))
    if kind == "child":
        return child(draw(st.sampled_from(["c0", "c1"])), part, author="left")
    who = draw(NAMES)
    return event(part, author=who, branch=who, delta=draw(STATES), partial=draw(st.booleans()))


@st.composite
def runs(draw: st.DrawFn) -> list[Entry]:
    """A run of any records between its start and its end, which may not be there."""
    found: list[Record] = [started(draw(STATES), AGENTS), *draw(st.lists(records(), max_size=20))]
    if draw(st.booleans()):
        found.append(ended(draw(STATUSES)))
    return log(*found)


@settings(
    max_examples=examples(120),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(runs())
def test_the_laws_hold_for_any_nodes(run: list[Entry]) -> None:
    """Doubled, unknown, crossed and never ended nodes included."""
    assert check_laws(run, [protocol("studio").format()]) == []
