"""An app that reads its own `.env`."""

import os

from google.adk.agents import LlmAgent

GREETING = os.environ.get("OUTSIDE_GREETING", "none")
root_agent = LlmAgent(
    name="own_env", model="gemini-2.5-flash", instruction=f"Greet with: {GREETING}"
)
