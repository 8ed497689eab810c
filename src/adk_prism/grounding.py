"""The grounding of a research conversation as session state, for apps: see `features.grounding.shapes`."""

from adk_prism.features.grounding.shapes import *  # noqa: F403 # its `__all__` is the public API
