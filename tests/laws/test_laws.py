"""The five laws hold for every recording and capture, in every protocol, and for runs made at random."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, example, given, settings
from tests.laws.events import entries, event, text
from tests.laws.logs import plausible_runs, wild_runs
from tests.recordings.library import CAPTURES, HERE, RECORDINGS, load
from tests.slow import examples

from adk_prism.facts.pending import Pending
from adk_prism.facts.run_reader import Reader
from adk_prism.features.captures.replay import replay
from adk_prism.features.run.command import Readable
from adk_prism.log.entry import Entry
from adk_prism.protocols.contract import Format
from adk_prism.protocols.registry import formats
from adk_prism.testing.laws import check_laws

# The same runs each time: a test that passes by luck proves nothing to the next who runs it.
thorough = settings(
    max_examples=examples(90),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("format", formats(), ids=lambda format: format.title)
@pytest.mark.parametrize("name", [*RECORDINGS, *CAPTURES])
def test_the_laws_hold_for_what_really_happened(name: str, format: Format) -> None:
    """Deterministic, resumable, prefix-stable, balanced, terminated."""
    assert check_laws(load(name), [format]) == []


@thorough
@given(plausible_runs())
def test_the_laws_hold_for_any_run_of_adk(run: list[Entry]) -> None:
    """Whatever an agent does, in however many lanes, and wherever it breaks off."""
    assert check_laws(run) == []


@thorough
@given(wild_runs())
@example(entries([]))
@example(entries([event(text("hello"), author="user")]))
def test_the_laws_hold_for_any_file(run: list[Entry]) -> None:
    """Doubled, disordered, odd and unreadable events included; no reader of facts ever raises."""
    assert check_laws(run) == []
    reader, pending, readable = Reader(), Pending(), Readable(colour=True)
    for entry in run:
        facts = reader.feed(entry)
        pending.feed(facts)
        for fact in facts:
            readable.show(fact)


def _digest() -> str:
    """Hash the bytes of every recording in every protocol."""
    digest = hashlib.sha256()
    for name in RECORDINGS:
        for format in formats():
            digest.update(b"".join(replay(load(name), format)))
    return digest.hexdigest()


@pytest.mark.parametrize("seed", ["1", "2"])
def test_another_process_gives_the_same_bytes(seed: str) -> None:
    """No set, hash or dictionary of one process decides what a client gets."""
    program = "from tests.laws.test_laws import _digest; print(_digest())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": seed},
        cwd=HERE.parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == _digest()
