"""A tool that takes too long: its call fails, and the agent goes on with the error."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools import ToolContext
from tests.adk.scripted import Scripted, call
from tests.server.local_server import agent, local_server

from adk_prism import tool_timeout
from adk_prism.errors import UsageError
from adk_prism.server.settings import read_settings

Json = dict[str, Any]


class Slow:
    """Tools that end when the test says so."""

    def __init__(self) -> None:
        self.goes_on = threading.Event()
        self.ended: list[str] = []

    def in_thread(self) -> Json:
        """Block a thread."""
        self.goes_on.wait()
        self.ended.append("in_thread")
        return {"late": True}

    async def on_loop(self) -> Json:
        """Wait for ever."""
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.append("on_loop")
        return {}

    async def stubborn(self) -> Json:
        """Swallow every cancellation, for a while."""
        while not self.goes_on.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        self.ended.append("stubborn")
        return {"late": True}

    async def quick(self) -> Json:
        """Return at once."""
        return {"quick": True}


@pytest.fixture
def slow() -> Iterator[Slow]:
    made = Slow()
    yield made
    made.goes_on.set()


@dataclass(frozen=True)
class Case:
    tool: str
    limits: tuple[str, ...]
    fails: bool = True
    says: str = ""


CASES = [
    Case("in_thread", ("0.1s",), says="its thread still runs"),
    Case("on_loop", ("0.1s",)),
    Case("stubborn", ("0.1s",)),
    Case("on_loop", ("10m", "on_loop=0.1s")),
    Case("quick", ("10m",), fails=False),
    Case("quick", ("quick=10m", "0.1s"), fails=False),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.tool} {','.join(case.limits)}")
async def test_a_call_that_takes_too_long_fails(case: Case, slow: Slow) -> None:
    """The model gets an error and answers, the client sees a failed call, the operator is told."""
    model = Scripted.saying(call(case.tool, "c1"), "Done.")
    root = agent(model, tools=[getattr(slow, case.tool)])
    async with local_server(root, tool_timeout=case.limits) as server:
        run = await server.say("go")
        assert (await server.context.log.summary(run)).outcome == "finished"  # type: ignore[arg-type]
        [part] = [p for p in (await server.messages())[-1]["parts"] if "toolCallId" in p]
        assert part["state"] == ("output-error" if case.fails else "output-available")
        told = [report.detail for report in server.reports if report.kind == "tool timed out"]
        assert bool(told) == case.fails
        assert case.says in "".join(told)
        slow.goes_on.set()
        again = [p for p in (await server.messages())[-1]["parts"] if "toolCallId" in p]
        assert again == [part], "what comes late counts for nothing"


class Retrying(BasePlugin):
    """Answers for tools that fail, as an app's own plugin may."""

    async def on_tool_error_callback(self, *, error: Exception, **_: Any) -> Json:
        return {"handled": type(error).__name__}


async def test_an_app_handles_it_as_any_other_error(slow: Slow) -> None:
    """A plugin, or the tool's own limit, says what happens."""

    @tool_timeout(0.1)
    async def limited(tool_context: ToolContext) -> Json:
        """Wait for ever."""
        await asyncio.Event().wait()
        return {}

    model = Scripted.saying(call("limited", "c1"), "Done.")
    plugins = [Retrying(name="retrying")]
    async with local_server(agent(model, tools=[limited]), plugins=plugins) as server:
        await server.say("go")
        [part] = [p for p in (await server.messages())[-1]["parts"] if "toolCallId" in p]
        assert part["output"] == {"handled": "ToolTimedOut"}


@pytest.mark.parametrize("value", ["0s", "soon", "=3s", "a b=3s", "search="])
def test_what_is_no_limit(value: str, tmp_path: Path) -> None:
    """It is refused before anything starts."""
    with pytest.raises(UsageError, match="must be times such as 30s"):
        read_settings({}, {"ADK_PRISM_TOOL_TIMEOUT": value}, tmp_path)


def test_a_limit_is_above_nothing() -> None:
    """Also in code."""
    with pytest.raises(UsageError, match="above 0"):
        tool_timeout(0)
