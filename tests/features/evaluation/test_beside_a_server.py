"""`adk-prism eval` beside a running server: a SQLite log is for one process."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from adk_prism import open_log
from adk_prism.errors import LogError
from adk_prism.features.evaluation.command import _serving


async def test_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server can run the set, or the runs are kept apart; both are options of the command."""
    monkeypatch.chdir(tmp_path)
    log = open_log("sqlite:///beside.db")
    await log.open()
    try:
        with pytest.raises(LogError) as told:
            async with _serving(None, Namespace(log="sqlite:///beside.db")):
                pass
        assert told.value.detail.startswith("Another process uses the run log")
        assert "--url http://127.0.0.1:8000" in told.value.detail
        assert "--data-dir" not in told.value.detail  # no option of this command
        async with _serving(None, Namespace(log="memory:")) as context:
            assert "tour" in context.apps.names()
    finally:
        await log.close()
