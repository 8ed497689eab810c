"""A workflow of functions, models side by side and a join."""

from google.adk.agents import Context, LlmAgent
from google.adk.workflow import JoinNode, Workflow


def brief(ctx: Context, node_input: object) -> str:
    """Begin, and write state."""
    ctx.state["began"] = True
    return "a brief"


def conclude(node_input: dict[str, object]) -> dict[str, object]:
    """End with what came together."""
    return {"parts": sorted(node_input)}


left = LlmAgent(name="left", model="gemini-2.5-flash")
right = LlmAgent(name="right", model="gemini-2.5-flash")
root_agent = Workflow(
    name="workflow", edges=[("START", brief, (left, right), JoinNode(name="gather"), conclude)]
)
