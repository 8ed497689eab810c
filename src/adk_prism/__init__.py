"""One ADK run in; every front end out. The public API, described in docs/api.md.

Names are imported when they are used, so that `adk-prism --help` and `replay` never pay for importing
ADK or FastAPI.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from adk_prism.version import OLD_NAMES, check_adk, warn_of_old
from adk_prism.version import VERSION as __version__

if TYPE_CHECKING:
    from adk_prism import errors as errors
    from adk_prism import extend as extend
    from adk_prism import grounding as grounding
    from adk_prism import models as models
    from adk_prism import proof as proof
    from adk_prism import run_logs as run_logs
    from adk_prism import testing as testing
    from adk_prism.adk.client_tools import accept_client_state as accept_client_state
    from adk_prism.adk.client_tools import accept_client_tools as accept_client_tools
    from adk_prism.adk.client_tools import client_tool as client_tool
    from adk_prism.adk.tools import idempotency_key as idempotency_key
    from adk_prism.adk.tools import idempotent as idempotent
    from adk_prism.adk.tools import limit_tool_threads as limit_tool_threads
    from adk_prism.adk.tools import on_crash as on_crash
    from adk_prism.adk.tools import tool_timeout as tool_timeout
    from adk_prism.errors import Diagnostic as Diagnostic
    from adk_prism.errors import PrismError as PrismError
    from adk_prism.errors import Report as Report
    from adk_prism.features.captures.replay import project as project
    from adk_prism.features.follow_ups.sources import FollowUpRequest as FollowUpRequest
    from adk_prism.features.follow_ups.sources import suggest_follow_ups as suggest_follow_ups
    from adk_prism.features.long_sessions.cached_prefix import cache_prefix as cache_prefix
    from adk_prism.features.recorder.plugin import Recorder as Recorder
    from adk_prism.log.contract import RunLog as RunLog
    from adk_prism.log.from_url import open_log as open_log
    from adk_prism.models import ScriptedModel as ScriptedModel
    from adk_prism.models import WritingModel as WritingModel
    from adk_prism.models import model_from_environment as model_from_environment
    from adk_prism.prism import Prism as Prism
    from adk_prism.prism import Question as Question
    from adk_prism.prism import Run as Run
    from adk_prism.progress import mcp_progress as mcp_progress
    from adk_prism.progress import report_progress as report_progress
    from adk_prism.protocols.contract import ProjectedFrame as ProjectedFrame
    from adk_prism.server.app import create_app as create_app
    from adk_prism.server.identity.caller import Principal as Principal
    from adk_prism.server.identity.methods import Authenticate as Authenticate
    from adk_prism.server.settings import Settings as Settings


_HOMES = {
    "Authenticate": "adk_prism.server.identity.methods",
    "FollowUpRequest": "adk_prism.features.follow_ups.sources",
    "Principal": "adk_prism.server.identity.caller",
    "Prism": "adk_prism.prism",
    "Question": "adk_prism.prism",
    "Recorder": "adk_prism.features.recorder.plugin",
    "ScriptedModel": "adk_prism.models",
    "Run": "adk_prism.prism",
    "Settings": "adk_prism.server.settings",
    "WritingModel": "adk_prism.models",
    "accept_client_state": "adk_prism.adk.client_tools",
    "accept_client_tools": "adk_prism.adk.client_tools",
    "cache_prefix": "adk_prism.features.long_sessions.cached_prefix",
    "client_tool": "adk_prism.adk.client_tools",
    "create_app": "adk_prism.server.app",
    "idempotency_key": "adk_prism.adk.tools",
    "idempotent": "adk_prism.adk.tools",
    "limit_tool_threads": "adk_prism.adk.tools",
    "mcp_progress": "adk_prism.progress",
    "model_from_environment": "adk_prism.models",
    "on_crash": "adk_prism.adk.tools",
    "report_progress": "adk_prism.progress",
    "suggest_follow_ups": "adk_prism.features.follow_ups.sources",
    "tool_timeout": "adk_prism.adk.tools",
}
"""Where each name is that needs google-adk or FastAPI."""

_WITHOUT_ADK = {
    "Diagnostic": "adk_prism.errors",
    "PrismError": "adk_prism.errors",
    "ProjectedFrame": "adk_prism.protocols.contract",
    "Report": "adk_prism.errors",
    "RunLog": "adk_prism.log.contract",
    "open_log": "adk_prism.log.from_url",
    "project": "adk_prism.features.captures.replay",
}
"""Where each other name is."""

_MODULES = ("errors", "extend", "grounding", "models", "proof", "run_logs", "testing")

__all__ = [
    "Authenticate",
    "Diagnostic",
    "FollowUpRequest",
    "Principal",
    "Prism",
    "PrismError",
    "ProjectedFrame",
    "Question",
    "Recorder",
    "Report",
    "Run",
    "RunLog",
    "ScriptedModel",
    "Settings",
    "WritingModel",
    "__version__",
    "accept_client_state",
    "accept_client_tools",
    "cache_prefix",
    "client_tool",
    "create_app",
    "errors",
    "extend",
    "grounding",
    "idempotency_key",
    "idempotent",
    "limit_tool_threads",
    "mcp_progress",
    "model_from_environment",
    "models",
    "on_crash",
    "open_log",
    "project",
    "proof",
    "report_progress",
    "run_logs",
    "suggest_follow_ups",
    "testing",
    "tool_timeout",
]


def __getattr__(name: str) -> Any:
    if name in OLD_NAMES:
        warn_of_old(f"adk_prism.{name}", f"adk_prism.{OLD_NAMES[name]}", level=2)
        name = OLD_NAMES[name]
    if name in _MODULES:
        return import_module(f"adk_prism.{name}")
    if name in _WITHOUT_ADK:
        return getattr(import_module(_WITHOUT_ADK[name]), name)
    if name in _HOMES:
        check_adk()
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
