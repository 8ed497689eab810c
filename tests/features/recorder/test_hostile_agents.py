"""The recorder beside agents that exit, panic, cancel, leak and hang: it changes nothing of what they do."""

from __future__ import annotations

import asyncio
import gc
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.workflow import BaseNode
from tests.features.recorder.recorded import driven, recordings, runner_of
from tests.patience import PATIENCE
from tests.runs.hostile import (
    BEGUN,
    HOOKS,
    PLACES,
    RAISED,
    RETURNED,
    UNAWAITED,
    Do,
    Hostile,
    async_tool,
    custom_agent,
    hangs,
    leaks_task,
    leaks_thread,
    model,
    sync_tool,
    workflow_node,
)

from adk_prism import Recorder
from adk_prism.log.entry import Entry, RunEnded
from adk_prism.testing.laws import check_laws

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning"),
    # What agent code leaves behind is its own.
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

_IDS = re.compile(r"adk-[0-9a-f-]{36}|0x[0-9a-f]+")
BEFORE_OR_AFTER = {"on_user_message_callback", "after_run_callback"}
"""Hooks that are called before the run has begun, and after its end."""
Place = Callable[[Do], BaseNode]


class Seen(NamedTuple):
    """What whoever drives a Runner sees."""

    events: list[str]
    raised: str
    """By the Runner."""
    ended_loop: str
    """What left the event loop, and so would end the process."""


@pytest.fixture(autouse=True)
def _released() -> Iterator[None]:
    BEGUN.clear()
    yield
    while UNAWAITED:
        UNAWAITED.pop().close()


def _drive(root: BaseNode, plugins: Sequence[BasePlugin], *, cancel: bool = False) -> Seen:
    """Run an agent as any program does; return what it shows. `cancel`: once its code runs."""
    events: list[str] = []
    raised, ended_loop = "", ""

    async def read() -> None:
        nonlocal raised
        runner = await runner_of(root, *plugins)
        try:
            async for event in driven(runner):
                said = f"{event.author} {event.partial} {event.error_code} {event.content}"
                events.append(_IDS.sub("", said))
        except BaseException as error:
            raised = type(error).__name__
            if isinstance(error, asyncio.CancelledError):
                raise

    async def main() -> None:
        reading = asyncio.ensure_future(read())
        if cancel:
            assert await asyncio.to_thread(BEGUN.wait, PATIENCE)
            reading.cancel()
        await asyncio.wait([reading], timeout=PATIENCE)

    try:
        asyncio.run(main())
    except BaseException as error:
        ended_loop = type(error).__name__
    return Seen(events, raised, ended_loop)


def _recorded(folder: Path) -> list[Entry]:
    """Return the only recording, once it has an end."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        gc.collect()  # A run that nobody ends is over when ADK has dropped it.
        has_lines = any(file.stat().st_size for file in folder.glob("*.jsonl"))
        found = recordings(folder) if has_lines else []
        if found and isinstance(found[0][-1].record, RunEnded):
            assert len(found) == 1
            return found[0]
        time.sleep(0.02)  # between two looks
    raise AssertionError("the recording does not end")


def _compare(
    folder: Path,
    make: Callable[[], BaseNode],
    *hostile: Callable[[], BasePlugin],
    cancel: bool = False,
) -> tuple[Seen, RunEnded]:
    """Drive an agent without and with the recorder; return what was seen, and the end of the recording."""
    folder.mkdir()
    plain = _drive(make(), [each() for each in hostile], cancel=cancel)
    BEGUN.clear()
    recorder = Recorder(file=str(folder))
    plugins = [recorder, *(each() for each in hostile)]
    assert _drive(make(), plugins, cancel=cancel) == plain
    entries = _recorded(folder)
    assert check_laws(entries) == []
    ended = entries[-1].record
    assert isinstance(ended, RunEnded)
    return plain, ended


def _check(seen: Seen, ended: RunEnded) -> None:
    """Compare the end of a recording with what left the Runner."""
    if seen.raised == "GeneratorExit":
        return  # To ADK, whoever reads has stopped.
    if seen.ended_loop or seen.raised == "CancelledError":
        assert ended.outcome in ("failed", "cancelled")
    elif seen.raised:
        assert (ended.outcome, bool(ended.code)) == ("failed", True)
    else:  # ADK takes a cancellation that code raises for the end of the run.
        assert ended.outcome == "finished"


EVERYWHERE = ("BaseException", "StopAsyncIteration")
CASES = [(place, raised) for place in PLACES for raised in EVERYWHERE] + [
    (place, raised)
    for place in ("async_tool", "custom_agent", "workflow_node")
    for raised in sorted(RAISED.keys() - set(EVERYWHERE))
]


@pytest.mark.parametrize(("place", "raised"), CASES)
def test_whatever_is_raised(place: str, raised: str, tmp_path: Path) -> None:
    """The same events, the same exception, and a recording that says how it ended."""
    do, _ = RAISED[raised]
    _check(*_compare(tmp_path / "run", lambda: PLACES[place](do)))


@pytest.mark.parametrize("hook", sorted(set(HOOKS) - BEFORE_OR_AFTER))
def test_whatever_a_plugin_raises(hook: str, tmp_path: Path) -> None:
    """A panic in any of its hooks."""
    do, _ = RAISED["BaseException"]
    root = lambda: sync_tool(lambda: {"ok": True})  # noqa: E731 - two agents, one for each run
    _check(*_compare(tmp_path / "run", root, lambda: Hostile(hook, do)))


@pytest.mark.parametrize("returned", [*sorted(RETURNED.keys() - {"huge"}), "task", "thread"])
def test_whatever_is_returned(returned: str, tmp_path: Path) -> None:
    """Odd results, tasks and threads that are left behind."""
    do = {**RETURNED, "task": leaks_task, "thread": leaks_thread}[returned]
    _check(*_compare(tmp_path / "run", lambda: async_tool(do)))


@pytest.mark.parametrize(
    "place", [async_tool, model, custom_agent, workflow_node], ids=lambda p: p.__name__
)
def test_a_run_that_hangs_until_it_is_cancelled(place: Place, tmp_path: Path) -> None:
    """The cancellation reaches the agent as without the recorder."""
    seen, ended = _compare(tmp_path / "run", lambda: place(hangs), cancel=True)
    assert seen.raised == "CancelledError"
    assert ended.outcome == "cancelled"
