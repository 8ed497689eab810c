"""Warnings of ADK about its own features, as for the server's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let ADK warn of itself in the tests of this folder."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]"))
            item.add_marker(pytest.mark.filterwarnings("ignore:Please use create_session instead"))
