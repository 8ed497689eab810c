"""Calls of a run: reading them, their streamed arguments, and what is pending."""
