"""The state of a research conversation as a person reads it: question, plan, searches, what comes next.

The state keys are those of `adk_prism.grounding` (docs/protocols/grounding.md).
"""

from __future__ import annotations

from adk_prism.extension import Extension

EXTENSION = Extension(name="grounding", summary="the state of a research conversation, as a panel")
