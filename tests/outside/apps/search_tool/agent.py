"""A search that the model's provider runs."""

from google.adk.agents import LlmAgent
from google.adk.tools import google_search

root_agent = LlmAgent(name="search_tool", model="gemini-2.5-flash", tools=[google_search])
