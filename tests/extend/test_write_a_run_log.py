"""A package adds a run log: the documented one passes the checks, and a server keeps its runs in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent
from tests.adk.scripted import Scripted
from tests.patience import PATIENCE

from adk_prism import Prism, Settings, run_logs
from adk_prism.testing import LOG_CHECKS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "write-a-run-log.md").read_text()
BLOCK = re.compile(r"```python\n# (\S+)\n(.*?)```", re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write the page's package."""
    (tmp_path / "archive").mkdir()
    for name, text in BLOCK.findall(PAGE):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_log_passes_the_checks(folder: Path) -> None:
    """With the reader's own pytest: each check is a test."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "archive/test_log.py"]
    env = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        words, cwd=folder, env=env, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout
    assert f"{len(LOG_CHECKS)} passed" in done.stdout


async def test_a_server_keeps_its_runs_in_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run ends, and its file is there; the log answers for it as any other."""
    monkeypatch.syspath_prepend(folder)
    from archive.log import ArchivingLog  # the page's own

    agent = LlmAgent(name="support", model=Scripted.saying("hello"))
    settings = Settings(log="memory:", sessions="memory://", artifacts="memory://")
    async with Prism(apps={"support": agent}, settings=settings, log=ArchivingLog(folder)) as prism:
        run = await prism.runs.wait(await prism.start("support", "hi"))
    assert run.outcome == "finished"
    lines = (folder / f"{run.id}.jsonl").read_text().splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert (kinds[0], kinds[-1], len(kinds)) == ("RunStarted", "RunEnded", run.cursor)


async def test_a_log_that_breaks_a_promise_is_found() -> None:
    """The checks are not satisfied by any log."""

    class Forgetful(run_logs.MemoryLog):
        async def append(self, run, records, **more):  # type: ignore[no-untyped-def]
            return await super().append(run, records[:1], **more)

    class Place:
        durable = False

        def log(self) -> run_logs.RunLog:
            return Forgetful()

    failed = []
    for check in LOG_CHECKS:
        try:
            await check(Place())
        except Exception:
            failed.append(check.__name__)
    assert "cursors_are_dense_from_one" in failed


def test_what_a_log_needs_is_exported() -> None:
    """The types in the signatures of a log and of a store are public."""
    needed = set()
    for contract in (run_logs.RunLog, run_logs.LogStore, run_logs.SideStorage, run_logs.SideStore):
        for member in vars(contract).values():
            for text in getattr(member, "__annotations__", {}).values():
                needed |= set(re.findall(r"\b[A-Z]\w+", text))
    standard = {
        "AbstractAsyncContextManager", "AsyncGenerator", "Callable", "Collection", "Mapping", "None",
        "Sequence",
    }  # fmt: skip
    assert needed - standard - {"False", "True"} <= set(run_logs.__all__)
