"""Every backend keeps the contract of run logs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from tests.runlog.stores import STORES

from adk_prism.testing.runlog_contract import CHECKS, Check
from adk_prism.testing.runlog_steps import Store


@pytest.mark.parametrize("store", STORES, ids=lambda store: store.__name__)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_contract(check: Check, store: Callable[[], AbstractContextManager[Store]]) -> None:
    """Each check's docstring is the rule."""
    with store() as place:
        await check(place)
