"""A tool that raises: the run fails."""

from google.adk.agents import LlmAgent


def fail(reason: str) -> dict[str, str]:
    """Fail."""
    raise RuntimeError(f"It fails: {reason}")


root_agent = LlmAgent(
    name="failing_tool",
    model="gemini-2.5-flash",
    tools=[fail],
)
