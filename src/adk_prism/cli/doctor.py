"""`adk-prism doctor`: the versions that are installed, the range that is supported, and what works.

With a URL it looks at that server instead (`doctor_url`).

Exit 1 if google-adk is outside the supported range. A capability that is off is not a failure: the
table says what adk-prism does without it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from adk_prism.cli import fail, words
from adk_prism.installation import packages
from adk_prism.version import adk_notice, adk_problem


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("url", nargs="?", metavar="URL", help=words.DOCTOR_URL)
    parser.add_argument("--origin", default="", metavar="ORIGIN", help=words.DOCTOR_ORIGIN)
    parser.add_argument("--idle", type=float, metavar="S", help=words.DOCTOR_IDLE)
    parser.add_argument("--token-file", metavar="FILE", help=words.DOCTOR_TOKEN_FILE)
    token = words.TOKEN.format(variable="ADK_PRISM_TOKEN")
    parser.add_argument("--token", metavar="TOKEN", help=token)
    parser.add_argument(
        "--header", action="append", default=[], metavar="NAME=VALUE", help=words.CONFORM_HEADER
    )


def execute(args: argparse.Namespace) -> int:
    """Print the tables. Return 1 for a google-adk that is not supported."""
    if args.url:
        from adk_prism.cli import doctor_url  # It needs more than the versions do.

        return doctor_url.execute(args)
    print(_table(words.DOCTOR_PACKAGES, _packages()))
    problem = adk_problem()
    if problem:
        return fail(problem)
    if notice := adk_notice():
        print(f"\n{notice}")
    # Not earlier: with another google-adk the import may fail.
    from adk_prism.source.adk.capabilities import probe_all

    results = probe_all()
    rows = [
        (each.capability.name, words.DOCTOR_STATES[each.is_on], each.capability.summary)
        for each in results
    ]
    print()
    print(_table(words.DOCTOR_CAPABILITIES, rows))
    for each in results:
        if not each.is_on:
            name, without = each.capability.name, each.capability.without
            print(words.DOCTOR_OFF.format(name=name, problem=each.problem, without=without))
    return 0


def _packages() -> list[tuple[str, str, str]]:
    return [
        (each.name, each.installed or words.DOCTOR_ABSENT, each.supported) for each in packages()
    ]


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
