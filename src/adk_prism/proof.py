"""The proof behind a tool's answer as data, for apps: see `features.proof.layer`."""

from adk_prism.features.proof.layer import *  # noqa: F403 # its `__all__` is the public API
