"""`adk-prism runs`: finds recorded runs by what was said and done in them."""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from adk_prism.cli import note, terminal
from adk_prism.cli.terminal import Row, Style, printable, progress, write_json, write_rows
from adk_prism.errors import UsageError
from adk_prism.features.captures import stored_runs
from adk_prism.features.captures.client import Client
from adk_prism.features.search.digest import RunQuery
from adk_prism.features.search.fields import SEARCH_FIELDS, read_query, shown_found
from adk_prism.features.search.index import search_of
from adk_prism.features.usage.usage import Prices, total_cost
from adk_prism.log.contract import LogReader

DEFAULT_LIMIT, MOST = 20, 200
"""Runs that are printed: by default, and at most."""

_ORIGIN = {"app": "name of the app", "user": "name of the user", "session": "id of the session"}
_HEAD = ("run", "started", "app", "outcome", "tokens", "cost", "seconds", "message")
_SPARE = ("seconds", "tokens", "started", "app", "cost")
"""Columns that a narrow terminal can do without, the first one first."""
_STYLES: dict[str, Style] = {"failed": "error", "incomplete": "error", "waiting": "ask"}
_PARTIAL = "some runs could not be searched: they are not indexed yet, or too old to be searched"


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    for name, text in (SEARCH_FIELDS | _ORIGIN).items():
        parser.add_argument(_option(name), metavar="X", dest=name, default="", help=text)
    parser.add_argument(
        "--limit",
        type=int,
        default=DEFAULT_LIMIT,
        help=f"show at most this many runs, up to {MOST}",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, as GET /api/runs answers")
    stored_runs.add_arguments(parser)
    stored_runs.add_prices(parser)


def _option(name: str) -> str:
    return "--" + re.sub("([A-Z])", r"-\1", name).lower()


def execute(args: argparse.Namespace) -> int:
    """Print the runs that fit, newest first. Raise `PrismError` for a bad question, or no log."""
    if not 1 <= args.limit <= MOST:
        raise UsageError(f"--limit must be from 1 to {MOST}, got {args.limit}.")
    with progress("Searching…"):
        found, complete = asyncio.run(_search(args))
    if args.json:
        write_json(found)
    else:
        write_rows(_table(found))
    if not complete:
        note(_PARTIAL)
    return 0


async def _search(args: argparse.Namespace) -> tuple[list[dict[str, Any]], bool]:
    fields = {name: _text(getattr(args, name)) for name in SEARCH_FIELDS}
    origin = {name: _text(getattr(args, name)) for name in _ORIGIN}
    prices = stored_runs.given_prices(args)
    # A server has prices of its own.
    query = read_query(fields | ({"cost": ""} if args.url else {}), prices, **origin)
    async with stored_runs.opened(args) as place:
        match place:
            case Client():
                given = {name: value for name, value in (fields | origin).items() if value}
                return await place.search(given | {"limit": str(args.limit)})
            case _:
                return await _look(place, query, prices, args.limit)


async def _look(
    log: LogReader, query: RunQuery, prices: Prices, limit: int
) -> tuple[list[dict[str, Any]], bool]:
    page = await search_of(log).search(query, limit=limit)
    return [shown_found(each, query.text, prices) for each in page.found], page.complete


def _text(given: str) -> str:
    # Python keeps undecodable bytes of the command line as lone surrogates.
    return given.encode(errors="replace").decode()


def _table(found: list[dict[str, Any]]) -> Iterator[Row]:
    if not found:
        yield Row("No matching runs.")
        return
    rows = [_HEAD, *map(_row, found)]
    if not any("cost" in run for run in found):
        at = _HEAD.index("cost")
        rows = [row[:at] + row[at + 1 :] for row in rows]
    styles: list[Style] = ["title", *(_STYLES.get(run["outcome"], "") for run in found)]
    yield from map(Row, terminal.table(rows, _SPARE), styles)
    yield from map(Row, _total(found))


def _total(found: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what the runs took together, such as those of one session."""
    if len(found) > 1:
        tokens = sum(run["tokens"] for run in found)
        costs = [run["cost"] for run in found if "cost" in run]
        spent = f", cost {stored_runs.cost_text(total_cost(costs))}" if costs else ""
        yield f"{len(found)} runs, {tokens} tokens{spent}"


def _row(run: dict[str, Any]) -> tuple[str, ...]:
    started = datetime.fromtimestamp(run["started"]).strftime("%Y-%m-%d %H:%M:%S")
    said = run.get("match", {}).get("excerpt") or run["title"]
    shown = printable(said)
    outcome = run["outcome"] + (f": {run['errors'][0]}" if run["errors"] else "")
    tokens, seconds = str(run["tokens"] or "–"), f"{run['duration']:.1f}"
    cost = stored_runs.cost_text(run.get("cost"))
    return run["run"], started, run["app"], outcome, tokens, cost, seconds, shown
