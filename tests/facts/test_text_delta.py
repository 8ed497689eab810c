"""The fast path for a next delta says what the whole reading says, and never anything else."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from tests.laws.logs import wild_runs
from tests.recordings.library import CAPTURES, RECORDINGS, load
from tests.slow import examples

from adk_prism.facts.model import Fact
from adk_prism.facts.model_call import TextDeltas
from adk_prism.facts.run_reader import Reader
from adk_prism.log.entry import Entry


def _facts(run: Iterable[Entry]) -> list[list[Fact]]:
    reader = Reader()
    return [reader.feed(entry) for entry in run]


def _both(run: Iterable[Entry], monkeypatch: pytest.MonkeyPatch) -> None:
    fast = _facts(run)
    with monkeypatch.context() as patched:
        patched.setattr(TextDeltas, "read", lambda *_: None)
        assert _facts(run) == fast


@pytest.mark.parametrize("name", [*RECORDINGS, *CAPTURES])
def test_it_agrees_on_what_really_happened(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entry by entry."""
    _both(load(name), monkeypatch)


@settings(
    max_examples=examples(100),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(run=wild_runs())
def test_it_agrees_on_any_file(run: list[Entry], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where events are odd, doubled or in disorder."""
    _both(run, monkeypatch)
