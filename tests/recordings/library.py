"""The recordings and captures of the tests: which there are, and their entries."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.features.captures.recording_file import read_run
from adk_prism.log.entry import Continues, Entry, RunEnded, RunStarted

HERE = Path(__file__).parent

RECORDINGS = sorted(path.stem for path in HERE.glob("*.jsonl"))
"""Names such as `approval`, and `approval.2` for a run that goes on with its message."""
CAPTURES = sorted(f"raw/{path.stem}" for path in (HERE / "raw").glob("*.jsonl"))
"""Raw events of ADK, without a beginning or an end of ours."""


@cache
def load(name: str) -> tuple[Entry, ...]:
    """Return the entries of a recording or a capture."""
    return tuple(read_run(HERE / f"{name}.jsonl", end=CaptureEnding()))


def began(name: str) -> RunStarted:
    record = load(name)[0].record
    assert isinstance(record, RunStarted)
    return record


def ended(name: str) -> RunEnded:
    record = load(name)[-1].record
    assert isinstance(record, RunEnded)
    return record


def continues(name: str) -> Continues | None:
    """Return what a recording goes on with, if it does."""
    return began(name).continues


def first_of(name: str) -> str:
    """Return the recording of the message's first run."""
    return name.partition(".")[0]
