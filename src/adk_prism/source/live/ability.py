"""Which agents can be talked to: those whose model opens live connections.

Read from the agent as google-adk 2.13 would run it (`BaseAgent.run_live`), without connecting to anything.
It decides what a page offers, not what the server allows: a model that is not known here to be live may
still turn out to be.
"""

from __future__ import annotations

import re

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.google_llm import Gemini
from google.adk.workflow import BaseNode

_LIVE_GEMINI = re.compile(r"(?:^|-)(?:live|native-audio)(?:-|$)")
"""Of all Gemini models only those of the Live API take such a connection, and their names say so."""


def can_talk(root: BaseNode) -> bool:
    """Tell whether a live run of an agent has a model to speak with."""
    match root:
        case LlmAgent():
            return _has_live_model(root)
        case SequentialAgent():
            return bool(root.sub_agents) and all(map(can_talk, root.sub_agents))
        case ParallelAgent() | LoopAgent():
            return False  # ADK refuses to run them live
        case BaseAgent():
            return type(root)._run_live_impl is not BaseAgent._run_live_impl
        case _:
            return False  # of a workflow's nodes, any may come first


def _has_live_model(agent: LlmAgent) -> bool:
    try:
        model = agent.canonical_live_model
    except (ValueError, ImportError):  # ADK knows no class for the name, or its package is missing
        return False
    if type(model).connect is BaseLlm.connect:
        return False
    name = model.model.rpartition("/")[2]
    return not isinstance(model, Gemini) or _LIVE_GEMINI.search(name) is not None
