"""Uploaded files on disk: pieces as they come, whole files until they expire.

A file is two: `ID.json` says whose it is and what, and never changes but for where it was saved; `ID.bin` has
the bytes that came. How many these are says its length, so nothing else has to be written for a piece, and an
upload goes on after a crash, or at another process that has the folder. Who writes holds a lock of the
operating system on `ID.bin`.

The id begins with a digest of the user: one user's files are in one folder, which bounds what is counted.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import mimetypes
import os
import re
import secrets
import shutil
import time
import unicodedata
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec
from starlette.exceptions import HTTPException

from adk_prism.errors import NotFound, NotSupported, TooLarge, TooMany, Unprocessable, UsageError
from adk_prism.facts.event_actions import UNKNOWN_TYPE
from adk_prism.log.private_files import FILE_MODE, make_folder
from adk_prism.server.request_bodies import check_artifact
from adk_prism.server.run_files import plain_type

if TYPE_CHECKING:
    from adk_prism.features.uploads import UploadSettings
    from adk_prism.server.settings import Settings

try:
    import fcntl
except ImportError:  # Windows: one process, where the lock of this one is enough.
    fcntl = None  # type: ignore[assignment] # there is no such module

MOST_FILES = 200
"""Of one user at a time: what a page sends in a day, and little to count."""
LONGEST_NAME = 100
"""Characters, with the ending."""
RESERVE = 64 * 1024**2
"""Bytes of the disk that uploads leave to the run log and the sessions."""
RETRY = 60.0
"""Seconds after which a refused upload is worth another attempt."""

ID = re.compile(r"file-[0-9a-f]{44}")
_OWNER = 16
"""Digits of an id that are the user's."""


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an uploaded file beside its bytes."""

    id: str
    app: str
    """Empty: it can be used in any app of its user."""
    user: str
    session: str = ""
    """The session that its client named."""
    name: str
    media_type: str
    size: int
    created: float
    saved: dict[str, tuple[str, int]] = {}
    """Artifacts it was saved as: name and version, by app and session."""


class UploadFolder:
    """The uploaded files of one server, or of all that have the folder."""

    def __init__(
        self, folder: Path | None, settings: UploadSettings, clock: Callable[[], float] = time.time
    ) -> None:
        """`folder`: None where the processes that share a run log were given none."""
        self._folder = folder
        self._settings = settings
        self._clock = clock
        self._creating = asyncio.Lock()
        self._writing: set[str] = set()

    @property
    def largest(self) -> int:
        """Bytes of the largest file."""
        return self._settings.uploads_file_limit

    # ------------------------------------------------------------------ which files there are

    async def create(
        self, *, app: str, user: str, name: str, media_type: str, size: int, session: str = ""
    ) -> Upload:
        """Begin a file. Raise `TooLarge`, `TooMany`, `Unprocessable`, or 507 if the disk is full."""
        name = safe_name(name)
        media_type = plain_type(media_type or mimetypes.guess_type(name)[0] or UNKNOWN_TYPE)
        allowed = self._settings.uploads_type
        if allowed and not any(fnmatch(media_type, pattern.lower()) for pattern in allowed):
            raise Unprocessable(f"Files of the type {media_type} cannot be uploaded here.")
        if size > self.largest:
            raise TooLarge(
                f"The file has {size} bytes; at most {self.largest} can be uploaded (--uploads-file-limit)."
            )
        if size == 0:
            raise Unprocessable("The file is empty.")
        upload = Upload(
            id=f"file-{_owner(user)}{secrets.token_hex(14)}",
            app=app,
            user=user,
            session=session,
            name=name,
            media_type=media_type,
            size=size,
            created=self._clock(),
        )
        async with self._creating:
            await asyncio.to_thread(self._create, upload)
        return upload

    def _create(self, upload: Upload) -> None:
        here = self._place(upload.id).parent
        others = [self._read(file) for file in here.glob("*.json")] if here.is_dir() else []
        if len(others) >= MOST_FILES:
            raise TooMany("You have too many uploaded files; delete some, or wait.", RETRY)
        total = sum(each.size for each in others if each is not None) + upload.size
        if total > self._settings.uploads_quota:
            raise TooMany(
                "Your uploaded files are larger than --uploads-quota together; delete some, or wait.",
                RETRY,
            )
        with _full_disk():
            make_folder(here)
            coming = total - sum(file.stat().st_size for file in here.glob("*.bin"))
            if shutil.disk_usage(here).free < coming + RESERVE:
                raise OSError(errno.ENOSPC, "the disk is nearly full")
            # The bytes first: what `ID.json` names is there.
            os.close(os.open(self._place(upload.id), os.O_WRONLY | os.O_CREAT, FILE_MODE))
            self._write_about(upload)

    def find(self, name: str) -> Upload:
        """Return a file that has not expired. Raise `NotFound`."""
        upload = self._read(self._about(name)) if ID.fullmatch(name) else None
        if upload is None or self.expires(upload) <= self._clock():
            raise NotFound("There is no such uploaded file; it may have expired.")
        return upload

    def complete(self, user: str) -> list[Upload]:
        """Return the files of a user that are complete, the newest first; of all users for an empty one."""
        files = self._root().glob(f"{_owner(user) if user else '*'}/*.json")
        found = (self._read(file) for file in files)
        kept = [each for each in found if each and self.is_complete(each)]
        return sorted(kept, key=lambda upload: upload.created, reverse=True)

    def offset(self, upload: Upload) -> int:
        """Return how many bytes have come. Raise `NotFound`."""
        return self._status(upload).st_size

    def is_complete(self, upload: Upload) -> bool:
        """Return whether all of its bytes are there."""
        return self.offset(upload) == upload.size

    def expires(self, upload: Upload) -> float:
        """Return when it is removed, as seconds since 1970. Raise `NotFound`."""
        return self._status(upload).st_mtime + self._settings.uploads_expiry

    def path(self, upload: Upload) -> Path:
        """Return where its bytes are."""
        return self._place(upload.id)

    async def note_saved(self, upload: Upload, session: str, name: str, version: int) -> None:
        """Remember the artifact that a file was saved as."""
        with _full_disk():
            saved = {**upload.saved, session: (name, version)}
            self._write_about(msgspec.structs.replace(upload, saved=saved))

    def delete(self, upload: Upload) -> None:
        """Remove a file; what it was saved as stays. Raise 423 while it is written."""
        with self._locked(upload):
            self._remove(self._place(upload.id))

    async def sweep(self) -> None:
        """Remove what has expired."""
        if self._folder is not None:
            await asyncio.to_thread(self._sweep, self._folder)

    def _sweep(self, folder: Path) -> None:
        before = self._clock() - self._settings.uploads_expiry
        for file in [*folder.glob("*/*.bin"), *folder.glob("*/*.json")]:
            with suppress(FileNotFoundError):
                bytes_of = file.with_suffix(".bin")
                is_lost = file.suffix == ".json" and not bytes_of.exists()
                if is_lost or (file == bytes_of and file.stat().st_mtime < before):
                    self._remove(bytes_of)
        for each in folder.glob("*"):
            with suppress(OSError):  # It is not empty.
                if each.stat().st_mtime < before:  # Nobody is about to write into it.
                    each.rmdir()

    # ------------------------------------------------------------------ its bytes

    async def append(
        self,
        upload: Upload,
        offset: int,
        chunks: AsyncIterator[bytes],
        digest: Checksum | None = None,
    ) -> int:
        """Add what comes to a file, and return how many bytes it has then.

        What came before the connection was lost stays. Raise 409 for another offset, 423 while somebody else
        writes, `TooLarge` past the size that was declared and 460 for a wrong `digest`: then nothing of it
        stays.
        """
        with self._locked(upload) as file, _full_disk():
            at = file.seek(0, os.SEEK_END)
            if at != offset:
                raise HTTPException(409, f"The upload is at offset {at}, not {offset}.")
            try:
                async for chunk in chunks:
                    at += len(chunk)
                    if at > upload.size:
                        raise TooLarge(
                            f"The file was declared with {upload.size} bytes, and is longer."
                        )
                    file.write(chunk)
                    if digest is not None:
                        digest.update(chunk)
                if digest is not None:
                    digest.check()
                file.flush()
                if at == upload.size:
                    await asyncio.to_thread(os.fsync, file.fileno())
            except (TooLarge, WrongChecksum):
                file.flush()
                file.truncate(offset)
                raise
        return at

    @contextmanager
    def _locked(self, upload: Upload) -> Iterator[BinaryIO]:
        """Give the bytes of a file, for one writer at a time. Raise 423, or `NotFound`."""
        refusal = HTTPException(423, "Somebody else is sending this file; try again in a moment.")
        if upload.id in self._writing:
            raise refusal
        try:
            file = self._place(upload.id).open("r+b")
        except FileNotFoundError:
            raise NotFound("There is no such uploaded file; it may have expired.") from None
        self._writing.add(upload.id)
        try:
            with file:
                if fcntl is not None:
                    try:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        raise refusal from None
                yield file
        finally:
            self._writing.discard(upload.id)

    # ------------------------------------------------------------------ where they are

    def _root(self) -> Path:
        if self._folder is None:
            raise NotSupported(
                "Several processes share the run log of this server, so uploads need a folder that all of"
                " them have: --uploads-dir."
            )
        return self._folder

    def _place(self, name: str) -> Path:
        return self._root() / name[5 : 5 + _OWNER] / f"{name}.bin"

    def _about(self, name: str) -> Path:
        return self._place(name).with_suffix(".json")

    def _status(self, upload: Upload) -> os.stat_result:
        try:
            return self._place(upload.id).stat()
        except FileNotFoundError:
            raise NotFound("There is no such uploaded file; it may have expired.") from None

    def _read(self, file: Path) -> Upload | None:
        try:
            return msgspec.json.decode(file.read_bytes(), type=Upload)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def _write_about(self, upload: Upload) -> None:
        about = self._about(upload.id)
        new = about.with_suffix(f".{secrets.token_hex(4)}")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "wb") as file:
            file.write(msgspec.json.encode(upload))
        new.replace(about)

    @staticmethod
    def _remove(place: Path) -> None:
        for file in (place.with_suffix(".json"), place):
            file.unlink(missing_ok=True)


class WrongChecksum(UsageError):
    """The bytes that came are not those that were sent."""


class Checksum:
    """The checksum that a client declares for a piece: `Upload-Checksum: sha1 BASE64`."""

    ALGORITHMS = ("sha1", "sha256")

    def __init__(self, algorithm: str, expected: bytes) -> None:
        self._digest = hashlib.new(algorithm, usedforsecurity=False)
        self._expected = expected
        self.update = self._digest.update

    def check(self) -> None:
        """Raise `WrongChecksum`."""
        if self._digest.digest() != self._expected:
            raise WrongChecksum("The checksum is another one: send the piece again.")


def folder_of(own: UploadSettings, settings: Settings) -> Path | None:
    """Return the folder of uploads; None where one has to be named, since other processes need it too."""
    if own.uploads_dir:
        return Path(own.uploads_dir).absolute()
    return None if settings.has_shared_log else Path(settings.data_dir).absolute() / "uploads"


def safe_name(given: str) -> str:
    """Return the last part of a file's name, without what no file system or artifact service takes."""
    last = unicodedata.normalize("NFC", given).replace("\\", "/").rpartition("/")[2]
    clean = "".join(c for c in last if c.isprintable() and c not in ':"\ufffd').strip(" .")
    stem, dot, ending = clean.rpartition(".")
    if len(clean) > LONGEST_NAME and 0 < len(ending) <= 10:
        clean = f"{stem[: LONGEST_NAME - len(ending) - 1]}{dot}{ending}"
    try:
        return check_artifact(clean[:LONGEST_NAME])
    except UsageError:
        return f"file{dot}{ending}" if re.fullmatch(r"[A-Za-z0-9]{1,10}", ending) else "file"


def _owner(user: str) -> str:
    return hashlib.sha256(user.encode(errors="surrogatepass")).hexdigest()[:_OWNER]


@contextmanager
def _full_disk() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise HTTPException(507, "The server has no room for this file; try again later.") from None
