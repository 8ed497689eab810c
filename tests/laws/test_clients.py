"""The real AI SDK takes streams that no recording has: a sample of runs made at random."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from tests.conformance.judge import READERS, Judge
from tests.laws.logs import plausible_runs

from adk_prism.facts import model as fact
from adk_prism.facts.ending_text import BROKEN
from adk_prism.facts.reader import Reader
from adk_prism.pipeline.protocols import protocol
from adk_prism.pipeline.replay import replay
from adk_prism.runlog.entry import Entry, RunEnded


@settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(run=plausible_runs())
def test_the_client_takes_any_run_of_adk(run: list[Entry], judge: Judge) -> None:
    """Each SDK, each dialect it reads: no error, no second post, nothing left hanging."""
    ended = run[-1].record
    assert isinstance(ended, RunEnded)
    # An agent that still runs when another one's question ends the run: its call waits for nobody.
    allowed = {"stuck"} if _delegated(run) else set()
    for sdk, dialect in READERS:
        stream = b"".join(replay(run, protocol("ai-sdk").format(dialect)))
        verdict = judge(stream, sdk, expect_error=ended.outcome in BROKEN)
        # The helper of 5.0.0 waits for ever beside a call that failed; later ones do not.
        stuck = {"stuck"} if sdk == "ai-5.0.0" else set()
        assert verdict.codes <= allowed | stuck, f"{sdk}, dialect {dialect}:{verdict.why}"


def _delegated(run: list[Entry]) -> set[str]:
    """The calls that run an agent and have no answer."""
    reader = Reader()
    found: set[str] = set()
    for item in (item for entry in run for item in reader.feed(entry)):
        if isinstance(item, fact.CallDelegated):
            found.add(item.call)
        elif isinstance(
            item, fact.CallAnswered | fact.CallFailed | fact.CallDenied | fact.CallAbandoned
        ):
            found.discard(item.call)
    return found
