"""Calls in doubt: who decides what becomes of them, and what one process on SQLite does after a crash."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import FunctionTool, ToolContext
from tests.adk.scripted import Scripted, call
from tests.cluster.replica import begin, ended
from tests.patience import PATIENCE
from tests.server.local_server import LocalServer, agent, local_server

from adk_prism import idempotency_key, idempotent, on_crash
from adk_prism.adk.tools import InDoubt, Policy
from adk_prism.errors import UsageError
from adk_prism.log.entry import RunId
from adk_prism.log.from_url import open_log
from adk_prism.server.settings import Settings


@dataclass(frozen=True)
class Case:
    id: str
    policy: Policy
    mark: Callable[[Any], Any] | None
    named: tuple[str, ...]
    expected: Policy


CASES = [
    Case("the operator, of all", "fail", None, (), "fail"),
    Case("the tool before that", "retry", on_crash("ask"), (), "ask"),
    Case("a tool that can be repeated", "fail", idempotent, (), "retry"),
    Case("the operator, of the tool", "retry", idempotent, ("work=fail",), "fail"),
    Case("of another tool", "retry", None, ("other=fail",), "retry"),
    Case("the last word", "retry", None, ("work=fail", "work=ask"), "ask"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
@pytest.mark.parametrize("form", ["function", "tool"])
def test_who_decides(case: Case, form: str) -> None:
    """The operator of a tool by name, the tool or its function, the operator of all, in this order."""

    def work() -> None:
        """Work."""

    settings = Settings(on_crash=case.policy, on_crash_tool=case.named)
    tool = FunctionTool(work)
    if case.mark is not None:
        case.mark(work if form == "function" else tool)
    assert InDoubt(settings.on_crash, settings.on_crash_tools).of(tool) == case.expected


def test_a_policy_that_is_none_is_refused() -> None:
    """When the tool is made, not when the process has died."""
    with pytest.raises(UsageError, match="retry, fail or ask"):
        on_crash("maybe")  # type: ignore[arg-type] # what a typing mistake gives


def on_files(
    folder: Path, model: Scripted, tool: Any, **settings: Any
) -> AbstractAsyncContextManager[LocalServer]:
    service = SqliteSessionService(str(folder / "sessions.db"))
    log = open_log(f"sqlite:///{folder}/runs.db")
    return local_server(
        agent(model, tools=[tool]), resumable=True, service=service, log=log, **settings
    )


@pytest.mark.parametrize("policy", ["retry", "fail"])
async def test_one_process_on_sqlite_after_a_crash(policy: Policy, tmp_path: Path) -> None:
    """The next one on the same files continues the run; a call that was under way is run again with the
    same key, or answered with an error."""
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    keys: list[str] = []
    reached, goes_on = asyncio.Event(), asyncio.Event()

    async def work(tool_context: ToolContext) -> dict[str, bool]:
        """Work."""
        keys.append(idempotency_key(tool_context))
        reached.set()
        await goes_on.wait()
        return {"done": True}

    async with on_files(before, Scripted.saying(call("work", "c1"), "Done."), work) as server:
        run = await begin(server)
        await asyncio.wait_for(reached.wait(), PATIENCE)
        await server.context.log.commit(RunId(run))
        shutil.copytree(before, after)  # what a crash leaves
        goes_on.set()
        assert await ended(server, run) == "finished"
    named = (f"work={policy}",)
    async with on_files(after, Scripted.saying("Done."), work, on_crash_tool=named) as server:
        assert await ended(server, run) == "finished"
    assert len(keys) == (2 if policy == "retry" else 1)
    assert len(set(keys)) == 1
