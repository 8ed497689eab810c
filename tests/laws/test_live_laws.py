"""The five laws hold for live runs made at random, in which messages begin and end."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from msgspec import structs
from tests.laws.logs import plausible_runs, wild_runs

from adk_prism.log.entry import Entry, RunStarted
from adk_prism.protocols.ag_ui import SPEC as AG_UI
from adk_prism.protocols.ai_sdk import SPEC as AI_SDK
from adk_prism.testing.laws import check_laws

FORMATS = [AG_UI.format("0.0.59"), AG_UI.format("1.0", raw=True), AI_SDK.format("6")]


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(plausible_runs() | wild_runs())
def test_the_laws_hold_for_any_live_run(run: list[Entry]) -> None:
    """Whatever is heard twice, corrected, or never said to be over."""
    head = run[0]
    assert isinstance(head.record, RunStarted)
    live = structs.replace(head.record, live=True, continues=None)
    assert check_laws([structs.replace(head, record=live), *run[1:]], FORMATS) == []
