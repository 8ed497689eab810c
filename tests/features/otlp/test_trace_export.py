"""With `--otlp` every run that has ended is sent to a collector, and no run waits for one that is away."""

from __future__ import annotations

import asyncio

import pytest
from tests.adk.scripted import Scripted, call
from tests.features.otlp.test_export import Collector, spans
from tests.features.otlp.test_export import collector as collector
from tests.patience import PATIENCE
from tests.server.local_server import agent, local_server

from adk_prism.errors import UsageError


async def test_runs_are_exported_as_they_end(collector: Collector) -> None:
    """A failure of the collector is reported, and the next run is sent again."""
    collector.status = 503
    model = Scripted.saying(call("count", "c1"), "There is one owl.", "And a bear.")
    async with local_server(agent(model), otlp=collector.url) as server, asyncio.timeout(PATIENCE):
        await server.say("How many owls?", "one")
        while not any(r.kind == "trace not exported" for r in server.reports):  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.01)
        collector.status = 200
        run = await server.say("And?", "two")
        while len(collector.requests) < 2:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.01)
    first, second = (spans(body) for _, _, body in collector.requests)
    assert "execute_tool count" in [span["name"] for span in first]
    assert second[0]["attributes"]["adk_prism.run"] == run
    assert second[0]["attributes"]["output.value"] == "And a bear."


async def test_an_address_that_is_none_is_refused_at_the_start() -> None:
    """Before anything is served."""
    with pytest.raises(UsageError, match="--otlp must be a URL"):
        async with local_server(agent(Scripted.saying()), otlp="collector"):
            pass
