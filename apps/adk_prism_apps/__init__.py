"""A folder of ADK apps. `adk-prism serve` without a folder serves them beside the tour."""
