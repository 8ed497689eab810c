"""`adk-prism restore`: puts a backup where a server with these settings looks for its data.

Runs that were going on when the backup was made end as `owner_lost`. To resume them would call tools again
that have been called since.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from adk_prism.cli import note
from adk_prism.cli.terminal import counted, progress
from adk_prism.errors import LogError, UsageError
from adk_prism.features.backup import backup
from adk_prism.features.backup.archive import Manifest, unpack
from adk_prism.log.entry import RunEnded
from adk_prism.log.from_url import kind_of, open_coordination, open_log
from adk_prism.log.private_files import make_folder
from adk_prism.runs.recorder import OWNER_LOST


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("file", metavar="FILE", help="a backup that `adk-prism backup` wrote")
    backup.add_places(parser)


def execute(args: argparse.Namespace) -> int:
    """Restore the backup. Raise `PrismError`; then nothing was put anywhere."""
    settings = backup.settings_of(args.data_dir, args.log)
    stored = backup.stored_by(settings)
    is_new = not stored.data.exists()
    make_folder(stored.data)
    try:
        return _restored(Path(args.file), stored)
    except (LogError, UsageError):
        if is_new and not any(stored.data.iterdir()):
            stored.data.rmdir()
        raise


def _restored(file: Path, stored: backup.Stored) -> int:
    # Beside where the files belong: moving them there is one step each.
    with (
        progress("Restoring…"),
        TemporaryDirectory(dir=stored.data, prefix=".restoring-", suffix=".part") as folder,
    ):
        manifest = unpack(file, Path(folder))
        names = sorted(manifest.members)
        _check(manifest, stored, names)
        ended = asyncio.run(_restore(stored, Path(folder), names))
    print(f"{counted(len(names), 'file')} restored into {stored.data}.")
    if ended:
        note(f"{counted(ended, 'run')} that had not ended in the backup ended as {OWNER_LOST}.")
    for each in manifest.left_out:
        note(each)
    return 0


def _check(manifest: Manifest, stored: backup.Stored, names: list[str]) -> None:
    """Raise `UsageError` if the backup does not fit the settings, or would replace something."""
    if manifest.log != kind_of(stored.url).form:
        raise UsageError(
            f"The backup is of another kind of run log: name one with --log {manifest.log}."
        )
    for name in names:
        if name != backup.DUMP and (place := backup.place_of(name, stored)).exists():
            raise UsageError(f"{place} exists already: restore into an empty folder (--data-dir).")


async def _restore(stored: backup.Stored, folder: Path, names: list[str]) -> int:
    """Put everything in its place; return how many runs were going on."""
    load = kind_of(stored.url).load
    if load is None:
        ended = await _end_runs(f"sqlite:///{folder / backup.LOG}")
        _move_files(stored, folder, names)
        return ended
    async with load(stored.url, folder / backup.DUMP):
        _move_files(stored, folder, names)
    return await _end_runs(stored.url)


def _move_files(stored: backup.Stored, folder: Path, names: list[str]) -> None:
    """Move files to their places, the run log last: without it a restore that was cut off is seen."""
    for name in sorted(names, key=lambda each: each == backup.LOG):
        if name != backup.DUMP:
            _move(folder / name, backup.place_of(name, stored))


def _move(source: Path, target: Path) -> None:
    try:
        make_folder(target.parent)
        try:
            os.link(source, target)  # Unlike a rename, this never replaces a file.
        except OSError:
            if target.exists():
                raise
            shutil.copyfile(source, target)
            target.chmod(0o600)
    except OSError as error:
        raise LogError(f"{target} cannot be written: {error.strerror}.") from error


async def _end_runs(url: str) -> int:
    """End every run of a log that nobody owns any more; return how many."""
    log, leases = open_log(url), open_coordination(url).leases()
    await log.open()
    await leases.open()
    try:
        unended = await log.list(unended=True)
        for summary in unended:
            lease = await leases.claim(summary)
            if lease is None:
                raise LogError("A server uses this run log already.")
            end = RunEnded(outcome="failed", code=OWNER_LOST)
            await log.append(summary.run, [end], epoch=lease.epoch)
            await log.commit(summary.run)
            await log.leave(summary.run)
            await leases.release(lease)
        return len(unended)
    finally:
        await leases.close()
        await log.close()
