"""The state at any point is what its changes add up to, and costs what they cost."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from adk_prism.facts.model import (
    Interrupted,
    NodeBegan,
    NodeFinished,
    RunBegan,
    Speaker,
    StateChanged,
)
from adk_prism.facts.state import DEPTH, StateFold, cut_value
from adk_prism.log.entry import Origin

SPEAKER = Speaker("a", "a@1", "")


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def raws(**values: Any) -> dict[str, Raw]:
    return {key: raw(value) for key, value in values.items()}


def read(value: Raw) -> Any:
    return json.loads(bytes(value))


def test_a_state_is_the_fold_of_a_runs_facts() -> None:
    fold = StateFold()
    origin = Origin(app="a", user="u", session="s")
    assert fold.feed(RunBegan("r", origin, [], raws(old=1, both=[1])))
    assert fold.feed(StateChanged(raws(new={"a": None}, both=[2]), SPEAKER))
    assert fold.feed(
        NodeBegan("n1", "x", "tool", "", "", "", "", 1, raws(seen=True), ["old"], False)
    )
    assert fold.feed(NodeFinished("n1", "finished", "", {}, ["seen", "unknown"], False))
    assert not fold.feed(Interrupted(SPEAKER))
    assert read(fold.snapshot()) == {"both": [2], "new": {"a": None}}
    assert dict(fold) == {"both": raw([2]), "new": raw({"a": None})}


def test_a_run_begins_with_its_own_state() -> None:
    """A fold that is used again forgets what the run before it left."""
    fold = StateFold(raws(left="over"))
    fold.feed(RunBegan("r", Origin(app="a", user="u", session="s"), [], raws(new=1)))
    assert read(fold.snapshot()) == {"new": 1}


def test_a_snapshot_is_the_same_object_until_something_changes() -> None:
    fold = StateFold(raws(a=1))
    first, glance = fold.snapshot(), fold.cut()
    fold.feed(Interrupted(SPEAKER))
    fold.change({}, ["missing"])
    assert fold.snapshot() is first
    assert fold.cut() is glance
    fold.change(raws(a=2))
    assert read(fold.snapshot()) == read(fold.cut()) == {"a": 2}


def test_a_difference_leads_from_one_state_to_another() -> None:
    fold = StateFold(raws(same=1, other={"x": 1}, gone=0))
    difference = fold.difference(raws(same=1, other={"x": 2}, new=3))
    assert difference == (raws(other={"x": 2}, new=3), ["gone"])
    fold.change(*difference)
    assert read(fold.snapshot()) == {"same": 1, "other": {"x": 2}, "new": 3}
    assert fold.difference(dict(fold)) == ({}, [])


# --------------------------------------------------------------------------- cutting


class Case(NamedTuple):
    id: str
    value: Any
    shown: Any


CASES = [
    Case("flat values stay", ["a", 1, None, True, 1.5], ["a", 1, None, True, 1.5]),
    Case("two levels below the state stay", {"a": {"b": [1]}}, {"a": {"b": "[… 1 item]"}}),
    Case("an object is counted", {"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": "{… 2 keys}"}}),
    Case("a list is counted", {"a": [[1, 2, 3]]}, {"a": ["[… 3 items]"]}),
    Case("empty ones stay", {"a": {"b": {}, "c": []}}, {"a": {"b": {}, "c": []}}),
    Case("one key", {"a": {"b": {"c": {"d": 1}}}}, {"a": {"b": "{… 1 key}"}}),
    Case("brackets in texts are texts", {"a": "[[[[{{{{"}, {"a": "[[[[{{{{"}),
    Case("mixed", [{"a": 1, "b": [1, [2]]}], [{"a": 1, "b": "[… 2 items]"}]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_glance_ends_at_three_levels(case: Case) -> None:
    """The state is the first level, what a key holds the second; a marker says what is missing."""
    fold = StateFold({"key": raw(case.value)})
    assert read(fold.cut()) == {"key": case.shown}
    assert read(fold.snapshot()) == {"key": case.value}


def test_a_value_is_cut_at_any_depth() -> None:
    """A marker says what is missing; an empty list is nothing to cut."""
    value = b'{"b":{"c":{"d":1}}}'
    assert json.loads(cut_value(value, 0)) == "{… 1 key}"
    assert json.loads(cut_value(value, 1)) == {"b": "{… 1 key}"}
    assert json.loads(cut_value(value, 8)) == {"b": {"c": {"d": 1}}}
    assert json.loads(cut_value(b"[[]]", 0)) == "[… 1 item]"
    assert json.loads(cut_value(b"[[]]", 1)) == [[]]


def test_a_glance_follows_changes() -> None:
    """Also where a key goes, or comes back."""
    fold = StateFold(raws(a={"b": {"c": {"d": 1}}}, n=1))
    assert read(fold.cut()) == {"a": {"b": {"c": "{… 1 key}"}}, "n": 1}
    fold.change(raws(a=2), ["n"])
    assert read(fold.cut()) == {"a": 2}
    fold.change(raws(n=3))
    assert read(fold.cut()) == {"a": 2, "n": 3}


def test_a_value_that_readers_refuse_is_repaired_or_shown_as_text() -> None:
    assert json.loads(cut_value(rb'{"\ud800":{"a":{"b":[1]}}}', 2)) == {
        "\ufffd": {"a": "{… 1 key}"}
    }
    assert json.loads(cut_value(b"[[[not json", 2)) == "[[[not json"


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=20,
)


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0


@given(st.lists(st.tuples(st.sampled_from("abcd"), _json | st.just(...)), max_size=20))
def test_every_fold_equals_a_plain_dictionary(changes: list[tuple[str, Any]]) -> None:
    """Whatever is set and taken away, in whatever order it is looked at."""
    fold, plain = StateFold(), {}
    for key, value in changes:
        if value is ...:
            fold.change({}, [key])
            plain.pop(key, None)
        else:
            fold.change({key: raw(value)})
            plain[key] = value
        assert read(fold.snapshot()) == plain
        # An empty object or list is shown even where another one would be cut.
        assert _depth(read(fold.cut())) <= DEPTH + 1
    if _depth(plain) <= DEPTH:
        assert read(fold.cut()) == plain


def test_a_change_costs_what_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many keys there are besides: only the one that changed is cut again."""
    values = {f"k{number}": raw({"value": list(range(50))}) for number in range(2_000)}
    fold = StateFold(values)
    fold.cut()
    cut: list[bytes] = []

    def counting(value: bytes, depth: int) -> bytes:
        cut.append(value)
        return cut_value(value, depth)

    monkeypatch.setattr("adk_prism.facts.state.cut_value", counting)
    for number in range(100):
        fold.change(raws(k0=number))
        fold.cut()
        fold.cut()
    assert cut == [str(number).encode() for number in range(100)]
    assert read(fold.cut())["k0"] == 99
