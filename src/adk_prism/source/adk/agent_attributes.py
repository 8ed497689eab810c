"""Private attributes of agents and nodes that have no public counterpart."""

from __future__ import annotations

from pathlib import Path

from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.workflow import BaseNode, FunctionNode

from adk_prism.source.adk.capability import Capability, require


def default_model(agent: LlmAgent) -> str | BaseLlm:
    """Return the model of an agent without one: what `LlmAgent.set_default_model` has set."""
    model: str | BaseLlm = getattr(agent, "_default_model", LlmAgent.DEFAULT_MODEL)
    return model


def worker_node(node: BaseNode) -> BaseNode:
    """Return the node that a parallel worker runs for each item of a list; any other node as it is."""
    inner = getattr(node, "_node", None)
    return inner if isinstance(inner, BaseNode) and inner.name == node.name else node


def origin_folder(root: BaseNode) -> Path | None:
    """Return the folder from which ADK's loader read an agent; None for one that was built in Python."""
    folder = getattr(root, "_adk_origin_path", None)
    return folder if isinstance(folder, Path) else None


def _probe() -> None:
    from google.adk.workflow._parallel_worker import _ParallelWorker

    require(hasattr(LlmAgent, "_default_model"), "LlmAgent has no _default_model.")
    inner = FunctionNode(func=_nothing, name="probe")
    worker = _ParallelWorker(node=inner)
    require(worker_node(worker) is inner, "A parallel worker keeps its node elsewhere.")


def _nothing() -> None:
    """Do nothing: the function of the node that is probed."""


CAPABILITY = Capability(
    name="agent attributes",
    summary="name the default model, and see the node inside a parallel worker",
    without="ADK's built-in default model is named; parallel workers are shown without their node",
    probe=_probe,
)
