"""Which agents can be talked to: those whose model opens live connections.

Read from the agent as google-adk 2.13 would run it (`BaseAgent.run_live`), without connecting to anything.
It decides what a page offers, not what the server allows: a model that is not known here to be live may
still turn out to be.
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
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.google_llm import Gemini
from google.adk.workflow import BaseNode

_LIVE_GEMINI = re.compile(r"(?:^|-)(?:live|native-audio)(?:-|$)")
"""Of all Gemini models only those of the Live API take such a connection, and their names say so."""


def supports_live(root: BaseNode) -> bool:
    """Tell whether a live run of an agent has a model to speak with."""
    match root:
        case LlmAgent():
            return _has_live_model(root)
        case SequentialAgent():
            return bool(root.sub_agents) and all(map(supports_live, root.sub_agents))
        case BaseAgent():
            return not _declines(type(root)._run_live_impl)
        case _:
            return False  # of a workflow's nodes, any may come first


@cache
def _declines(run_live: Callable[..., object]) -> bool:
    """Tell whether a method only says that it is not implemented.

    So do ADK's own for agents that cannot run live: ParallelAgent, LoopAgent, RemoteA2aAgent, and BaseAgent
    for every agent that does not say anything.
    """
    try:
        source = textwrap.dedent(inspect.getsource(run_live))
    except (OSError, TypeError):  # written where no source is kept
        return run_live is BaseAgent._run_live_impl
    return only_raises(source)


def only_raises(source: str) -> bool:
    """Tell whether the first thing that a function does is to raise `NotImplementedError`."""
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
    except (ValueError, ImportError):  # ADK knows no class for the name, or its package is missing
        return False
    if type(model).connect is BaseLlm.connect:
        return False
    name = model.model.rpartition("/")[2]
    return not isinstance(model, Gemini) or _LIVE_GEMINI.search(name) is not None
