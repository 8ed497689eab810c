"""Work that is started in another task's place: as if that task had done it."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

import pytest
from tests.patience import PATIENCE

from adk_prism.source.adk.live_eager_task import EagerTask, StartedWork

NAME: ContextVar[str] = ContextVar("name", default="caller")


class Worker:
    """Waits for work, and finishes what others have started."""

    def __init__(self) -> None:
        self.work: asyncio.Queue[StartedWork] = asyncio.Queue()
        self.eager: EagerTask | None = None

    async def run(self) -> None:
        NAME.set("worker")
        self.eager = EagerTask()
        while True:
            await (await self.work.get()).finish()


async def started() -> tuple[Worker, asyncio.Task[None], EagerTask]:
    worker = Worker()
    task = asyncio.create_task(worker.run())
    await asyncio.sleep(0)
    assert worker.eager is not None
    return worker, task, worker.eager


async def test_work_that_does_not_wait_is_done_at_once() -> None:
    """By the worker, as far as anybody can tell; then the caller is itself again."""
    _, task, eager = await started()
    seen: list[Any] = []

    async def work() -> None:
        seen.append((asyncio.current_task(), NAME.get()))

    assert eager.start(work()) is None
    assert seen == [(task, "worker")]
    assert asyncio.current_task() is not task
    assert NAME.get() == "caller"
    task.cancel()


async def test_work_that_waits_is_gone_on_with() -> None:
    """In the same task, through any number of waits, with time limits and what goes wrong."""
    worker, task, eager = await started()
    done = asyncio.Event()
    told: list[Any] = []

    async def work() -> None:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            told.append("late")
        await asyncio.sleep(0)
        told.append(asyncio.current_task())
        done.set()

    left = eager.start(work())
    assert left is not None
    assert told == []
    worker.work.put_nowait(left)
    await asyncio.wait_for(done.wait(), PATIENCE)
    assert told == ["late", task]
    task.cancel()


@pytest.mark.parametrize("waits", [False, True])
async def test_what_fails_fails_in_the_worker(waits: bool) -> None:
    """Whether it did so at once or later; the caller is told nothing."""
    worker, task, eager = await started()

    async def work() -> None:
        if waits:
            await asyncio.sleep(0)
        raise ValueError("no")

    left = eager.start(work())
    assert left is not None
    worker.work.put_nowait(left)
    await asyncio.wait([task])
    assert isinstance(task.exception(), ValueError)


async def test_a_worker_that_is_cancelled_cancels_the_work() -> None:
    """Which may tidy up."""
    worker, task, eager = await started()
    tidied: list[bool] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            tidied.append(True)

    left = eager.start(work())
    assert left is not None
    worker.work.put_nowait(left)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert tidied == [True]
