"""`adk-prism compare`: compares two runs, for a person or for CI."""

from __future__ import annotations

import argparse
from typing import Any

import msgspec

from adk_prism.cli import FAILURE, RUN_OR_FILE, USAGE, fail
from adk_prism.cli.terminal import Row as TextRow
from adk_prism.cli.terminal import Style, counted, printable, progress, write_json, write_rows
from adk_prism.errors import PrismError
from adk_prism.features.captures import stored_runs
from adk_prism.features.compare.comparison import ASPECTS, REQUEST_PARTS, Comparison, Row, compare
from adk_prism.features.page.outline import outline

_SIGNS = {"same": " ", "changed": "~", "moved": "^", "added": "+", "removed": "-"}
_STYLES: dict[str, Style] = {"~ ": "changed", "^ ": "changed", "+ ": "good", "- ": "error"}
"""By the sign that a line begins with."""
_VALUES = ("name", "status", "input", "output", "text")
"""What a step has of its own, of what may differ; its order and its model's requests are elsewhere."""
LONGEST_VALUE = 200
"""Characters of a value or text that are printed; --json has all."""


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    for name in ("a", "b"):
        parser.add_argument(name, metavar=name.upper(), help=RUN_OR_FILE)
    parser.add_argument(
        "--fail-on",
        action="append",
        default=[],
        choices=ASPECTS,
        help="exit with 1 if this differs; repeatable. tools: calls, arguments and how calls ended",
    )
    parser.add_argument("--json", action="store_true", help="print the whole comparison as JSON")
    stored_runs.add_arguments(parser)
    stored_runs.add_prices(parser)
    parser.epilog = (
        "Exit codes: 0 compared, 1 something of --fail-on differs, 2 it cannot be compared."
    )


def execute(args: argparse.Namespace) -> int:
    """Print the comparison. Return 1 if something differs that must not."""
    try:
        prices = stored_runs.given_prices(args)
        with progress("Comparing…"):
            a, b = stored_runs.read_stored(args.a, args), stored_runs.read_stored(args.b, args)
            compared = compare(outline(a, prices=prices), outline(b, prices=prices))
    except PrismError as error:  # Not 1: that is for runs that differ.
        return fail(error.detail, USAGE)
    if args.json:
        write_json(compared)
    else:
        write_rows(TextRow(line, _STYLES.get(line[:2], "")) for line in _lines(compared))
    broken = [aspect for aspect in compared.differs if aspect in args.fail_on]
    return fail(f"the runs differ in: {', '.join(broken)}", FAILURE) if broken else 0


def _lines(compared: Comparison) -> list[str]:
    differs, answer = ", ".join(compared.differs), compared.answer
    return [
        *(_head(name, run) for name, run in (("a", compared.a), ("b", compared.b))),
        f"The runs differ in: {differs}." if differs else "The runs are the same.",
        *([] if answer["same"] else [f"~ answer: {_both(answer['a'], answer['b'])}"]),
        *(line for row in compared.steps for line in _step(row)),
        *(f"{_SIGNS[row.change]} state {row.key}: {_both(row.a, row.b)}" for row in compared.state),
    ]


def _head(name: str, run: dict[str, Any]) -> str:
    total = run["tokens"].get("total")
    tokens = f", {total} tokens" if total is not None else ""
    cost = f", cost {stored_runs.cost_text(run['cost'])}" if "cost" in run else ""
    count = run["failures"]
    failures = f", {counted(count, 'failure')}" if count else ""
    state = f"{run['outcome'] or 'running'}, {run['seconds']:.2f} s{tokens}{cost}{failures}"
    return f"{name}  {printable(run['run'])}  {state}"


def _step(row: Row) -> list[str]:
    indent = "  " * row.depth
    about = f" ({', '.join(row.differs)})" if row.differs else ""
    lines = [f"{_SIGNS[row.change]} {indent}{row.kind} {printable(row.name)}{about}"]
    for name in row.differs:
        if name in _VALUES:
            values = [getattr(side, name) for side in (row.a, row.b)]
            lines.append(f"    {indent}{name}: {_both(*values)}")
    for part in row.request.get("a", ()):
        values = [row.request[side].get(part) for side in ("a", "b")]
        lines.append(f"    {indent}{REQUEST_PARTS[part]}: {_both(*values)}")
    return lines


def _both(a: object, b: object) -> str:
    return f"{_short(a)} → {_short(b)}"


def _short(value: object) -> str:
    if value is None:
        return "(none)"
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    text = printable(text)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
