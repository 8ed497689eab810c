"""Instructions made by a function, with state in them, and an artifact in a template."""

from google.adk.agents import LlmAgent
from google.adk.agents.readonly_context import ReadonlyContext


def instruct(context: ReadonlyContext) -> str:
    """Make the instruction from the state."""
    return f"Speak {context.state.get('lang', 'Latin')}."


helper = LlmAgent(
    name="helper", model="gemini-2.5-flash", instruction="In {lang?}, for {user:name?}."
)
root_agent = LlmAgent(
    name="dynamic_instruction",
    model="gemini-2.5-flash",
    instruction=instruct,
    global_instruction="Be kind. {lang?}",
    static_instruction="Never lie.",
    sub_agents=[helper],
)
