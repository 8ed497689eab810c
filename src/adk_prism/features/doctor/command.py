"""`adk-prism doctor`: the versions that are installed, the range that is supported, and what works.

With a URL it looks at that server instead, through whatever is in between. Only that imports an HTTP client.

Budgets and rules that are set here are listed; what is wrong in them is said, exit 2.

Exit 1 if google-adk is outside the supported range. A capability that is off is not a failure: the
table says what adk-prism does without it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from adk_prism.cli import ACCESS_TOKEN, FAILURE, REQUEST_HEADER, fail
from adk_prism.cli.terminal import printable
from adk_prism.errors import UsageError
from adk_prism.extension import Extensions, installed
from adk_prism.version import adk_notice, adk_problem, packages

if TYPE_CHECKING:
    from adk_prism.features.doctor.connection_doctor import Finding


# ---------------------------------------------------------------------- a running server

PATIENCE = 150.0
"""Seconds for one answer: more than the longest silence that is tried."""
LONGEST_SILENCE = 120.0


def examine_server(args: argparse.Namespace) -> int:
    """Print what was found, a line each. Return 1 if there is a problem."""
    if args.idle is not None and not 0 <= args.idle <= LONGEST_SILENCE:
        raise UsageError(
            f"--idle must be from 0 to {LONGEST_SILENCE:g} seconds, got {args.idle:g}."
        )
    if args.origin and urlsplit(args.origin).scheme not in ("http", "https"):
        raise UsageError("--origin must be the origin of a page, e.g. https://app.example.com.")
    findings = asyncio.run(_look(args))
    for each in findings:
        sys.stdout.write(_line(each))
    return FAILURE if any(each.verdict == "problem" for each in findings) else 0


async def _look(args: argparse.Namespace) -> list[Finding]:
    from adk_prism.features.captures.client import find_token
    from adk_prism.features.conform.checks import connected
    from adk_prism.features.conform.conformance import read_header
    from adk_prism.features.doctor.connection_doctor import Doctor, Place

    auth = find_token(args.token, args.token_file, os.environ)
    headers = dict(map(read_header, args.header))
    place = Place(url=args.url, origin=args.origin.rstrip("/"), silence=args.idle)
    async with connected(args.url, headers, PATIENCE, auth) as exchange:
        return await Doctor(place, exchange).look()


def _line(finding: Finding) -> str:
    text = f"{finding.verdict:10} {finding.name:10} {finding.text.removesuffix('.')}."
    if finding.remedy:
        text += f" Remedy: {finding.remedy}"
    return printable(text) + "\n"


# ---------------------------------------------------------------------- versions and capabilities


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "url",
        nargs="?",
        metavar="URL",
        help="a running server, looked at from here instead: buffering, CORS, prefix, sockets and more",
    )
    parser.add_argument(
        "--origin",
        default="",
        metavar="ORIGIN",
        help="origin of a page that calls the server from elsewhere, e.g. https://app.example.com",
    )
    parser.add_argument(
        "--idle",
        type=float,
        metavar="S",
        help="seconds of silence to try, 0 for none; default: a second more than the server's keep-alive",
    )
    parser.add_argument(
        "--token-file", metavar="FILE", help="file with your access token for the server"
    )
    parser.add_argument("--token", metavar="TOKEN", help=ACCESS_TOKEN)
    parser.add_argument(
        "--header", action="append", default=[], metavar="NAME=VALUE", help=REQUEST_HEADER
    )


def execute(args: argparse.Namespace) -> int:
    """Print the tables. Return 1 for a google-adk that is not supported."""
    if args.url:
        return examine_server(args)
    print(_table(("package", "installed", "supported"), _packages()))
    problem = adk_problem()
    if problem:
        return fail(problem)
    if notice := adk_notice():
        print(f"\n{notice}")
    # Not earlier: with another google-adk the import may fail.
    from adk_prism.adk.internals.capabilities import PLACES, probe_all

    results = probe_all()
    rows = [
        (each.capability.name, {True: "on", False: "off"}[each.is_on], each.capability.summary)
        for each in results
    ]
    print()
    print(_table(("capability", "", "what it is for"), rows))
    for each in results:
        if not each.is_on:
            name, without = each.capability.name, each.capability.without
            print(f"\n{name} is off: {each.problem}\nWithout it: {without}.")
    print()
    print(_table(("uses internals of", "because"), PLACES.items()))
    found = installed()
    print()
    print(_table(("feature", "what it adds", "needs"), _features(found)))
    for fault in found.faults:
        print(f"\n{fault}")
    if restricted := _restrictions(found):
        print()
        print(_table(("what is restricted", "by the settings here"), restricted))
    return 0


def _restrictions(found: Extensions) -> list[tuple[str, str]]:
    """Return budgets and rules of the environment and `pyproject.toml`. Raise `UsageError` for wrong ones."""
    from adk_prism.server.settings import read_settings

    # `insecure` only silences the rule about the server's address.
    settings = read_settings({"insecure": True}, os.environ, Path.cwd())
    features = (found.used.get(name) for name in ("budgets", "app_rules"))
    groups = [settings.of(each.settings()) for each in features if each and each.settings]
    rows = []
    for name, value in (row for group in groups for row in vars(group).items()):
        rows += [(name, text) for text in ([value] if isinstance(value, str) else value) if text]
    missing = [text for name, text in rows if name == "rules" and not Path(text).is_file()]
    if missing:
        raise UsageError(f"rules: there is no file {missing[0]}.")
    return rows


def _features(found: Extensions) -> list[tuple[str, str, str]]:
    return [
        (name, each.summary, ", ".join(each.requires)) for name, each in sorted(found.used.items())
    ]


def _packages() -> list[tuple[str, str, str]]:
    return [(each.name, each.installed or "not installed", each.supported) for each in packages()]


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
