"""One ADK run in; every front end out. The public names, loaded when they are used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from adk_prism.version import VERSION as __version__
from adk_prism.version import check_adk

if TYPE_CHECKING:
    from adk_prism.pipeline.project import project as project
    from adk_prism.server.app import create_app as create_app
    from adk_prism.server.prism import Prism as Prism
    from adk_prism.source.cached_prefix import cached_prefix as cached_prefix
    from adk_prism.source.client_state import client_state as client_state
    from adk_prism.source.client_tool import client_tool as client_tool
    from adk_prism.source.client_tools import client_tools as client_tools
    from adk_prism.source.doubt import idempotency_key as idempotency_key
    from adk_prism.source.doubt import idempotent as idempotent
    from adk_prism.source.doubt import in_doubt as in_doubt
    from adk_prism.source.tool_threads import tool_threads as tool_threads


_HOMES = {
    "create_app": "adk_prism.server.app",
    "Prism": "adk_prism.server.prism",
    "project": "adk_prism.pipeline.project",
    "cached_prefix": "adk_prism.source.cached_prefix",
    "client_state": "adk_prism.source.client_state",
    "client_tool": "adk_prism.source.client_tool",
    "client_tools": "adk_prism.source.client_tools",
    "idempotency_key": "adk_prism.source.doubt",
    "idempotent": "adk_prism.source.doubt",
    "in_doubt": "adk_prism.source.doubt",
    "tool_threads": "adk_prism.source.tool_threads",
}

_WITHOUT_ADK = frozenset({"project"})

__all__ = [
    "Prism",
    "__version__",
    "cached_prefix",
    "client_state",
    "client_tool",
    "client_tools",
    "create_app",
    "idempotency_key",
    "idempotent",
    "in_doubt",
    "project",
    "tool_threads",
]


def __getattr__(name: str) -> Any:
    # Lazy, so that `adk-prism --help` and `replay` never pay for importing ADK or FastAPI.
    if name in _HOMES:
        if name not in _WITHOUT_ADK:
            check_adk()
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
