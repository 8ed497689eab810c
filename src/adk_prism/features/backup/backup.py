"""`adk-prism backup`: one file with what a server stores on this machine, or in Redis. The server may run.

A name in a backup says what a file is, not where it was, so that it can be restored elsewhere.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from adk_prism.cli import note
from adk_prism.cli.terminal import counted, progress
from adk_prism.errors import LogError, UsageError
from adk_prism.features.backup.archive import ArchiveWriter, Manifest, writing
from adk_prism.log.from_url import kind_of
from adk_prism.log.private_files import make_file
from adk_prism.server.settings import Settings, read_settings
from adk_prism.version import VERSION

LOG, SESSIONS, ARTIFACTS, DATA, DUMP = "log.db", "sessions.db", "artifacts", "data", "log.dump"
"""Names in a backup; artifacts and data are folders."""

_SQLITE = re.compile(r"sqlite(?:\+\w+)?:///([^?#]+)")
_SQLITE_HEAD = b"SQLite format 3\0"
_NOT_COPIED = re.compile(r".*(?:-wal|-shm|-journal|\.lock|\.before-\d+|\.part)$")
"""Journals, which a copy of a database does not need; locks; copies of older versions."""

_BUSY = 30.0


class Stored(NamedTuple):
    """Where a server stores what."""

    data: Path
    url: str
    """Of the run log."""
    log: Path | None
    """Its file; None: it is in a store of its own."""
    sessions: Path | None
    artifacts: Path | None
    elsewhere: tuple[str, ...]
    """What is not on this machine, a sentence each."""


def settings_of(data_dir: str | None, log: str | None) -> Settings:
    """Return the settings of the server whose data is meant. Raise `UsageError`."""
    given = {"data_dir": data_dir, "log": log}
    # `insecure` only silences the rule about the server's address.
    named = {name: value for name, value in given.items() if value is not None}
    return read_settings({"insecure": True, **named}, os.environ, Path.cwd())


def stored_by(settings: Settings) -> Stored:
    """Return where a server with these settings stores what. Raise `UsageError` for a log in memory."""
    data = Path(settings.data_dir).absolute()
    log, kind = _file(settings.log), kind_of(settings.log)
    if log is None and kind.dump is None:
        raise UsageError(f"A run log of the kind {kind.form} cannot be backed up.")
    elsewhere = []
    sessions = _file(settings.sessions) if settings.sessions else data / "sessions.db"
    if sessions is None:
        elsewhere.append(
            "Sessions are in another database (--sessions): back it up with its own tools, such as pg_dump,"
            " after this backup."
        )
    artifacts = _folder(settings.artifacts) if settings.artifacts else data / "artifacts"
    if artifacts is None:
        elsewhere.append("Artifacts are elsewhere (--artifacts): back them up there.")
    if settings.local_storage:
        elsewhere.append("Sessions and artifacts are in the .adk folders of the apps.")
    return Stored(data, settings.log, log, sessions, artifacts, tuple(elsewhere))


def _file(uri: str) -> Path | None:
    found = _SQLITE.fullmatch(uri.partition("?")[0])
    return Path(unquote(found[1])).absolute() if found else None


def _folder(uri: str) -> Path | None:
    parts = urlsplit(uri)
    return Path(unquote(parts.path)).absolute() if parts.scheme == "file" else None


def files_of(stored: Stored) -> Iterator[tuple[str, Path]]:
    """Yield the files of a server by their name in a backup; the log first.

    What happens meanwhile may be in the sessions and not in the log, as after a crash, never the reverse.
    """
    own = {LOG: stored.log, SESSIONS: stored.sessions}
    for name, path in own.items():
        if path is not None and path.is_file():
            yield name, path
    taken = {path for path in own.values() if path is not None}
    folders = {ARTIFACTS: stored.artifacts, DATA: stored.data}
    for name, folder in folders.items():
        if folder is None:
            continue
        for path in _files_below(folder):
            if path not in taken and not _NOT_COPIED.fullmatch(path.name):
                taken.add(path)
                yield f"{name}/{path.relative_to(folder).as_posix()}", path


def _files_below(folder: Path) -> Iterator[Path]:
    for above, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(above, name)
            if path.is_file() and not path.is_symlink():
                yield path


def place_of(name: str, stored: Stored) -> Path:
    """Return where a file of a backup belongs. Raise `UsageError` if the settings have no place for it."""
    kind, _, rest = name.partition("/")
    bases = {
        LOG: stored.log,
        SESSIONS: stored.sessions,
        ARTIFACTS: stored.artifacts,
        DATA: stored.data,
    }
    base = bases.get(kind)
    if base is None:
        raise UsageError(
            f"The backup has {kind}, and this server stores it elsewhere: restore with the settings of the"
            " server that was backed up (--log, --sessions, --artifacts)."
        )
    return base / rest if rest else base


def copy_file(source: Path, target: Path) -> None:
    """Copy a file as it is at this moment: a database with what was committed. Raise `LogError`."""
    make_file(target)
    try:
        with source.open("rb") as opened:
            is_database = opened.read(len(_SQLITE_HEAD)) == _SQLITE_HEAD
            if not is_database:
                opened.seek(0)
                with target.open("wb") as written:
                    while data := opened.read(1024**2):
                        written.write(data)
                return
        with (
            closing(sqlite3.connect(source, timeout=_BUSY)) as reading,
            closing(sqlite3.connect(target)) as writing,
        ):
            # In one step: readers do not hold up a writer, and a copy in steps begins anew with each write.
            reading.backup(writing, pages=-1)
    except (sqlite3.Error, OSError) as error:
        raise LogError(f"{source} cannot be copied.") from error


# ---------------------------------------------------------------------- the command


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
    form = kind_of(stored.url).form
    manifest = Manifest(version=VERSION, created=time.time(), log=form, left_out=stored.elsewhere)
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
    if stored.sessions is not None and SESSIONS not in archive.members:
        note(
            f"The backup has no sessions: there is no {stored.sessions}. If the server keeps them in a"
            " database (--sessions, or in a program), back that up, too."
        )
    return 0


def _write(stored: Stored, archive: ArchiveWriter, target: Path) -> None:
    with TemporaryDirectory(dir=target.absolute().parent, prefix=".adk-prism-backup-") as folder:
        copy = Path(folder, "copy")
        dump = kind_of(stored.url).dump
        if dump is not None:
            asyncio.run(dump(stored.url, copy))
            archive.add(DUMP, copy)
            copy.unlink()
        for name, source in files_of(stored):
            try:
                copy_file(source, copy)
            except FileNotFoundError:
                continue  # Removed meanwhile.
            archive.add(name, copy)
            copy.unlink()
    if not archive.members.keys() & {LOG, DUMP}:
        raise UsageError(
            f"There is no run log at {stored.log}: name the data folder of the server with --data-dir, or a"
            " run log elsewhere with --log."
        )
