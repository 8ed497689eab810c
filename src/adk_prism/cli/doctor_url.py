"""`adk-prism doctor URL`: looks at a running server through whatever is in between."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from urllib.parse import urlsplit

import httpx

from adk_prism.cli import FAILURE, words
from adk_prism.cli.conform import read_header
from adk_prism.cli.terminal import printable
from adk_prism.conform.connection_doctor import Doctor, Finding, Place
from adk_prism.conform.exchange import connected
from adk_prism.console.token import find_token
from adk_prism.errors import UsageError

PATIENCE = 150.0
"""Seconds for one answer: more than the longest silence that is tried."""
LONGEST_SILENCE = 120.0


def execute(args: argparse.Namespace) -> int:
    """Print what was found, a line each. Return 1 if there is a problem."""
    if args.idle is not None and not 0 <= args.idle <= LONGEST_SILENCE:
        raise UsageError(words.BAD_IDLE.format(most=LONGEST_SILENCE, given=args.idle))
    if args.origin and urlsplit(args.origin).scheme not in ("http", "https"):
        raise UsageError(words.BAD_PAGE_ORIGIN)
    findings = asyncio.run(_look(args))
    for each in findings:
        sys.stdout.write(_line(each))
    return FAILURE if any(each.verdict == "problem" for each in findings) else 0


async def _look(args: argparse.Namespace) -> list[Finding]:
    auth: httpx.Auth | None = find_token(args.token, args.token_file, os.environ)
    headers = dict(map(read_header, args.header))
    place = Place(url=args.url, origin=args.origin.rstrip("/"), silence=args.idle)
    async with connected(args.url, headers, PATIENCE, auth) as exchange:
        return await Doctor(place, exchange).look()


def _line(finding: Finding) -> str:
    text = f"{finding.verdict:10} {finding.name:10} {finding.text.removesuffix('.')}."
    if finding.remedy:
        text += words.DOCTOR_REMEDY.format(remedy=finding.remedy)
    return printable(text) + "\n"
