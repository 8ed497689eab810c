"""The recordings are complete, small, and made again as they are."""

from __future__ import annotations

import asyncio

import pytest
from tests.recordings.library import RECORDINGS, continues, ended, first_of, load
from tests.recordings.record import HERE, NOT_RECORDED, PLAYS, record

LIMIT = 3 * 1024 * 1024
"""Of all recordings together: they are in every clone."""


def test_every_play_has_its_recordings() -> None:
    """No file without a play, no play without a file."""
    assert {first_of(name) for name in RECORDINGS} == set(PLAYS)
    assert not set(NOT_RECORDED) & set(PLAYS)


def test_they_are_small() -> None:
    """What is large in them is large on purpose: one file, more than travels inline."""
    assert sum(path.stat().st_size for path in HERE.glob("*.jsonl")) < LIMIT


def test_there_is_every_end_and_every_way_to_go_on() -> None:
    """Finished, failed, cancelled, waiting; approved, denied, answered by the client, held."""
    assert {ended(name).outcome for name in RECORDINGS} == {
        "finished",
        "failed",
        "cancelled",
        "waiting",
    }
    going_on = [found for name in RECORDINGS if (found := continues(name))]
    decided = {d.approved for found in going_on for d in found.decisions.values()}
    assert decided == {True, False}
    assert any(found.answers for found in going_on)
    assert any(found.held for found in going_on)


@pytest.mark.parametrize("name", [name for name in RECORDINGS if continues(name)])
def test_a_continuation_goes_on_with_a_recorded_message(name: str) -> None:
    """Its message is the run of the recording that bears the first part of its name."""
    going_on = continues(name)
    assert going_on is not None
    first = load(first_of(name))[0].record
    assert getattr(first, "run", "") == going_on.message


@pytest.mark.parametrize("name", ["text", "approval", "x_parallel", "exception", "chat_held"])
async def test_a_recording_made_again_is_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte: ids and times are counted. (All of them: `python -m tests.recordings.record`.)"""
    monkeypatch.setenv("ADK_PRISM_MODEL", "offline")
    made = await asyncio.create_task(record(name))
    for file, data in made.items():
        assert (HERE / file).read_bytes() == data
