"""A workflow whose step raises."""

from google.adk.workflow import Workflow


def fine(node_input: object) -> str:
    """Work."""
    return "fine"


def broken(node_input: object) -> str:
    """Raise."""
    raise ValueError("The step is broken.")


root_agent = Workflow(name="workflow_failing", edges=[("START", fine, broken)])
