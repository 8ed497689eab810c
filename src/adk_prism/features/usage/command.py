"""`adk-prism prices`: what models cost, by which list, and of which day that is."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adk_prism.cli import FAILURE, fail
from adk_prism.cli.terminal import Row, printable, table, write_json, write_rows
from adk_prism.features.usage import PRICES_FILE, UsageSettings
from adk_prism.features.usage.usage import Prices
from adk_prism.server.settings import read_settings

_COLUMNS = ("input", "cached", "output", "window")


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("model", nargs="?", default="", help="as agents name it (default: all)")
    parser.add_argument("--json", action="store_true", help="print the list as --prices takes it")
    parser.add_argument("--prices", metavar="FILE", help=PRICES_FILE)


def execute(args: argparse.Namespace) -> int:
    """Print the list, or what it has of one model. Raise `UsageError` for a list that cannot be read."""
    # `insecure` only silences the rule about the server's address.
    given = {"insecure": True} | ({"prices": args.prices} if args.prices else {})
    prices = read_settings(given, os.environ, Path.cwd()).of(UsageSettings).read()
    models = prices.models
    if args.model:
        found = prices.find(args.model)
        if found is None:
            return fail(f"the price list does not know {args.model[:100]!r}", FAILURE)
        models = {args.model: found}
    if args.json:
        write_json({**prices.about, "models": models})
    else:
        write_rows(_rows(prices, models))
    return 0


def _rows(prices: Prices, models: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    about = prices.about
    currency = f", in {about['currency']}" if "currency" in about else ""
    day = f" as of {about['asOf']}" if "asOf" in about else ""
    yield Row(f"Prices{day} per million tokens{currency}; window: most tokens of a request")
    shown = [_row(name, each) for name, each in models.items()]
    yield from map(Row, table([("model", *_COLUMNS), *shown]))
    yield from (Row(f"source: {printable(str(each))}") for each in about.get("sources", ()))


def _row(name: str, prices: Mapping[str, Any]) -> tuple[str, ...]:
    over = prices.get("over")
    more = f" (over {over['tokens']:,} tokens: more)" if over else ""
    cells = (prices.get(kind) for kind in _COLUMNS)
    numbers = ("–" if each is None else f"{each:,}" for each in cells)
    return f"{printable(name)}{more}", *numbers
