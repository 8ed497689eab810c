"""The real clients take streams that no recording has: a sample of runs made at random."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from tests.conformance import ag_ui
from tests.conformance.judge import READERS, Judge
from tests.golden.test_ag_ui_clients import REPLAYED, body, history, state_after, without_error
from tests.laws.logs import plausible_runs, wild_runs
from tests.slow import examples

from adk_prism.facts import model as fact
from adk_prism.facts.outcome import BROKEN
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.state import same_json
from adk_prism.features.captures.replay import replay
from adk_prism.log.entry import Entry, RunEnded, to_raw
from adk_prism.protocols.ag_ui.history import settled
from adk_prism.protocols.registry import protocol

sampled = settings(
    max_examples=examples(80),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@sampled
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


@sampled
@given(run=plausible_runs() | wild_runs())
def test_an_ag_ui_client_takes_any_run(run: list[Entry], ag_ui_client: ag_ui.AgUiClient) -> None:
    """Each client, each dialect it reads: no objection, and the messages and state that we say it holds."""
    for client, dialect in ag_ui.READERS:
        held = ag_ui_client([body(run, dialect, REPLAYED)], client)
        assert held.faults == [], f"{client}, dialect {dialect}"
        told = [without_error(each) for each in history([run], dialect)]
        assert same_json(to_raw(told), to_raw(settled(held.messages))), (told, held.messages)
        assert same_json(to_raw(held.state), to_raw(state_after(run)))


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
