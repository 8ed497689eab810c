"""Two runs side by side, aligned by structure: what is the same, what differs, what only one has.

Steps are matched among those of one parent: first those that are equal with all that is in them, then calls
with the same arguments, then those of the same name in their order, then what was only renamed. Every pass
looks steps up by a digest, so that the time grows with the number of steps and not with its square.

What is drawn anew for each run does not count: ids of runs, sessions and calls, times, and the order of
steps that ran side by side. Tokens and times are shown, but are no difference. Thoughts are not compared.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from hashlib import blake2b
from typing import Any, Literal, get_args

import msgspec
from msgspec import UNSET, Struct, UnsetType

from adk_prism.facts.state import read_value
from adk_prism.features.model_calls.calls import ModelRequest
from adk_prism.features.page.outline import Outline, Step
from adk_prism.features.usage.usage import said_costs, total_cost

Change = Literal["same", "changed", "moved", "added", "removed"]
"""Of a step from run `a` to run `b`. Moved: the same, at another place in the order."""

Aspect = Literal["answer", "tools", "results", "nodes", "requests", "state", "outcome"]
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
"""What can differ: what was said; calls, their arguments and how they ended; their results; agents and other
nodes; with which model, instruction, tools and config models were asked; the state at the end; how the run
ended."""

_REQUESTED = ("instruction", "tools", "config")
REQUEST_PARTS = {"model": "model", **{part: f"model's {part}" for part in _REQUESTED}}
"""Parts of a request to a model, and what a difference in them is called."""

_UNSEEN = ("labels", "httpOptions")
"""Parts of a config that a model does not see: bills and connections."""

_STRING = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_DRAWN = re.compile(rb"adk-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
"""Call ids as ADK draws them, also inside other names."""
_ID = b'"<id>"'
_SHORTEST_ID = 6
"""Characters of an id that is looked for inside values: shorter ones are words, too."""


class Side(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step as one of the runs has it."""

    name: str
    cursor: int
    """Where it starts."""
    node: str = ""
    call: str = ""
    status: str
    error: str = ""
    text: str = ""
    input: Any = None
    output: Any = None
    start: float
    seconds: float
    tokens: dict[str, int] = {}
    cost: float | UnsetType | None = UNSET
    """Absent without prices; null: one is missing."""


class Row(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step of either run, or of both."""

    depth: int
    kind: str
    name: str
    change: Change
    differs: list[str] = []
    """Of a changed step: name, status, input, output, text, order; model, model's instruction, model's
    tools, model's config."""
    request: dict[str, dict[str, Any]] = {}
    """If requests to models differ: the parts that do, of the first two requests that differ, by run."""
    a: Side | None = None
    b: Side | None = None


class KeyRow(Struct, frozen=True, kw_only=True):
    """A key of the state that differs."""

    key: str
    change: Change
    a: Any = None
    b: Any = None


class Comparison(Struct, frozen=True, kw_only=True):
    """Two runs."""

    same: bool
    differs: list[Aspect]
    a: dict[str, Any]
    b: dict[str, Any]
    answer: dict[str, Any]
    steps: list[Row]
    """In the order of a walk through the tree: a step, then what is in it, one deeper."""
    state: list[KeyRow]


def compare(a: Outline, b: Outline) -> Comparison:
    """Compare two runs."""
    # A run that was run again also has ids of the recorded one, in what its tools gave.
    ids = {*a.ids, *b.ids}
    ours, theirs = _Marked(a, ids), _Marked(b, ids)
    rows, state = _rows(ours, theirs), _state(ours, theirs)
    found = {
        "answer": Counter(_said(a)) != Counter(_said(b)),
        "tools": any(
            r.kind == "tool" and (_is_other_node(r) or "input" in r.differs) for r in rows
        ),
        "results": any("output" in row.differs for row in rows),
        "nodes": any(row.kind != "tool" and _is_other_node(row) for row in rows),
        "requests": any(row.request for row in rows),
        "state": bool(state),
        "outcome": (a.outcome, a.code) != (b.outcome, b.code),
    }
    differs = [aspect for aspect in ASPECTS if found[aspect]]
    return Comparison(
        same=not differs,
        differs=differs,
        a=_about(a),
        b=_about(b),
        answer={
            "same": not found["answer"],
            "a": "\n\n".join(_said(a)),
            "b": "\n\n".join(_said(b)),
        },
        steps=rows,
        state=state,
    )


def _is_other_node(row: Row) -> bool:
    lone = row.change in ("added", "removed", "moved")
    return lone or not {"name", "status", "order"}.isdisjoint(row.differs)


_ABOUT = "run app session message outcome code started seconds entries tokens".split()
_OF_STEP = "name node call status error text input output start seconds tokens".split()
"""What is shown of a run and of a step as it is."""


def _about(run: Outline) -> dict[str, Any]:
    return {
        **{name: getattr(run, name) for name in _ABOUT},
        "modelCalls": run.model_calls,
        "failures": run.failures,
        **({"cost": total_cost(costs)} if (costs := said_costs(run.costs)) else {}),
    }


def _said(run: Outline) -> list[str]:
    """Return what each node said to the user."""
    return [step.text for step in _walk(run.steps) if step.is_said and step.text]


def _walk(steps: Sequence[Step]) -> Iterable[Step]:
    waiting = list(reversed(steps))
    while waiting:
        step = waiting.pop()
        yield step
        waiting.extend(reversed(step.steps))


# ---------------------------------------------------------------------- what makes steps alike


class _Marks(Struct, frozen=True):
    """Digests of one step."""

    input: bytes
    output: bytes
    asked: bytes
    """Of its kind, name and arguments."""
    content: bytes
    """Of all in it but its name."""
    whole: bytes
    """Of all in it."""


class _Marked:
    """A run with the digests of its steps."""

    def __init__(self, run: Outline, ids: Iterable[str]) -> None:
        """`ids` say nothing where they stand in a value."""
        self.run = run
        self._ids = frozenset(each.encode() for each in ids if len(each) >= _SHORTEST_ID)
        self._marks: dict[int, _Marks] = {}
        for step in reversed(list(_walk(run.steps))):  # what is in a step before the step
            self._marks[id(step)] = self._marked(step)

    def of(self, step: Step) -> _Marks:
        return self._marks[id(step)]

    def _marked(self, step: Step) -> _Marks:
        given, got = self.plain(step.input), self.plain(step.output)
        waves: list[bytes] = []
        for wave in _waves(step.steps):
            waves += sorted(self._marks[id(inner)].whole for inner in wave)
            waves.append(b"|")
        own = [given, got, step.status.encode(), step.error.encode(), step.text.encode()]
        content = _digest(step.kind.encode(), *own, *waves)
        named = step.name.encode()
        return _Marks(
            _digest(given),
            _digest(got),
            _digest(step.kind.encode(), named, given),
            content,
            _digest(named, content),
        )

    def plain(self, value: Any) -> bytes:
        """Write a value down so that equal ones are equal, whatever ids are in them."""
        if value is None:
            return b""
        written = _DRAWN.sub(b"adk-id", msgspec.json.encode(value, order="sorted"))
        if not self._ids:
            return written
        return _STRING.sub(lambda found: _ID if found[1] in self._ids else found[0], written)


def _digest(*parts: bytes) -> bytes:
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()


def _waves(steps: Sequence[Step]) -> list[list[Step]]:
    """Group steps that ran side by side: their order says nothing."""
    waves: list[list[Step]] = []
    end = 0
    for step in steps:
        if waves and (step.since < end or _is_parallel(waves[-1][-1], step)):
            waves[-1].append(step)
        else:
            waves.append([step])
            end = 0
        # Calls of one event begin together, answered or not.
        end = max(end, step.since + 1, step.until or 0)
    return waves


def _is_parallel(one: Step, other: Step) -> bool:
    """Return whether ADK ran two steps in branches of their own."""
    return bool(one.branch and other.branch and one.branch != other.branch)


# ---------------------------------------------------------------------- matching

_Pair = tuple[Step | None, Step | None]


def _rows(a: _Marked, b: _Marked) -> list[Row]:
    rows: list[Row] = []
    waiting = [
        (0, pair, moved) for pair, moved in reversed(_paired(a.run.steps, b.run.steps, a, b))
    ]
    while waiting:
        depth, (one, other), moved = waiting.pop()
        rows.append(_row(depth, one, other, moved, a, b))
        inner = _paired(one.steps if one else (), other.steps if other else (), a, b)
        waiting.extend((depth + 1, pair, is_moved) for pair, is_moved in reversed(inner))
    return rows


def _paired(
    ours: Sequence[Step], theirs: Sequence[Step], a: _Marked, b: _Marked
) -> list[tuple[_Pair, bool]]:
    """Return the steps of one parent in both runs, in order, and whether each has moved."""
    matched = _match(ours, theirs, a, b)
    moved = _moved(ours, theirs, matched)
    places: list[tuple[tuple[int, int, int], _Pair, bool]] = [
        (
            (index, 0, 0),
            (step, theirs[matched[index]] if index in matched else None),
            index in moved,
        )
        for index, step in enumerate(ours)
    ]
    partner = {theirs_at: ours_at for ours_at, theirs_at in matched.items()}
    ends = _ends_of_gaps(len(ours), matched)
    last = -1
    for index, step in enumerate(theirs):  # what only `b` has comes after what it followed there
        if index in partner:
            last = partner[index]
        else:
            places.append(((ends[last + 1], 1, index), (None, step), False))
    places.sort(key=lambda place: place[0])
    return [(pair, is_moved) for _, pair, is_moved in places]


def _ends_of_gaps(count: int, matched: dict[int, int]) -> list[int]:
    """Return, for each of our places from -1 on, the last one after it before the next match."""
    ends = [count - 1] * (count + 1)
    for index in reversed(range(-1, count - 1)):
        ends[index + 1] = index if index + 1 in matched else ends[index + 2]
    return ends


def _match(ours: Sequence[Step], theirs: Sequence[Step], a: _Marked, b: _Marked) -> dict[int, int]:
    """Return which of their steps each of ours is, by their places."""
    matched: dict[int, int] = {}
    free_ours, free_theirs = list(range(len(ours))), list(range(len(theirs)))
    for key in _KEYS:
        waiting: dict[Hashable, deque[int]] = defaultdict(deque)
        for index in free_theirs:
            waiting[key(theirs[index], b)].append(index)
        for index in free_ours:
            found = waiting.get(key(ours[index], a))
            if found:
                matched[index] = found.popleft()
        taken = set(matched.values())
        free_ours = [index for index in free_ours if index not in matched]
        free_theirs = [index for index in free_theirs if index not in taken]
        if not free_ours or not free_theirs:
            break
    lone_ours = [i for i in free_ours if ours[i].kind != "tool"]
    lone_theirs = [i for i in free_theirs if theirs[i].kind != "tool"]
    if len(lone_ours) == len(lone_theirs) == 1:  # one agent in the place of another
        matched[lone_ours[0]] = lone_theirs[0]
    return matched


_KEYS: tuple[Callable[[Step, _Marked], Hashable], ...] = (
    lambda step, run: run.of(step).whole,
    lambda step, run: run.of(step).asked if step.kind == "tool" else (step.name, step.text),
    lambda step, _: (step.kind, step.name),
    lambda step, run: run.of(step).content,
)
"""By what steps are matched, one after the other."""


def _moved(ours: Sequence[Step], theirs: Sequence[Step], matched: dict[int, int]) -> set[int]:
    """Return which of our steps are at another place in the order: as few as can be."""
    our_waves, their_waves = _wave_of(ours), _wave_of(theirs)
    order = sorted(matched, key=lambda i: (our_waves[i], their_waves[matched[i]]))
    # The longest part that is in the same order in both; patience sorting.
    tops: list[int] = []
    top_steps: list[int] = []
    before: dict[int, int | None] = {}
    for index in order:
        wave = their_waves[matched[index]]
        pile = bisect_right(tops, wave)
        before[index] = top_steps[pile - 1] if pile else None
        tops[pile : pile + 1] = [wave]
        top_steps[pile : pile + 1] = [index]
    kept: set[int] = set()
    current = top_steps[-1] if top_steps else None
    while current is not None:
        kept.add(current)
        current = before[current]
    return set(matched) - kept


def _wave_of(steps: Sequence[Step]) -> list[int]:
    return [number for number, wave in enumerate(_waves(steps)) for _ in wave]


# ---------------------------------------------------------------------- rows


def _row(
    depth: int, one: Step | None, other: Step | None, moved: bool, a: _Marked, b: _Marked
) -> Row:
    step = one or other
    assert step is not None
    differs: list[str] = []
    request: dict[str, dict[str, Any]] = {}
    change: Change = "added" if one is None else "removed"
    if one is not None and other is not None:
        request = _requests(one, other, a, b)
        asked = [REQUEST_PARTS[part] for part in request.get("a", ())]
        differs = _differences(one, other, a, b) + asked
        change = "changed" if differs else "moved" if moved else "same"
        if differs and moved:
            differs.append("order")
    return Row(
        depth=depth,
        kind=step.kind,
        name=step.name,
        change=change,
        differs=differs,
        request=request,
        a=_side(one),
        b=_side(other),
    )


def _differences(one: Step, other: Step, a: _Marked, b: _Marked) -> list[str]:
    mine, yours = a.of(one), b.of(other)
    found = {
        "name": one.name != other.name,
        "status": (one.status, one.error) != (other.status, other.error),
        "input": mine.input != yours.input,
        "output": mine.output != yours.output,
        "text": one.text != other.text,
    }
    return [name for name, is_other in found.items() if is_other]


def _requests(one: Step, other: Step, a: _Marked, b: _Marked) -> dict[str, dict[str, Any]]:
    """Return how two steps asked a model otherwise: the first two requests that differ."""
    for mine, yours in zip(one.requests, other.requests, strict=False):
        parts = [part for part in _REQUESTED if _is_other(mine, yours, part, a, b)]
        found: dict[str, dict[str, Any]] = {
            "a": {part: read_value(getattr(mine, part)) for part in parts},
            "b": {part: read_value(getattr(yours, part)) for part in parts},
        }
        if mine.model != yours.model:
            found = {
                "a": {"model": mine.model} | found["a"],
                "b": {"model": yours.model} | found["b"],
            }
        if found["a"]:
            return found
    return {}


def _is_other(mine: ModelRequest, yours: ModelRequest, part: str, a: _Marked, b: _Marked) -> bool:
    one, other = getattr(mine, part), getattr(yours, part)
    if not (mine.is_kept and yours.is_kept) or one == other:
        return False
    return a.plain(_counting(part, one)) != b.plain(_counting(part, other))


def _counting(part: str, text: bytes) -> Any:
    """Return a part of a request without what the model does not see."""
    value = read_value(text) if text else {}
    if part != "config" or not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if key not in _UNSEEN}


def _side(step: Step | None) -> Side | None:
    if step is None:
        return None
    cost = total_cost(costs) if (costs := said_costs(step.costs)) else UNSET
    return Side(cursor=step.since, cost=cost, **{name: getattr(step, name) for name in _OF_STEP})


def _state(a: _Marked, b: _Marked) -> list[KeyRow]:
    ours, theirs = a.run.state, b.run.state
    rows: list[KeyRow] = []
    for key in dict.fromkeys([*ours, *theirs]):
        one, other = ours.get(key), theirs.get(key)
        if key not in theirs:
            rows.append(KeyRow(key=key, change="removed", a=one))
        elif key not in ours:
            rows.append(KeyRow(key=key, change="added", b=other))
        elif a.plain(one) != b.plain(other):
            rows.append(KeyRow(key=key, change="changed", a=one, b=other))
    return rows
