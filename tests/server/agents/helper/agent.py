"""An ordinary app: an agent with a tool and a sub-agent. Its model is never called."""

from google.adk.agents import LlmAgent


def look_up(word: str) -> dict[str, str]:
    """Look a word up."""
    return {"word": word}


def instruct(_: object) -> str:
    """Return an instruction that depends on the session."""
    return "Be brief."


root_agent = LlmAgent(
    name="helper",
    model="offline",
    description="Helps",
    instruction="Help.",
    tools=[look_up],
    sub_agents=[LlmAgent(name="second", model="offline", instruction=instruct)],
)
