"""The film: the same whether it grew with the run or was folded afterwards, and small."""

from __future__ import annotations

import tracemalloc
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.features.page.entries import Log

from adk_prism.errors import BadPosition, UsageError
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.features.captures.recording_file import read_run
from adk_prism.features.page.conversation import _counts
from adk_prism.features.page.film import Film, fold
from adk_prism.log.entry import Entry

RECORDINGS = sorted((Path(__file__).parent.parent.parent / "recordings").glob("*.jsonl"))
LOOKS = 60
"""Cursors of a long recording that are looked at; of a short one, all."""

SNAPSHOTS, KEYS = 1000, 200
MIB = 1024 * 1024


def entries_of(recording: Path) -> list[Entry]:
    return list(read_run(recording, end=CaptureEnding()))


def shown(film: Film, cursor: int, gone: Collection[int]) -> bytes:
    """Return everything that is seen at a cursor, but for how far the film goes, and what is withdrawn."""
    seen = film.at(cursor)
    said = seen["conversation"]
    seen["conversation"] = [
        item for item in said if item["since"] not in gone or "text" not in item
    ]
    return msgspec.json.encode({key: value for key, value in seen.items() if key != "last"})


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_a_live_film_shows_what_the_recording_s_shows(recording: Path) -> None:
    """At every cursor: later entries never change what was seen, so a link to a moment stays true.

    But for what ADK did not store, which later entries withdraw.
    """
    entries = entries_of(recording)
    whole, live = fold(entries), Film()
    gone = {item.since for item in whole.conversation._items if not _counts(item)}
    looks = set(range(1, len(entries) + 1, max(1, len(entries) // LOOKS))) | {len(entries)}
    for entry in entries:
        live.feed(entry)
        if entry.cursor in looks:
            assert shown(live, entry.cursor, gone) == shown(whole, entry.cursor, gone)


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_every_node_is_within_the_run_and_its_parent(recording: Path) -> None:
    """Bounds nest; when the run is over nothing runs any more."""
    film = fold(entries_of(recording))
    rows = {row["node"]: row for row in film.at(None, "timeline")["timeline"]["nodes"]}
    for row in rows.values():
        assert 1 <= row["since"] <= row["until"] <= film.last
        assert row["status"] != "running"
        if row["parent"]:
            assert rows[row["parent"]]["since"] <= row["since"]


def test_the_header_says_where_one_is() -> None:
    """Run, app, session, how far it goes; the outcome only from the end on."""
    log = Log("Hi")
    log.event(text="Hello.")
    log.over("waiting")
    film = fold(log.entries)
    assert film.at(2, "graph").keys() == {"at", "last", "run", "app", "session", "outcome", "graph"}
    assert [film.at(cursor, "graph")["outcome"] for cursor in (1, 2, 3)] == [None, None, "waiting"]
    assert (film.at(2)["at"], film.at(2)["last"], film.at()["at"]) == (2, 3, 3)


@pytest.mark.parametrize("cursor", [-1, 0, 4, 10**12])
def test_a_cursor_that_is_not_there_is_refused(cursor: int) -> None:
    """With the cursors there are."""
    log = Log("Hi")
    log.event(text="Hello.")
    log.over()
    with pytest.raises(BadPosition, match="1 to 3"):
        fold(log.entries).at(cursor)


def test_panels_that_are_not_there() -> None:
    """An unknown one is a mistake, and those that there are are named."""
    film = fold(Log().entries)
    with pytest.raises(UsageError, match="timeline"):
        film.at(1, "weather")


# ------------------------------------------------------------------ bounds


def _many_snapshots(*, all_keys: bool) -> list[Entry]:
    state: dict[str, Any] = {f"key_{n}": {"value": n, "text": "x" * 40} for n in range(KEYS)}
    log = Log(**state)
    log.start("root")
    for number in range(SNAPSHOTS):
        key = f"key_{number % KEYS}"
        state[key] = {"value": number, "text": "y" * 40}
        log.event("root", delta=state if all_keys else {key: state[key]})
    return log.entries


@pytest.mark.parametrize("all_keys", [False, True], ids=["one key each", "all keys each"])
def test_a_thousand_snapshots_are_small(all_keys: bool) -> None:
    """No snapshot is ever copied: memory grows with what changed. The benchmark measures the time."""
    entries = _many_snapshots(all_keys=all_keys)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    film = fold(entries)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20 * MIB
    for cursor in (1, 2, SNAPSHOTS // 2, film.last):
        state = film.at(cursor, "state")["state"]
        assert len(state["snapshot"]["session"]) == KEYS


def test_a_small_value_does_not_keep_its_large_event() -> None:
    """A state value read from an event is a window on the whole of it, until it is copied."""
    log = Log()
    for number in range(20):
        log.event(text="x" * MIB, delta={f"k{number}": number})
    entries, film = log.entries, Film()
    tracemalloc.start()
    for entry in entries:
        copy = bytes(bytearray(entry.record.event)) if entry.cursor > 1 else b""  # type: ignore[union-attr]
        film.state.feed(entry.cursor, _state_change(copy, entry.cursor))
        del copy
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < MIB


def _state_change(event: bytes, cursor: int) -> Any:
    from adk_prism.facts.model import Speaker, StateChanged

    if not event:
        return StateChanged({}, Speaker("user", "", ""))
    decoded = msgspec.json.decode(event, type=dict[str, msgspec.Raw])
    actions = msgspec.json.decode(decoded["actions"], type=dict[str, dict[str, msgspec.Raw]])
    return StateChanged(actions["stateDelta"], Speaker("agent", "", ""))


def test_a_very_long_loop_is_shown_whole() -> None:
    """Node by node; that it takes time in proportion is `benchmarks/view.py`'s to say."""
    count = 2_000
    log = Log(topic="x", draft="y")
    log.start("root")
    for number in range(count):
        log.start(f"step{number}", "root", iteration=number + 1)
        log.end(f"step{number}", state={"draft": number})
    seen = fold(log.entries).at()
    assert len(seen["graph"]["asItRan"]) == len(seen["timeline"]["nodes"]) == count + 1
