"""`adk-prism watch APP`: the last conversations of an app, run again whenever its code changes.

Models and tools are answered from the recordings, so that nothing live is called and no key is needed. The
log is only read; the app is loaded by this command, beside a server that may be serving it.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from adk_prism.cli import AGENTS_DIR, FAILURE, USAGE, DiagnosticPrinter, fail, note
from adk_prism.cli.terminal import printable, write_json, write_text
from adk_prism.errors import AppFailed, Diagnostic, PrismError, UsageError
from adk_prism.features.captures.client import Client
from adk_prism.features.captures.stored_runs import opened
from adk_prism.features.rerun.recorded_requests import Rules, add_rules

if TYPE_CHECKING:
    from adk_prism.adk.apps import Apps
    from adk_prism.features.rerun.rehearsal import CheckedConversation
    from adk_prism.log.contract import LogReader

EVERY = 0.2
"""Seconds between two looks at the files."""

MOST_CONVERSATIONS = 100


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("app", metavar="APP", help="name of the app")
    parser.add_argument("--dir", metavar="AGENTS_DIR", help=AGENTS_DIR)
    parser.add_argument(
        "--last",
        metavar="N",
        type=int,
        default=10,
        help="conversations, newest first (default: 10)",
    )
    parser.add_argument(
        "--session",
        metavar="ID",
        action="append",
        default=[],
        help="these conversations instead of the last ones; repeatable",
    )
    parser.add_argument(
        "--log",
        metavar="URL",
        help="run log: sqlite:///FILE or redis://HOST (default: the one that adk-prism serve uses here)",
    )
    add_rules(parser)
    parser.add_argument("--once", action="store_true", help="run them once and exit")
    parser.add_argument("--json", action="store_true", help="with --once: print the result as JSON")
    parser.epilog = (
        "Exit codes with --once: 0 all are the same; 1 some differ; 2 they cannot be run again."
    )


def execute(args: argparse.Namespace) -> int:
    """Run conversations again and print what differs, until it is interrupted."""
    args.url = args.token = args.token_file = None
    try:
        if not 0 < args.last <= MOST_CONVERSATIONS:
            raise UsageError(f"--last must be from 1 to {MOST_CONVERSATIONS}, got {args.last}.")
        if args.json and not args.once:
            raise UsageError("--json needs --once.")
        Rules(args.ignore)
        folder = Path(args.dir).absolute() if args.dir else None
        with suppress(KeyboardInterrupt):
            return asyncio.run(_watch(args, folder))
    except PrismError as error:
        return fail(error.detail, USAGE)
    return 0


async def _watch(args: argparse.Namespace, folder: Path | None) -> int:
    async with opened(args) as log:
        assert not isinstance(log, Client), "there is no --url"
        apps = _open_apps(folder)
        try:
            if apps.find(args.app) is None:
                there = ", ".join(apps.names()) or "none"
                said = (
                    f"There is no app {args.app[:60]!r}. Available apps: {there}. {apps.advice()}"
                )
                raise UsageError(said.strip())
            results = await _check(args, apps, log)
            if args.once:
                return _show_once(results, as_json=args.json)
            while True:
                _print(results)
                await _next_change(apps, args.app)
                results = await _check(args, apps, log)
        finally:
            await apps.close()


def _open_apps(folder: Path | None) -> Apps:
    from adk_prism.adk.apps import Apps
    from adk_prism.adk.services import ServiceUris, open_services

    printer = DiagnosticPrinter()

    def report(diagnostic: Diagnostic) -> None:
        if diagnostic.kind != "app reloaded":  # which the next table shows
            printer(diagnostic)

    in_memory = ServiceUris(sessions="memory://", artifacts="memory://")
    services = open_services(in_memory, data_dir=Path(), agents_dir=folder)
    return Apps.of_folder(folder, services, reloads=True, report=report)


async def _next_change(apps: Apps, app: str) -> None:
    """Wait until the code of an app has changed, and was not tried yet."""
    while True:
        await asyncio.sleep(EVERY)
        if apps.failure(app) is None and (not apps.is_loaded(app) or apps.has_new_code(app)):
            return


async def _check(
    args: argparse.Namespace, apps: Apps, log: LogReader
) -> list[CheckedConversation] | None:
    """Run the conversations again; None if the app cannot be loaded, which was reported."""
    from adk_prism.features.rerun.rehearsal import (
        check_conversation,
        last_conversations,
        load_saved,
    )

    try:
        runner = await load_saved(apps, args.app)
    except AppFailed:
        return None
    origins = await last_conversations(log, args.app, args.last, args.session)
    return [
        await check_conversation(runner, log, origin, ignore_rules=args.ignore, is_whole=True)
        for origin in origins
    ]


# ---------------------------------------------------------------------- what is printed


def _show_once(results: Sequence[CheckedConversation] | None, *, as_json: bool) -> int:
    if results is None:
        return USAGE
    if as_json:
        write_json(results)
    else:
        _print(results)
    states = {each.status for each in results}
    return USAGE if not results or "failed" in states else FAILURE if "differs" in states else 0


def _print(results: Sequence[CheckedConversation] | None) -> None:
    if results is None:
        note("the app cannot be loaded; save it again")
        return
    if not results:
        note("the log has no conversation of this app")
        return
    rows = [("conversation", "messages", "model calls", "now"), *map(_row, results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    write_text(time.strftime("%H:%M:%S\n"))
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        write_text(f"{printable('  '.join(cells).rstrip())}\n")
    for each in results:
        _print_difference(each)


def _row(found: CheckedConversation) -> tuple[str, ...]:
    calls = sum(message.calls for message in found.messages)
    others = [message for message in found.messages if message.status != "same"]
    now = "same"
    if others:
        difference = others[0].difference
        now = others[0].status
        if difference is not None:
            now = f"differs from call {difference.call} of {difference.agent}"
        if len(others) > 1:
            now += f", and {len(others) - 1} more messages"
    return found.session, str(len(found.messages)), str(calls), now


def _print_difference(found: CheckedConversation) -> None:
    other = next((each for each in found.messages if each.status != "same"), None)
    if other is None:
        return
    text = other.difference.text() if other.difference is not None else other.detail
    write_text(f"\n{printable(found.session)}, {other.run}:\n")
    for line in text.splitlines():
        write_text(f"{printable(line)}\n")
