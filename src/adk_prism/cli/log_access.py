"""Where a command finds recorded runs: a server at `--url`, or a run log at `--log`.

Without either it is the log that `adk-prism serve` uses in this folder, read beside a server that may be
writing it.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from adk_prism.cli import words
from adk_prism.console.client import Client, Unreachable, connect, shown_url
from adk_prism.console.token import VARIABLE, find_token
from adk_prism.errors import UsageError
from adk_prism.runlog.contract import LogReader
from adk_prism.runlog.from_url import open_log_reader
from adk_prism.server.settings.sources import read_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say where the runs are."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--url", metavar="URL", help=words.SERVER_URL)
    where.add_argument("--log", metavar="URL", help=words.RUN_LOG)
    parser.add_argument("--token-file", metavar="FILE", help=words.TOKEN_FILE)
    parser.add_argument("--token", metavar="TOKEN", help=words.TOKEN.format(variable=VARIABLE))


@asynccontextmanager
async def opened(args: argparse.Namespace) -> AsyncIterator[Client | LogReader]:
    """Connect to where the runs are. Raise `PrismError`."""
    if args.url:
        token = find_token(args.token, args.token_file, os.environ)
        async with connect(args.url, token) as http:
            try:
                yield Client(http)
            except Unreachable as error:
                raise Unreachable(
                    words.CANNOT_CONNECT.format(url=shown_url(args.url), why=error.detail)
                ) from None
        return
    if args.token is not None or args.token_file is not None:
        raise UsageError(words.TOKEN_NEEDS_URL)
    log = open_log_reader(args.log or _own_log())
    await log.open()
    try:
        yield log
    finally:
        await log.close()


def _own_log() -> str:
    # `insecure` only silences the rule about the server's address.
    return read_settings({"insecure": True}, os.environ, Path.cwd()).log
