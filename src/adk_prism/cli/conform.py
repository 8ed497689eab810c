"""`adk-prism conform URL --as PROTOCOL`: whether a server speaks a protocol, judged from outside.

Exit 0: it conforms; 1: it does not; 2: it could not be tried.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from adk_prism.cli import FAILURE, USAGE, fail, words
from adk_prism.cli.junit import write_suite
from adk_prism.cli.terminal import write_json, write_text
from adk_prism.conform.conformance import DRIVERS, checks_of, judge
from adk_prism.conform.exchange import CannotTry
from adk_prism.conform.npm_client import find_client
from adk_prism.conform.probe import Options
from adk_prism.conform.report_text import as_json, as_junit, as_text, list_text
from adk_prism.errors import UsageError

PROMPT = "Hello"


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("url", nargs="?", metavar="URL", help=words.CONFORM_URL)
    parser.add_argument(
        "--as", dest="protocol", required=True, choices=DRIVERS, help=words.CONFORM_AS
    )
    parser.add_argument("--app", default="", metavar="APP", help=words.CONFORM_APP)
    parser.add_argument(
        "--prompt",
        action="append",
        metavar="TEXT",
        help=words.CONFORM_PROMPT.format(prompt=PROMPT),
    )
    parser.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=words.CONFORM_HEADER,
    )
    parser.add_argument("--approve", action="store_true", help=words.CONFORM_APPROVE)
    parser.add_argument(
        "--except",
        dest="left_out",
        action="append",
        default=[],
        metavar="ID",
        help=words.CONFORM_EXCEPT,
    )
    parser.add_argument("--client", nargs="?", const=".", metavar="DIR", help=words.CONFORM_CLIENT)
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help=words.CONFORM_TIMEOUT
    )
    parser.add_argument("--json", action="store_true", help=words.CONFORM_JSON)
    parser.add_argument("--junit", metavar="FILE", help=words.CONFORM_JUNIT)
    parser.add_argument("--list", action="store_true", help=words.CONFORM_LIST)


def execute(args: argparse.Namespace) -> int:
    """Judge the server and print the report."""
    if args.list:
        write_text(list_text(checks_of(args.protocol)))
        return 0
    options = _options(args)
    client = find_client(args.protocol, Path(args.client or "."), required=args.client is not None)
    try:
        report = asyncio.run(judge(args.protocol, options, args.left_out, client))
    except CannotTry as error:
        return fail(words.NOT_TRIED.format(why=error.detail), USAGE)
    if args.junit:
        write_suite(Path(args.junit), as_junit(report))
    if args.json:
        write_json(as_json(report))
    else:
        write_text(as_text(report))
    return 0 if report.conforms else FAILURE


def _options(args: argparse.Namespace) -> Options:
    if not args.url:
        raise UsageError(words.CONFORM_NEEDS_URL)
    if not 0 < args.timeout <= 3600:
        raise UsageError(words.BAD_TIMEOUT.format(given=args.timeout))
    return Options(
        url=args.url,
        app=args.app,
        prompts=tuple(args.prompt or [PROMPT]),
        approve=args.approve,
        headers=dict(map(read_header, args.header)),
        timeout=args.timeout,
    )


def read_header(text: str) -> tuple[str, str]:
    """Return a header's name and value. Raise `UsageError`."""
    name, found, value = text.partition("=")
    if not found or not name.strip() or not text.isprintable() or not text.isascii():
        raise UsageError(words.BAD_ASCII_HEADER)
    return name.strip(), value
