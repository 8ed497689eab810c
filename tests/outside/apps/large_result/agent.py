"""A result of 300 kB."""

from google.adk.agents import LlmAgent


def large() -> dict[str, object]:
    """Return much."""
    return {"rows": [{"row": at, "text": "x" * 90} for at in range(3000)]}


root_agent = LlmAgent(
    name="large_result",
    model="gemini-2.5-flash",
    tools=[large],
)
