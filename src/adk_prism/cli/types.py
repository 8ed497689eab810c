"""`adk-prism types`: prints TypeScript types of our data parts and message metadata."""

from __future__ import annotations

import argparse
import sys

from adk_prism.projection.ai_sdk.typescript import declarations


def register(parser: argparse.ArgumentParser) -> None:
    """Add no arguments."""
    parser.epilog = "Write the output to a file of your project: adk-prism types > prism.ts"


def execute(_: argparse.Namespace) -> int:
    """Print the types."""
    sys.stdout.write(declarations())
    return 0
