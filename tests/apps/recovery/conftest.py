"""What the tests of the recovery app share."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.apps.recovery.folders import Folder


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key in the environment turns the scripted models off, and no folder is set."""
    monkeypatch.setenv("ADK_PRISM_MODEL", "offline")
    monkeypatch.delenv("ADK_PRISM_RECOVERY_DATA", raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)
