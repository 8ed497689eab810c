"""Features are tested on the servers of `tests/server`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.conftest import OF_ADK, app, client, reports, serve, settings, unbuilt

__all__ = ["app", "client", "reports", "serve", "settings", "unbuilt"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let ADK warn of itself in the tests of this folder."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            for rule in OF_ADK:
                item.add_marker(pytest.mark.filterwarnings(rule))
