"""Backups of what a server stores, taken while it runs; and what a newer version changes in its files."""

from __future__ import annotations

from adk_prism.extension import Command, Extension

EXTENSION = Extension(
    name="backup",
    summary="back up, restore and migrate what a server stores",
    commands=(
        Command(
            "backup",
            "copy the runs, sessions and artifacts of a server into one file, while it runs",
            "adk_prism.features.backup.backup",
        ),
        Command(
            "restore",
            "put a backup into an empty data folder or Redis",
            "adk_prism.features.backup.restore",
        ),
        Command(
            "migrate",
            "bring the run log to this version, or only check whether that is needed",
            "adk_prism.features.backup.migrate",
        ),
    ),
)
