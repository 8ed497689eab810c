"""`adk-prism migrate`: brings a run log to this version's schema, as the first start of a server would."""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
from contextlib import closing

from adk_prism.cli import FAILURE
from adk_prism.errors import LogError, UsageError
from adk_prism.features.backup.backup import add_places, settings_of, stored_by
from adk_prism.log.from_url import open_log
from adk_prism.log.sqlite.file import MIGRATIONS, check_version


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "--check",
        action="store_true",
        help="change nothing; exit 1 if a migration is needed, or the log is of a newer version",
    )
    add_places(parser)


def execute(args: argparse.Namespace) -> int:
    """Print what there is to do, or do it. Raise `PrismError` for a log that cannot be used."""
    stored = stored_by(settings_of(args.data_dir, args.log))
    newest = len(MIGRATIONS)
    if stored.log is None:
        if not args.check:
            asyncio.run(_open(stored.url))
        print("This kind of run log has one schema so far: there is nothing to migrate.")
        return 0
    if not stored.log.is_file():
        raise UsageError(f"There is no run log at {stored.log}; --data-dir names its folder.")
    try:
        with closing(sqlite3.connect(stored.log, timeout=5)) as connection:
            version = check_version(connection, newest)
    except sqlite3.Error as error:
        raise LogError(f"{stored.log} cannot be read.") from error
    if version == newest:
        print(f"{stored.log} has schema {version}, the one of this version.")
        return 0
    if args.check:
        print(f"{stored.log} has schema {version}; this version migrates it to {newest}.")
        return FAILURE
    asyncio.run(_open(f"sqlite:///{stored.log}"))
    print(
        f"{stored.log} has schema {newest} now. It is kept as it was in {stored.log}.before-{newest}."
    )
    return 0


async def _open(url: str) -> None:
    log = open_log(url)
    await log.open()
    await log.close()
