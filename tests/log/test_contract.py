"""Every backend keeps the contracts of run logs, of side stores and of search indexes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from tests.log.stores import STORES

from adk_prism.testing import runlog_contract, search_contract, side_store_contract
from adk_prism.testing.runlog_contract import Check
from adk_prism.testing.runlog_steps import Store

CHECKS = (*runlog_contract.CHECKS, *side_store_contract.CHECKS, *search_contract.CHECKS)


@pytest.mark.parametrize("store", STORES, ids=lambda store: store.__name__)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_contract(check: Check, store: Callable[[], AbstractContextManager[Store]]) -> None:
    """Each check's docstring is the rule."""
    with store() as place:
        await check(place)
