"""Whether a server, ours or another, speaks a protocol, judged over HTTP; whether recordings keep laws."""

from __future__ import annotations

from adk_prism.extension import Command, Extension

EXTENSION = Extension(
    name="conform",
    summary="check whether a server speaks a protocol, and recordings keep the laws",
    requires=("captures", "fields"),
    commands=(
        Command(
            "conform",
            "check whether a server speaks a protocol: ai-sdk, ag-ui, adk or studio",
            "adk_prism.features.conform.conformance",
        ),
        Command(
            "laws",
            "check that recordings give correct streams in every protocol (the five laws)",
            "adk_prism.features.conform.laws",
        ),
    ),
)
