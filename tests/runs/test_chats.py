"""Chats as the log tells them: which turns there are, what each message spans, what was taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import pytest
from msgspec import Raw
from tests.recordings.library import load
from tests.runs.sources import HERE

from adk_prism.errors import NotFound
from adk_prism.log.entry import (
    DERIVED,
    FOREIGN,
    RESPONSES,
    UPLOADED,
    Agent,
    Continues,
    Decision,
    Origin,
    Response,
    RunEnded,
    RunId,
    RunStarted,
    labels,
)
from adk_prism.log.memory import MemoryLog
from adk_prism.runs.chats import (
    LARGEST,
    Chats,
    HeadCache,
    answered_by,
    answered_later,
    decided_later,
    first_recorded,
)


@pytest.fixture
async def log() -> AsyncIterator[MemoryLog]:
    made = MemoryLog()
    await made.open()
    yield made
    await made.close()


def began(run: str, **fields: object) -> RunStarted:
    return RunStarted(run=run, origin=HERE, **fields)  # type: ignore[arg-type] # a table's fields


def continues(run: str, message: str) -> RunStarted:
    return began(run, continues=Continues(message=message))


def told(turns: Sequence[object]) -> list[list[str]]:
    """Return the runs of each turn."""
    return [[run.head.run for run in turn.runs] for turn in turns]  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Case:
    id: str
    heads: tuple[RunStarted, ...]
    turns: list[list[str]]
    taken_back: tuple[str, ...] = ()


CASES = [
    Case("none", (), []),
    Case("two messages", (began("a"), began("b")), [["a"], ["b"]]),
    Case("an answer", (began("a"), continues("b", "a")), [["a", "b"]]),
    Case(
        "an answer after the next message",
        (began("a"), began("b"), continues("c", "a")),
        [["a", "c"], ["b"]],
    ),
    Case("an answer to nothing that is there", (continues("b", "gone"),), []),
    Case("regenerated", (began("a"), began("b", replaces="a")), [["b"]], ("a",)),
    Case(
        "an edit of an earlier message",
        (began("a"), began("b"), began("c"), began("d", replaces="b")),
        [["a"], ["d"]],
        ("b", "c"),
    ),
    Case(
        "a late answer goes with what came before it",
        (began("a"), began("b"), continues("c", "a"), began("d", replaces="b")),
        [["a"], ["d"]],
        ("b",),
    ),
    Case(
        "an answer from before stays",
        (began("a"), continues("c", "a"), began("b"), began("d", replaces="b")),
        [["a", "c"], ["d"]],
        ("b",),
    ),
    Case(
        "a rewind that no turn follows",
        (began("a"), began("b"), began("r", kind="rewind", replaces="b")),
        [["a"]],
        ("b",),
    ),
    Case(
        "an earlier version is restored",
        (began("a"), began("b"), began("c", replaces="a"), began("d", replaces="c", restores="a")),
        [["a"], ["d"]],
        ("b", "c"),
    ),
    Case(
        "and the one that was left for it, with what came after",
        (
            began("a"),
            began("b", replaces="a"),
            began("c"),
            began("d", replaces="b", restores="a"),
            began("e", replaces="a", restores="c"),
        ),
        [["b"], ["c"], ["e"]],
        ("a", "d"),
    ),
    Case(
        "a late answer is there again in the version that had it",
        (
            began("a"),
            began("b"),
            continues("l", "a"),
            began("c", replaces="b"),
            began("d", replaces="c", restores="b"),
        ),
        [["a", "l"], ["b"], ["d"]],
        ("c",),
    ),
    Case(
        "restores what is not in the log any more",
        (began("a"), began("b", replaces="a", restores="gone")),
        [["b"]],
        ("a",),
    ),
    Case("replaces what is unknown", (began("a"), began("b", replaces="x")), [["a"], ["b"]]),
    Case("a change of state", (began("a"), began("s", kind="state")), [["a"]]),
    Case("an uploaded run", (began("a"), began("u", labels=labels(UPLOADED(True)))), [["a"]]),
    Case("a run of foreign events", (began("a", labels=labels(FOREIGN(True))),), [["a"]]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_turns(case: Case, log: MemoryLog) -> None:
    """Runs in the order they began; a second look says the same."""
    for number, head in enumerate(case.heads):
        ended = RunEnded(outcome="finished")
        await log.append(RunId(head.run), [head, ended], times=[float(number), float(number)])
    chats = Chats(log)
    for _ in range(2):
        assert told(await chats.turns(HERE)) == case.turns
        history = await chats.history(HERE)
        assert told(history.turns) == case.turns
        assert [turn.message for turn in history.taken_back] == list(case.taken_back)
    assert await chats.turns(Origin(app="app", user="user", session="another")) == []


async def test_a_turn_knows_its_ends(log: MemoryLog) -> None:
    """While its last run goes on it is live; a live connection is no message to go on with."""
    await log.append(RunId("a"), [began("a", message_id="m1"), RunEnded(outcome="waiting")])
    await log.append(RunId("b"), [continues("b", "a")])
    await log.append(RunId("c"), [began("c", live=True)])
    message, connection = await Chats(log).turns(HERE)
    assert (message.message, message.user_message) == ("a", "m1")
    assert (message.live, message.resumable) == (True, True)
    assert connection.user_message == "c-user"
    assert (connection.live, connection.resumable) == (True, False)


async def test_what_was_answered_later(log: MemoryLog) -> None:
    """By runs after the given one only."""
    yes = Decision(approval="p1", approved=True)
    given = Continues(message="a", decisions={"c1": yes}, answers={"c2": Raw(b"1")})
    response = Response(kind="input", response=Raw(b'"x"'))
    heads = [
        began("a"),
        began("b", continues=given),
        began("d", labels=labels(RESPONSES({"q1": response}))),
    ]
    for head in heads:
        await log.append(RunId(head.run), [head])
    first, second = turns = await Chats(log).turns(HERE)
    assert (decided_later(first, 0), decided_later(first, 1)) == ({"c1": yes}, {})
    assert (answered_later(first, 0), answered_later(first, 1)) == ({"c2"}, frozenset())
    assert answered_by(turns) == {"q1": response}
    assert answered_by([first]) == {}
    assert second.message == "d"


async def test_the_first_message_that_is_recorded(log: MemoryLog) -> None:
    """One that was only read from the session cannot be named in the log."""
    for head in (began("a", labels=labels(DERIVED(True))), began("b"), began("c")):
        await log.append(RunId(head.run), [head])
    turns = await Chats(log).turns(HERE)
    assert first_recorded(turns) == "b"
    assert first_recorded(turns[:1]) == ""


async def test_the_state_before_a_run(log: MemoryLog) -> None:
    """Read anew each time, since beginnings are kept without it; of a derived run it is not known."""
    state = {"n": Raw(b"1")}
    await log.append(RunId("a"), [began("a", state=state)])
    await log.append(RunId("b"), [began("b", state=state, labels=labels(DERIVED(True)))])
    chats = Chats(log)
    assert (await chats.beginning(RunId("a"))).state == {}
    assert await chats.state_before(RunId("a")) == state
    assert await chats.state_before(RunId("b")) is None
    with pytest.raises(NotFound):
        await chats.beginning(RunId("unknown"))


def test_cached_beginnings_are_bounded() -> None:
    """The oldest go first; what is too large for the cache is returned all the same."""
    cache = HeadCache(capacity=4 * LARGEST)
    large = began("large", message=Raw(b'"%b"' % (b"x" * LARGEST)))
    assert cache.add(RunId("large"), large).message == large.message
    assert cache.get(RunId("large")) is None
    for number in range(2000):
        head = began(f"r{number}", state={"s": Raw(b"1")}, agents=[Agent(name="a")])
        kept = cache.add(RunId(head.run), head)
        assert (kept.run, kept.state, kept.agents) == (head.run, {}, [])
        assert cache.get(RunId(head.run)) is kept
        assert cache.size <= 4 * LARGEST
    assert cache.get(RunId("r0")) is None
    assert cache.get(RunId("r1999")) is not None


@pytest.mark.parametrize(
    ("names", "calls", "approvals"),
    [
        (["text"], 0, 0),
        (["approval"], 1, 1),
        (["approval", "approval.2"], 0, 0),
        (["two_approvals"], 2, 2),
        (["client_tool"], 1, 0),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else "",
)
async def test_what_a_message_waits_for(
    names: list[str], calls: int, approvals: int, log: MemoryLog
) -> None:
    """From recordings of real runs: all runs of the message count."""
    origin = None
    for name in names:
        entries = load(name)
        head = entries[0].record
        assert isinstance(head, RunStarted)
        origin = head.origin
        await log.append(RunId(head.run), [entry.record for entry in entries])
    assert origin is not None
    chats = Chats(log)
    (turn,) = await chats.turns(origin)
    pending = await chats.pending(turn)
    assert len(pending.open_calls) == calls
    assert sum(pending.approval_of(call) is not None for call in pending.open_calls) == approvals


async def test_what_happened_elsewhere_waits_for_nobody(log: MemoryLog) -> None:
    """The calls of an untrusted history are not to be answered."""
    head, *rest = (entry.record for entry in load("approval"))
    assert isinstance(head, RunStarted)
    foreign = began(
        "a", labels=labels(FOREIGN(True)), invocation=head.invocation, agents=head.agents
    )
    await log.append(RunId("a"), [foreign, *rest])
    chats = Chats(log)
    (turn,) = await chats.turns(HERE)
    assert not (await chats.pending(turn)).open_calls
