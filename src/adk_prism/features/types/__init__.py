"""TypeScript types for front ends: data parts, metadata, and the tools of an app."""

from __future__ import annotations

from adk_prism.extension import Command, Extension

EXTENSION = Extension(
    name="types",
    summary="TypeScript types for useChat",
    commands=(
        Command(
            "types", "print TypeScript types for useChat", "adk_prism.features.types.typescript"
        ),
    ),
)
