"""One run of an app on the command line: its result in words, or the bytes of a protocol."""

from __future__ import annotations

from adk_prism.extension import Command, Extension

EXTENSION = Extension(
    name="run",
    summary="run an app once on the command line",
    requires=("usage",),
    commands=(
        Command(
            "run",
            "run an app once and print the result; it is not recorded",
            "adk_prism.features.run.command",
        ),
    ),
)
