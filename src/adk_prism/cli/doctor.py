"""`adk-prism doctor`: the versions that are installed, the range that is supported, and what works.

Exit 1 if google-adk is outside the supported range. A capability that is off is not a failure: the
table says what adk-prism does without it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from adk_prism.cli import fail
from adk_prism.errors import NotBuilt
from adk_prism.installation import packages
from adk_prism.version import adk_problem


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("url", nargs="?", metavar="URL", help="not in this version")


def execute(args: argparse.Namespace) -> int:
    """Print the tables. Return 1 for a google-adk that is not supported."""
    if args.url:
        raise NotBuilt(
            "checking a URL is not in this version; run `adk-prism doctor` without one to check "
            "what is installed."
        )
    print(_table(("package", "installed", "supported"), _packages()))
    problem = adk_problem()
    if problem:
        return fail(problem)
    # Not earlier: with another google-adk the import may fail.
    from adk_prism.source.adk.capabilities import probe_all

    results = probe_all()
    rows = [
        (each.capability.name, "on" if each.is_on else "off", each.capability.summary)
        for each in results
    ]
    print()
    print(_table(("capability", "", "what it is for"), rows))
    for each in results:
        if not each.is_on:
            print(f"\n{each.capability.name} is off: {each.problem}")
            print(f"Without it: {each.capability.without}.")
    return 0


def _packages() -> list[tuple[str, str, str]]:
    return [(each.name, each.installed or "not installed", each.supported) for each in packages()]


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
