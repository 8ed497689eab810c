"""An agent of a model without a live connection: it can be written to, not talked to."""

from __future__ import annotations

from google.adk.agents import LlmAgent

root_agent = LlmAgent(name="mute", model="gemini-2.5-flash")
