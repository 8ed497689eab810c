"""`--prices FILE` of commands that show what runs cost."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from adk_prism.cli import words
from adk_prism.facts.pricing import Prices
from adk_prism.server.price_list import prices_of
from adk_prism.server.settings.sources import read_settings


def add_prices(parser: argparse.ArgumentParser) -> None:
    """Add the argument."""
    parser.add_argument("--prices", metavar="FILE", help=words.PRICES)


def given_prices(args: argparse.Namespace) -> Prices:
    """Return the prices of the file that is named, here or in the settings. Raise `UsageError`."""
    # `insecure` only silences the rule about the server's address.
    given = {"insecure": True} | ({"prices": args.prices} if args.prices else {})
    return prices_of(read_settings(given, os.environ, Path.cwd()))


def cost_text(cost: float | None) -> str:
    """Return a cost in four digits; – if it is not known."""
    return "–" if cost is None else f"{cost:.4g}"
