"""The file of a backup: a tar archive whose last member lists the others.

So a backup that was cut off has no list and is refused, and one that was damaged differs from it. Each
member is read in pieces: a backup may be larger than the memory.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from adk_prism.errors import LogError, UsageError
from adk_prism.log.private_files import FILE_MODE, make_file

FORMAT = 1
"""Grows when an older version could not restore a file; it is then refused."""

LIST = "manifest.json"
LARGEST_LIST = 64 * 1024**2
PIECE = 1024**2


class Member(Struct, frozen=True):
    """What the list says about a member."""

    bytes: int
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    """What a backup holds."""

    format: int = FORMAT
    version: str
    """Of adk-prism."""
    created: float
    log: str
    """The kind of its run log: `sqlite` or `redis`."""
    left_out: tuple[str, ...] = ()
    """What a server stores elsewhere, a sentence each."""
    members: dict[str, Member] = {}


class ArchiveWriter:
    """Adds files to an archive."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self._archive = archive
        self.members: dict[str, Member] = {}

    def add(self, name: str, file: Path) -> None:
        """Add a file that does not change meanwhile."""
        with file.open("rb") as opened:
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = file.stat().st_size, FILE_MODE, int(time.time())
            counted = _Counted(opened)
            self._archive.addfile(info, counted)
        self.members[name] = Member(info.size, counted.digest.hexdigest())


class _Counted(io.RawIOBase):
    """Computes the digest of what is read."""

    def __init__(self, opened: IO[bytes]) -> None:
        self._opened = opened
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._opened.read(size)
        self.digest.update(data)
        return data


@contextmanager
def writing(path: Path, manifest: Manifest) -> Iterator[ArchiveWriter]:
    """Write an archive inside the `with` block; it stands under its name when it is complete."""
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    make_file(part)
    try:
        with tarfile.open(part, "w:gz" if path.suffix == ".gz" else "w") as archive:
            writer = ArchiveWriter(archive)
            yield writer
            data = msgspec.json.encode(msgspec.structs.replace(manifest, members=writer.members))
            info = tarfile.TarInfo(LIST)
            info.size, info.mode = len(data), FILE_MODE
            archive.addfile(info, io.BytesIO(data))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def unpack(path: Path, folder: Path) -> Manifest:
    """Write the members of an archive into an empty folder; return its list.

    Raise `UsageError` for a file that is no backup or of a newer version, `LogError` for one that is cut off
    or damaged.
    """
    if not path.is_file():
        raise UsageError(f"There is no file {path}.")
    try:
        archive = tarfile.open(path, "r|*")  # noqa: SIM115  # closed below
    except (tarfile.TarError, EOFError, OSError):
        raise _foreign(path) from None
    try:
        with archive:
            found, manifest = _read(archive, folder, path)
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise LogError(f"The backup {path} is cut off or damaged.") from error
    if manifest is None:
        raise LogError(f"The backup {path} is cut off: its list of contents is missing.")
    _check(found, manifest.members, path)
    return manifest


def _read(
    archive: tarfile.TarFile, folder: Path, path: Path
) -> tuple[dict[str, Member], Manifest | None]:
    found: dict[str, Member] = {}
    manifest: Manifest | None = None
    for info in archive:
        opened = archive.extractfile(info)
        if opened is None or manifest is not None:
            raise _foreign(path)
        if info.name == LIST:
            manifest = _read_list(opened.read(LARGEST_LIST), path)
        else:
            found[info.name] = _write(opened, _below(folder, info.name, path))
    return found, manifest


def _foreign(path: Path) -> UsageError:
    return UsageError(f"{path} is not a backup of adk-prism.")


def _read_list(data: bytes, path: Path) -> Manifest:
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except msgspec.MsgspecError:
        raise _foreign(path) from None
    if manifest.format > FORMAT:
        raise UsageError(
            f"The backup {path} was written by adk-prism {manifest.version[:20]}. Restore it with that"
            " version or a newer one."
        )
    return manifest


def _below(folder: Path, name: str, path: Path) -> Path:
    target = (folder / name).resolve()
    if folder.resolve() not in target.parents:
        raise _foreign(path)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    make_file(target)
    return target


def _write(opened: IO[bytes], target: Path) -> Member:
    digest, size = hashlib.sha256(), 0
    with target.open("wb") as file:
        while data := opened.read(PIECE):
            digest.update(data)
            size += len(data)
            file.write(data)
    return Member(size, digest.hexdigest())


def _check(found: Mapping[str, Member], listed: Mapping[str, Member], path: Path) -> None:
    for name in found.keys() | listed.keys():
        if found.get(name) != listed.get(name):
            raise LogError(f"The backup {path} is damaged: {name} is not what was written.")
