"""The ADK plugin that records runs where they happen, and what takes the records elsewhere."""
