"""The terminal panel: chat with an app, and see its runs, without a browser."""

from __future__ import annotations

from adk_prism.extension import Command, Extension

EXTENSION = Extension(
    name="console",
    summary="chat with an app in the terminal",
    requires=("captures", "grounding", "page", "run"),
    commands=(
        Command(
            "console", "chat with an app in the terminal", "adk_prism.features.console.command"
        ),
    ),
)
