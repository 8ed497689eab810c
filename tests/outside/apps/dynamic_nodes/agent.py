"""A workflow that decides in code which nodes run."""

from google.adk.agents import Context, LlmAgent
from google.adk.workflow import Workflow, node

speaker = LlmAgent(name="speaker", model="gemini-2.5-flash")


@node(rerun_on_resume=True)
async def orchestrate(ctx: Context, node_input: str) -> str:
    """Run a model twice."""
    first = await ctx.run_node(speaker, "one")
    second = await ctx.run_node(speaker, "two")
    return f"{first} / {second}"


root_agent = Workflow(name="dynamic_nodes", edges=[("START", orchestrate)])
