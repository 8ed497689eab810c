"""An instruction that names state which is not there: the run fails."""

from google.adk.agents import LlmAgent

root_agent = LlmAgent(
    name="missing_variable", model="gemini-2.5-flash", instruction="Use {absent}."
)
