"""`adk-prism backup`: one file with what a server stores on this machine, or in Redis. The server may run."""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from adk_prism.cli import note
from adk_prism.cli.terminal import counted, progress
from adk_prism.errors import LogError, UsageError
from adk_prism.features.backup.archive import ArchiveWriter, Manifest, writing
from adk_prism.features.backup.contents import (
    LOG,
    REDIS,
    Stored,
    copy_file,
    files_of,
    settings_of,
    stored_by,
)
from adk_prism.version import VERSION


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "file", metavar="FILE", help="the backup to write; one that ends in .gz is compressed"
    )
    add_places(parser)


def add_places(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say which server's data is meant."""
    parser.add_argument(
        "--data-dir", metavar="DIR", help="data folder of the server (default: its setting here)"
    )
    parser.add_argument(
        "--log", metavar="URL", help="run log of the server (default: its setting here)"
    )


def execute(args: argparse.Namespace) -> int:
    """Write the backup. Raise `PrismError` if there is nothing, or it cannot be read or written."""
    target = Path(args.file)
    if target.exists():
        raise UsageError(f"{target} exists already; choose another name.")
    if not target.absolute().parent.is_dir():
        raise UsageError(f"There is no folder {target.absolute().parent}.")
    stored = stored_by(settings_of(args.data_dir, args.log))
    kind = "redis" if stored.redis else "sqlite"
    manifest = Manifest(version=VERSION, created=time.time(), log=kind, left_out=stored.elsewhere)
    with progress("Copying…"):
        try:
            with writing(target, manifest) as archive:
                _write(stored, archive, target)
        except OSError as error:
            raise LogError(f"{target} cannot be written: {error.strerror}.") from error
    print(
        f"{counted(len(archive.members), 'file')} in {target}, {target.stat().st_size / 1024**2:.1f} MiB."
    )
    for each in stored.elsewhere:
        note(each)
    return 0


def _write(stored: Stored, archive: ArchiveWriter, target: Path) -> None:
    with TemporaryDirectory(dir=target.absolute().parent, prefix=".adk-prism-backup-") as folder:
        copy = Path(folder, "copy")
        if stored.redis:
            from adk_prism.features.backup.redis_dump import dump

            asyncio.run(dump(stored.redis, copy))
            archive.add(REDIS, copy)
            copy.unlink()
        for name, source in files_of(stored):
            try:
                copy_file(source, copy)
            except FileNotFoundError:
                continue  # Removed meanwhile.
            archive.add(name, copy)
            copy.unlink()
    if not archive.members.keys() & {LOG, REDIS}:
        raise UsageError(
            f"There is no run log at {stored.log}: name the data folder of the server with --data-dir."
        )
