"""`adk-prism types`: prints TypeScript types of our data parts and metadata, and of an app's tools."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from adk_prism.cli import AGENTS_DIR, FAILURE, DiagnosticPrinter, note
from adk_prism.cli.terminal import progress
from adk_prism.errors import UsageError
from adk_prism.features.types import typescript
from adk_prism.features.types.typescript import declarations


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "app", metavar="APP", nargs="?", help="also print the types of this app's tools"
    )
    parser.add_argument("--dir", metavar="AGENTS_DIR", help=AGENTS_DIR)
    parser.epilog = "Write the output to a file of your project: adk-prism types my_app > prism.ts"


def execute(args: argparse.Namespace) -> int:
    """Print the types; return 1 if a tool of the app could not be read. Raise `UsageError`."""
    if args.app is None:
        if args.dir:
            raise UsageError("--dir needs an APP: adk-prism types APP --dir AGENTS_DIR")
        sys.stdout.write(declarations())
        return 0
    return asyncio.run(_print(args.app, Path(args.dir) if args.dir else None))


async def _print(name: str, folder: Path | None) -> int:
    # Importing ADK takes seconds, so arguments are checked first.
    from adk_prism.adk.apps import open_app
    from adk_prism.adk.services import IN_MEMORY
    from adk_prism.features.types.tool_schemas import ToolSchema, UnreadTool, tool_schemas

    with progress(f"Loading {name}…"):
        opening = open_app(name, folder, IN_MEMORY, Path.cwd(), report=DiagnosticPrinter())
        async with opening as apps:
            found = await tool_schemas(apps.app(name).runner("graph").agent)
    unread = [each for each in found if isinstance(each, UnreadTool)]
    for each in unread:
        note(f"No types for {each.tool} of {each.agent}: {each.reason[:300]}")
    tools = ((t.name, t.description, t.input, t.output) for t in found if isinstance(t, ToolSchema))
    sys.stdout.write(declarations() + "\n" + typescript.tool_declarations(name, tools))
    return FAILURE if unread else 0
