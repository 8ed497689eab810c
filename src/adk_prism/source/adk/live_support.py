"""Which agents support live runs: those whose model opens live connections.

Read from the agent as google-adk 2.13 would run it (`BaseAgent.run_live`), without opening a connection. It
decides what the page offers, not what the server allows: a model that is not recognised here may still be
live.

Without `_run_live_impl` an agent that is neither an LlmAgent nor a SequentialAgent counts as unsupported.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from functools import cache

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.google_llm import Gemini
from google.adk.workflow import BaseNode

_LIVE_GEMINI = re.compile(r"(?:^|-)(?:live|native-audio)(?:-|$)")
"""Gemini models of the Live API have this in their names; the others refuse a live connection."""


def supports_live(root: BaseNode) -> bool:
    """Return whether an agent can be run live."""
    match root:
        case LlmAgent():
            return _has_live_model(root)
        case SequentialAgent():
            return bool(root.sub_agents) and all(map(supports_live, root.sub_agents))
        case BaseAgent():
            return _implements_live(type(root))
        case _:
            return False  # a workflow: any of its nodes may come first


def _implements_live(kind: type[BaseAgent]) -> bool:
    run_live = getattr(kind, "_run_live_impl", None)
    return run_live is not None and not _is_unimplemented(run_live)


@cache
def _is_unimplemented(run_live: Callable[..., object]) -> bool:
    """Return whether a method only raises `NotImplementedError`.

    ADK has such methods in ParallelAgent, LoopAgent, RemoteA2aAgent, and in BaseAgent for subclasses that
    define none.
    """
    try:
        source = textwrap.dedent(inspect.getsource(run_live))
    except (OSError, TypeError):  # no source file
        return run_live is getattr(BaseAgent, "_run_live_impl", None)
    return only_raises(source)


def only_raises(source: str) -> bool:
    """Return whether the first statement of a function raises `NotImplementedError`."""
    function = ast.parse(source).body[0]
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    body = [each for each in function.body if not isinstance(each, ast.Expr | ast.Delete)]
    if not body or not isinstance(body[0], ast.Raise):
        return False
    raised = body[0].exc.func if isinstance(body[0].exc, ast.Call) else body[0].exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def _has_live_model(agent: LlmAgent) -> bool:
    try:
        model = agent.canonical_live_model
    except (ValueError, ImportError):  # an unknown model name, or its package is not installed
        return False
    if type(model).connect is BaseLlm.connect:
        return False
    name = model.model.rpartition("/")[2]
    return not isinstance(model, Gemini) or _LIVE_GEMINI.search(name) is not None


def probe() -> str | None:
    """Return None if agents of ADK's that cannot run live are recognised, else why not."""
    if not hasattr(BaseAgent, "_run_live_impl"):
        return "BaseAgent has no _run_live_impl."
    if _implements_live(BaseAgent) or _implements_live(ParallelAgent):
        return "BaseAgent and ParallelAgent no longer refuse live runs with NotImplementedError."
    return None
