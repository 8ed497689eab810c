"""Apps of every mechanism that ADK has: our server gives the events and sessions of ADK's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.outside.__main__ import apps_in
from tests.outside.comparison import CannotRun, Differs, Same, compare
from tests.outside.servers import Servers, both_serving

APPS = Path(__file__).parent / "apps"
ODD = Path(__file__).parent / "odd"
"""Apps on which the two servers cannot agree: they show that the comparison sees it."""


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Both servers, once for all apps, on a copy of them: servers write beside what they import."""
    folder = tmp_path_factory.mktemp("outside")
    for source in (APPS, ODD):
        shutil.copytree(source, folder / "agents", dirs_exist_ok=True)
    with both_serving(folder / "agents", folder / "data") as found:
        yield found


@pytest.mark.parametrize("app", apps_in(APPS), ids=lambda app: app.name)
async def test_an_app_gives_the_events_of_adk(servers: Servers, app: Path) -> None:
    """Streamed and whole: the same events, and the same session afterwards."""
    for streaming in (True, False):
        outcome = await compare(servers, app, streaming)
        assert isinstance(outcome, Same), str(outcome)


async def test_a_difference_is_shown_with_both_sides(servers: Servers) -> None:
    """Where it is, and what each server sent."""
    outcome = await compare(servers, ODD / "never_the_same", streaming=True)
    assert isinstance(outcome, Differs)
    assert outcome.where == '[{"text": "hello"}], event 1.content.parts[0].text'
    assert outcome.ours.startswith("process ")
    assert outcome.theirs.startswith("process ")
    assert outcome.ours != outcome.theirs


async def test_an_app_that_neither_server_runs_is_named(servers: Servers) -> None:
    """It is no difference, and not the same either."""
    outcome = await compare(servers, ODD / "broken_import", streaming=True)
    assert isinstance(outcome, CannotRun), str(outcome)
