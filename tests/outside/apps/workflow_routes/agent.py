"""A workflow that chooses its way, and one step that is tried again."""

from google.adk.agents import Context
from google.adk.events import Event
from google.adk.workflow import FunctionNode, RetryConfig, Workflow


def choose(node_input: object) -> Event:
    """Choose a route by what the person said."""
    return Event(output="chosen", route="long" if "long" in str(node_input) else "short")


def short(node_input: object) -> str:
    """Go the short way."""
    return "short"


def long(ctx: Context, node_input: object) -> dict[str, object]:
    """Fail the first time."""
    if ctx.attempt_count == 1:
        raise ConnectionError("The first attempt fails.")
    return {"attempts": ctx.attempt_count}


again = RetryConfig(max_attempts=2, initial_delay=0.0, jitter=0.0)
shaky = FunctionNode(func=long, name="long", retry_config=again)
root_agent = Workflow(
    name="workflow_routes", edges=[("START", choose, {"short": short, "long": shaky})]
)
