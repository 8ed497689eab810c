"""`adk-prism conform URL --as PROTOCOL`: whether a server speaks a protocol, judged from outside.

Exit 0: it conforms; 1: it does not; 2: it could not be tried.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from adk_prism.cli import FAILURE, REQUEST_HEADER, USAGE, fail
from adk_prism.cli.terminal import write_json, write_suite, write_text
from adk_prism.errors import UsageError
from adk_prism.features.conform import conformance
from adk_prism.features.conform.checks import CannotTry, Options, checks_of

PROMPT = "Hello"


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "url",
        nargs="?",
        metavar="URL",
        help="where a client posts to; of ADK and adk-prism the server's address",
    )
    parser.add_argument(
        "--as",
        dest="protocol",
        required=True,
        choices=conformance.DRIVERS,
        help="protocol that the server speaks",
    )
    parser.add_argument(
        "--app", default="", metavar="APP", help="app of an ADK or adk-prism server"
    )
    parser.add_argument(
        "--prompt",
        action="append",
        metavar="TEXT",
        help=(
            f"message to send, default {PROMPT!r}; repeatable, to lead to tool calls and approvals"
        ),
    )
    parser.add_argument(
        "--header", action="append", default=[], metavar="NAME=VALUE", help=REQUEST_HEADER
    )
    parser.add_argument(
        "--approve",
        action="store_true",
        help="approve what the server asks to approve; otherwise it is denied",
    )
    parser.add_argument(
        "--except",
        dest="left_out",
        action="append",
        default=[],
        metavar="ID",
        help="leave a check out; repeatable",
    )
    parser.add_argument(
        "--client",
        nargs="?",
        const=".",
        metavar="DIR",
        help="require the npm client in DIR/node_modules; by default this folder's is used if it is there",
    )
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help="seconds for one answer"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--junit", metavar="FILE", help="write the report as a JUnit file, too")
    parser.add_argument("--list", action="store_true", help="list the checks and stop")


def execute(args: argparse.Namespace) -> int:
    """Judge the server and print the report."""
    if args.list:
        write_text(conformance.list_text(checks_of(args.protocol)))
        return 0
    options = _options(args)
    client = conformance.find_client(
        args.protocol, Path(args.client or "."), required=args.client is not None
    )
    try:
        report = asyncio.run(conformance.judge(args.protocol, options, args.left_out, client))
    except CannotTry as error:
        return fail(f"could not be tried: {error.detail}", USAGE)
    if args.junit:
        write_suite(Path(args.junit), conformance.as_junit(report))
    if args.json:
        write_json(conformance.as_json(report))
    else:
        write_text(conformance.as_text(report))
    return 0 if report.conforms else FAILURE


def _options(args: argparse.Namespace) -> Options:
    if not args.url:
        raise UsageError("conform needs the URL of a server; see adk-prism conform --help")
    if not 0 < args.timeout <= 3600:
        raise UsageError(f"--timeout must be from 0 to 3600 seconds, got {args.timeout:g}.")
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
        raise UsageError("--header must be NAME=VALUE, in printable ASCII.")
    return name.strip(), value
