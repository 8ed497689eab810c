"""Settings of the model's answer, and metadata that come with them."""

from google.adk.agents import LlmAgent
from google.genai import types

root_agent = LlmAgent(
    name="settings",
    model="gemini-2.5-flash",
    generate_content_config=types.GenerateContentConfig(
        temperature=0.1, response_logprobs=True, logprobs=2, labels=None, max_output_tokens=99
    ),
)
