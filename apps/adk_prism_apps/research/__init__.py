"""The research app: a literature search that asks before it searches and keeps its grounding."""
