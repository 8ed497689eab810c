"""Reading prose: Markdown without its markup, and what specialists state in it."""
