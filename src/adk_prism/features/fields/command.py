"""`adk-prism fields`: lists how each field of ADK, of the AI SDK, of AG-UI and of OpenAI is handled.

Prints how many fields of each upstream type are projected, carried or dropped, and how many keys of the
others are emitted or declined. With `--check`, prints only fields without a decision and exits with 1
if there are any.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from adk_prism.cli import FAILURE
from adk_prism.cli.terminal import write_json
from adk_prism.version import adk_notice

if TYPE_CHECKING:
    from adk_prism.features.fields.report import Coverage, Report


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "--check",
        action="store_true",
        help="print only fields without a decision; exit 1 if there are any",
    )
    parser.add_argument(
        "--json", action="store_true", help="print every field with its disposition as JSON"
    )


def execute(args: argparse.Namespace) -> int:
    """Print the report. With `--check`, return 1 if a disposition is missing or stale."""
    # Importing ADK takes seconds, so arguments are checked first.
    from adk_prism.features.fields import report as reports

    found = reports.report(
        reports.read_inventory(),
        reports.read_releases(),
        reports.read_ag_ui_releases(),
        reports.read_openai_releases(),
    )
    if args.json:
        write_json(reports.to_json(found))
    elif not args.check:
        print("\n".join(_tables(found)))
    for finding in () if args.json else found.findings:
        print(finding.message, file=sys.stderr)
    if notice := adk_notice():
        print(notice, file=sys.stderr)
    if args.check and not args.json and not found.findings:
        print(
            f"All decided: {_sum(found.fields)} fields and values, {_sum(found.chunks)}"
            f" chunk keys, {_sum(found.events)} event keys, {_sum(found.openai)} of OpenAI."
        )
    return FAILURE if args.check and found.findings else 0


def _sum(coverages: Iterable[Coverage]) -> int:
    return sum(len(coverage.items) for coverage in coverages)


def _tables(found: Report) -> Iterator[str]:
    from adk_prism.features.fields.report import CHUNK_KINDS, FIELD_KINDS

    packages = dict.fromkeys(coverage.origin for coverage in found.fields)
    yield from _table(f"fields of {', '.join(packages)}", found.fields, FIELD_KINDS)
    yield ""
    origin = found.chunks[0].origin
    yield from _table(f"chunk keys of {origin}", found.chunks, CHUNK_KINDS)
    yield ""
    yield from _table(f"event keys of {found.events[0].origin}", found.events, CHUNK_KINDS)
    yield ""
    yield from _table(f"keys of {found.openai[0].origin}", found.openai, CHUNK_KINDS)


def _table(title: str, coverages: tuple[Coverage, ...], kinds: tuple[str, ...]) -> Iterator[str]:
    from adk_prism.features.fields.report import totals

    columns = (*kinds, "missing")
    width = max(len(title), *(len(coverage.name) for coverage in coverages)) + 2
    yield f"{title:<{width}}{'all':>5}" + "".join(f"{column:>11}" for column in columns)
    for coverage in coverages:
        yield _line(coverage.name, coverage.counts, columns, width)
    counts = totals(coverages)
    yield _line("total", counts, columns, width)
    decided = counts.total() - counts["missing"]
    yield f"coverage: {decided} of {counts.total()}, {decided / counts.total():.1%}"


def _line(name: str, counts: Counter[str], columns: tuple[str, ...], width: int) -> str:
    numbers = "".join(f"{counts[column] or '-':>11}" for column in columns)
    return f"{name:<{width}}{counts.total():>5}{numbers}"
