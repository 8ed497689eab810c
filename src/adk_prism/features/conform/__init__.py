"""Whether a server, ours or another, speaks a protocol: judged from outside, over HTTP."""

from __future__ import annotations

from adk_prism.extension import Command, Extension

EXTENSION = Extension(
    name="conform",
    summary="check whether a server speaks a protocol",
    requires=("captures", "fields"),
    commands=(
        Command(
            "conform",
            "check whether a server speaks a protocol: ai-sdk, ag-ui, adk or studio",
            "adk_prism.features.conform.command",
        ),
    ),
)
