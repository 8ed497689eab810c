"""Helpers for the tests of agents, of programs that embed adk-prism, and of packages that extend it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adk_prism.testing.client import Reply as Reply
    from adk_prism.testing.client import TestClient as TestClient
    from adk_prism.testing.client import ToolCall as ToolCall
    from adk_prism.testing.laws import check_laws as check_laws
    from adk_prism.testing.recordings import recorded_model as recorded_model
    from adk_prism.testing.runlog_machine import machine_for as log_machine
    from adk_prism.testing.runlog_steps import Store as Store
    from adk_prism.testing.side_store_contract import LOG_CHECKS as LOG_CHECKS

_HOMES = {
    "LOG_CHECKS": "side_store_contract.LOG_CHECKS",
    "Reply": "client.Reply",
    "Store": "runlog_steps.Store",
    "TestClient": "client.TestClient",
    "ToolCall": "client.ToolCall",
    "check_laws": "laws.check_laws",
    "log_machine": "runlog_machine.machine_for",
    "recorded_model": "recordings.recorded_model",
}
"""Where each name is. Imported when it is used: pytest loads our plugin in every run."""

__all__ = [
    "LOG_CHECKS",
    "Reply",
    "Store",
    "TestClient",
    "ToolCall",
    "check_laws",
    "log_machine",
    "recorded_model",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'adk_prism.testing' has no attribute {name!r}")
    module, _, own = _HOMES[name].partition(".")
    return getattr(import_module(f"adk_prism.testing.{module}"), own)
