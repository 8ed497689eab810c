"""Which upstream fields are handled, and how: of ADK, the AI SDK and AG-UI."""

from __future__ import annotations

from adk_prism.extension import Command, Extension

EXTENSION = Extension(
    name="fields",
    summary="field coverage of ADK, AI SDK and AG-UI",
    commands=(
        Command(
            "fields",
            "list which ADK and AI SDK fields are supported",
            "adk_prism.features.fields.command",
        ),
    ),
)
